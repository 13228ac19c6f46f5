//! From a method to its handler.

use std::{borrow::Cow, future::Future, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Call, Inputs, JsonText, Reply, Revision, clock::unix_seconds};
use couplet_types::{
    CallToolResult, Captures, CompleteParams, CompletionContext, CompletionReference, ContentBlock, RequestMethod,
    ResourceContents, RpcError,
};

use crate::{
    definition::{Completions, Definition},
    extract::{Invocation, Rejection, Target},
    fault::{capped, did_you_mean},
    guard,
    handle::ServerHandle,
    inner::Inner,
    list::List,
    mount,
    outcomes::{Outcomes, execute},
    registry::Set,
    resource::ResourceDef,
    scopes::permit,
    tool::ToolDef,
    tool_middleware::ToolNext,
};

/// Answers one call.
pub(crate) fn dispatch(inner: Arc<Inner>, call: Call) -> BoxFuture<'static, Reply> {
    guard::made(|| match &inner.config.outcomes {
        Some(outcomes) if call.known() == Some(RequestMethod::CallTool) => once(&inner, outcomes, call),
        _ => anywhere(&inner, call),
    })
}

/// Answers a call of a tool, once for each idempotency key.
fn once(inner: &Arc<Inner>, outcomes: &Outcomes, call: Call) -> BoxFuture<'static, Reply> {
    let key = match call.idempotency_key() {
        Ok(Some(key)) => key.into_owned(),
        Ok(None) => return anywhere(inner, call),
        Err(error) => return refused(error),
    };
    let server = inner.clone();
    let execute = Box::new(move |call: Call| guard::made(|| anywhere(&server, call)));
    let running = admitted(inner, &call).and_then(|limit| execute::run(outcomes, call, &key, limit, execute));
    running.map_or_else(refused, |running| Box::pin(guard::contained(running)))
}

/// Checks that a call leads to a tool, and that its caller may call it; returns the timeout.
fn admitted(inner: &Inner, call: &Call) -> Result<Option<Duration>, RpcError> {
    let name = tool_name(call)?;
    let tools = inner.tools.get();
    match tools.find(&name) {
        Some(tool) => permit(call, &**tool).map(|()| tool.timeout.unwrap_or(inner.config.timeout)),
        None if inner.mounts.iter().any(|mount| mount.name_inside(&name).is_some()) => Ok(inner.config.timeout),
        None => Err(unknown("tool", &name, shown_keys(inner, &tools, call))),
    }
}

/// Answers a call, here or in a mounted server.
fn anywhere(inner: &Arc<Inner>, call: Call) -> BoxFuture<'static, Reply> {
    if !inner.mounts.is_empty()
        && let Some(elsewhere) = mount::dispatch(inner, &call)
    {
        return Box::pin(guard::contained(elsewhere));
    }
    here(inner, call)
}

/// Answers a call with what is registered in this server.
fn here(inner: &Arc<Inner>, call: Call) -> BoxFuture<'static, Reply> {
    use RequestMethod as M;
    let Some(method) = call.known() else { return added(inner, call) };
    let list = |list: List| -> BoxFuture<'static, Reply> {
        let reply = list.page(inner, &call).map_or_else(Reply::Error, Reply::Complete);
        Box::pin(std::future::ready(reply))
    };
    match method {
        M::CallTool => call_tool(inner, call).unwrap_or_else(refused),
        M::ReadResource => read_resource(inner, call).unwrap_or_else(refused),
        M::GetPrompt => get_prompt(inner, call).unwrap_or_else(refused),
        M::Complete => complete(inner, call).unwrap_or_else(refused),
        M::ListTools => list(List::Tools),
        M::ListPrompts => list(List::Prompts),
        M::ListResources => list(List::Resources),
        M::ListResourceTemplates => list(List::ResourceTemplates),
        // An extension serves tasks.
        M::GetTask | M::GetTaskPayload | M::ListTasks | M::CancelTask => added(inner, call),
        // The connection answers these.
        M::Initialize | M::Ping | M::SetLevel | M::Subscribe | M::Unsubscribe | M::Discover | M::Listen => {
            added(inner, call)
        }
        // Only servers send these.
        M::CreateMessage | M::ListRoots | M::Elicit => added(inner, call),
    }
}

/// Answers a call of a method that was added to the server, by itself or with an extension.
fn added(inner: &Arc<Inner>, call: Call) -> BoxFuture<'static, Reply> {
    match inner.methods.get(&*call.method).cloned() {
        Some(method) => Box::pin(guard::contained(method(call))),
        None => extended(inner, call).unwrap_or_else(refused),
    }
}

/// The reply to a call that reaches no handler.
fn refused(error: RpcError) -> BoxFuture<'static, Reply> {
    Box::pin(std::future::ready(Reply::Error(error)))
}

/// Calls a method of an extension, if the client declared the extension.
pub(crate) fn extended(inner: &Arc<Inner>, call: Call) -> Result<BoxFuture<'static, Reply>, RpcError> {
    let method = inner.extended.get(&*call.method).ok_or_else(|| RpcError::method_not_found(&call.method))?;
    match &method.gate {
        Some(id) if !call.revision.has_method(&call.method) && call.peer.extension(id).is_none() => {
            Err(call.revision.missing_extension(id))
        }
        _ => Ok(Box::pin(guard::contained((method.run)(call, ServerHandle(inner.clone()))))),
    }
}

/// Finds the resource of a URI, and the variables of its template.
pub(crate) fn find_resource(inner: &Inner, uri: &str) -> Option<(Arc<ResourceDef<()>>, Captures)> {
    let resources = inner.resources.get();
    if let Some(fixed) = resources.find(uri).filter(|r| !r.is_template()) {
        return Some((fixed.clone(), Captures::default()));
    }
    resources.iter().find_map(|r| Some((r.clone(), r.matches(uri)?)))
}

fn tool_name(call: &Call) -> Result<Cow<'_, str>, RpcError> {
    call.params.read_str("name")?.ok_or_else(|| RpcError::invalid_params("`name` is missing"))
}

fn call_tool(inner: &Arc<Inner>, call: Call) -> Result<BoxFuture<'static, Reply>, RpcError> {
    let name = tool_name(&call)?;
    let tools = inner.tools.get();
    let tool = tools.find(&name).cloned().ok_or_else(|| unknown("tool", &name, shown_keys(inner, &tools, &call)))?;
    permit(&call, &*tool)?;
    if inner.tool_middleware().next().is_none() {
        return run_tool(inner, tool, call, inner.config.timeout);
    }
    Ok(Box::pin(guard::contained(ToolNext::first(inner.clone(), tool).run(call))))
}

/// Calls a tool. Its own timeout takes precedence over the given one.
pub(crate) fn run_tool(
    inner: &Arc<Inner>,
    tool: Arc<ToolDef<()>>,
    call: Call,
    timeout: Option<Duration>,
) -> Result<BoxFuture<'static, Reply>, RpcError> {
    let revision = call.revision;
    let arguments = arguments(&call)?;
    if let Some(what) = tool.checks.arguments(&arguments) {
        return Ok(Box::pin(std::future::ready(wrong_arguments(revision, what))));
    }
    let target = Target::Arguments(arguments);
    let timeout = tool.timeout.unwrap_or(timeout);
    Ok(round(inner, call, target, timeout, |invocation| {
        let running = (tool.run)(invocation, ());
        async move {
            match running.await {
                Ok(result) => match unfit(&result, &tool) {
                    Some(what) => Reply::Error(RpcError::internal(format!("the result of the tool: {what}"))),
                    None => Reply::Complete(revision.encode(result)),
                },
                Err(Rejection::Arguments(what)) => wrong_arguments(revision, what),
                Err(rejection) => rejected(revision, rejection, ""),
            }
        }
    }))
}

/// Reports wrong arguments to the model, which can correct them, in revisions that allow it.
fn wrong_arguments(revision: Revision, what: String) -> Reply {
    match revision.wrong_arguments_are_results() {
        true => Reply::Complete(revision.encode(CallToolResult::error(what))),
        false => Reply::Error(RpcError::invalid_params(what)),
    }
}

/// What is wrong with a result, by the tool's own output schema.
fn unfit(result: &CallToolResult, tool: &ToolDef<()>) -> Option<Cow<'static, str>> {
    if tool.spec.output_schema.is_some() && result.structured_content.is_none() && !result.failed() {
        return Some("the tool has an output schema, so there must be structured content".into());
    }
    result.content.iter().find_map(ContentBlock::fault).map(Cow::Borrowed).or_else(|| tool.checks.output(result))
}

fn read_resource(inner: &Arc<Inner>, call: Call) -> Result<BoxFuture<'static, Reply>, RpcError> {
    let revision = call.revision;
    let uri: String = call.params.read("uri")?;
    let (resource, variables) = find_resource(inner, &uri).ok_or_else(|| revision.resource_not_found(&uri))?;
    permit(&call, &*resource)?;
    let target = Target::Resource { uri: uri.clone(), variables };
    Ok(round(inner, call, target, inner.config.timeout, |invocation| {
        let running = (resource.run)(invocation, ());
        async move {
            let mut result = match running.await {
                Ok(result) => result,
                Err(rejection) => return rejected(revision, rejection, &uri),
            };
            for contents in result.contents.iter_mut().filter(|c| c.mime_type.is_none()) {
                contents.mime_type.clone_from(&resource.spec.mime_type);
            }
            if let Some(what) = result.contents.iter().find_map(ResourceContents::fault) {
                return Reply::Error(RpcError::internal(format!("the contents of the resource: {what}")));
            }
            Reply::Complete(revision.encode(result))
        }
    }))
}

fn get_prompt(inner: &Arc<Inner>, call: Call) -> Result<BoxFuture<'static, Reply>, RpcError> {
    let revision = call.revision;
    let name: String = call.params.read("name")?;
    let prompts = inner.prompts.get();
    let prompt =
        prompts.find(&name).cloned().ok_or_else(|| unknown("prompt", &name, shown_keys(inner, &prompts, &call)))?;
    permit(&call, &*prompt)?;
    let arguments = arguments(&call)?;
    prompt.check_arguments(&arguments)?;
    Ok(round(inner, call, Target::Arguments(arguments), inner.config.timeout, |invocation| {
        let running = (prompt.run)(invocation, ());
        async move {
            let mut result = match running.await {
                Ok(result) => result,
                Err(rejection) => return rejected(revision, rejection, ""),
            };
            if result.description.is_none() {
                result.description.clone_from(&prompt.spec.description);
            }
            if let Some(what) = result.messages.iter().find_map(|m| m.content.fault()) {
                return Reply::Error(RpcError::internal(format!("the messages of the prompt: {what}")));
            }
            result.messages.iter_mut().for_each(|m| name_mime_type(&mut m.content));
            Reply::Complete(revision.encode(result))
        }
    }))
}

/// Sets the MIME type of an embedded resource that has none.
fn name_mime_type(block: &mut ContentBlock) {
    if let ContentBlock::Resource(embedded) = block {
        let contents = &mut embedded.resource;
        let plain = if contents.as_text().is_some() { "text/plain" } else { "application/octet-stream" };
        contents.mime_type.get_or_insert_with(|| plain.to_owned());
    }
}

fn complete(inner: &Arc<Inner>, call: Call) -> Result<BoxFuture<'static, Reply>, RpcError> {
    let revision = call.revision;
    let params: CompleteParams = call.params.parse()?;
    let argument = &params.argument.name;
    let run = match &params.reference {
        CompletionReference::Prompt(reference) => {
            let prompts = inner.prompts.get();
            let prompt = prompts
                .find(&reference.name)
                .ok_or_else(|| unknown("prompt", &reference.name, shown_keys(inner, &prompts, &call)))?;
            permit(&call, &**prompt)?;
            completion(&prompt.completions, argument, prompt.argument_names())
        }
        CompletionReference::Resource(reference) => {
            let resources = inner.resources.get();
            let resource = resources.find(&reference.uri);
            let resource = resource
                .ok_or_else(|| unknown("resource template", &reference.uri, shown_keys(inner, &resources, &call)))?;
            permit(&call, &**resource)?;
            completion(&resource.completions, argument, resource.variables())
        }
        _ => Err(RpcError::invalid_params("`ref` must be a prompt or a resource template")),
    }?;
    let context = params.context.unwrap_or_else(|| CompletionContext::new([] as [(String, String); 0]));
    let target = Target::Completion { value: params.argument.value, context };
    Ok(round(inner, call, target, inner.config.timeout, |invocation| {
        let running = run(invocation);
        async move {
            match running.await {
                Ok(result) => Reply::Complete(revision.encode(result)),
                Err(rejection) => rejected(revision, rejection, ""),
            }
        }
    }))
}

type Complete =
    Box<dyn FnOnce(Invocation) -> BoxFuture<'static, Result<couplet_types::CompleteResult, Rejection>> + Send>;

/// The handler that completes an argument; an argument without one has no completions.
fn completion<'n>(
    completions: &Completions<()>,
    argument: &str,
    mut known: impl Iterator<Item = &'n str> + Clone,
) -> Result<Complete, RpcError> {
    match completions.get(argument).cloned() {
        Some(run) => Ok(Box::new(move |invocation| run(invocation, ()))),
        None if known.clone().any(|name| name == argument) => {
            Ok(Box::new(|_| Box::pin(async { Ok(couplet_types::CompleteResult::default()) })))
        }
        None => {
            let hint = did_you_mean(argument, &mut known);
            Err(RpcError::invalid_params(format!("there is no argument `{argument}`{hint}")))
        }
    }
}

/// The names and URIs that a caller may know of.
fn shown_keys<'s, D: Definition>(inner: &Inner, set: &'s Set<D>, call: &Call) -> impl Iterator<Item = &'s str> {
    set.iter().filter(|definition| inner.shows(&***definition, call)).map(|definition| definition.key())
}

/// The error for a name that is not registered, with one that is like it.
fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> RpcError {
    let (hint, name) = (did_you_mean(name, known), capped(name, 200));
    RpcError::invalid_params(format!("there is no {what} `{name}`{hint}"))
}

/// Runs a handler that may panic, exceed its time limit, or ask the client: each is a future around the next,
/// `Contained(panic) > Timed(limit) > Driven(round) > handler`.
fn round<F, Fut>(
    inner: &Arc<Inner>,
    call: Call,
    target: Target,
    limit: Option<Duration>,
    handler: F,
) -> BoxFuture<'static, Reply>
where
    F: FnOnce(Invocation) -> Fut,
    Fut: Future<Output = Reply> + Send + 'static,
{
    let server = ServerHandle(inner.clone());
    let inputs = call.inputs.clone();
    let driven = Inputs::drive(call, &inner.config.sealer, unix_seconds as fn() -> u64, |call| {
        handler(Invocation { call, server, target })
    });
    Box::pin(guard::contained(guard::timed(limit, inputs, driven)))
}

/// The `arguments` of a call: an object, or nothing.
fn arguments(call: &Call) -> Result<JsonText, RpcError> {
    match call.params.get("arguments") {
        None => Ok(JsonText::empty_object()),
        Some(text) if text.as_bytes() == "null" => Ok(JsonText::empty_object()),
        Some(text) if text.as_bytes().starts_with(b"{") => Ok(text),
        Some(_) => Err(RpcError::invalid_params("`arguments` must be an object")),
    }
}

fn rejected(revision: Revision, rejection: Rejection, uri: &str) -> Reply {
    Reply::Error(match rejection {
        Rejection::Arguments(what) => RpcError::invalid_params(what),
        Rejection::NotFound => revision.resource_not_found(uri),
        Rejection::Rpc(error) => error,
    })
}
