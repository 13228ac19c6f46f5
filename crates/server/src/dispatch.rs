//! From a method to the handler that answers it.

use std::{future::Future, sync::Arc, time::SystemTime};

use couplet_core::{BoxFuture, Call, Done, Inputs, JsonText, Reply, Shape};
use couplet_types::{
    CallToolResult, Captures, CompleteParams, CompletionContext, CompletionReference, ContentBlock, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, ResourceContents, RpcError, Tool,
};

use crate::{
    ctx::Asking,
    definition::Completions,
    extract::{Invocation, Rejection, Target},
    guard,
    handle::Handle,
    inner::Inner,
    registry::Listing,
    resource::ResourceDef,
};

/// Answers one call.
pub(crate) fn dispatch(inner: Arc<Inner>, call: Call) -> BoxFuture<'static, Reply> {
    match &*call.method {
        "tools/call" => Box::pin(guard::contained(call_tool(inner, call))),
        "resources/read" => Box::pin(guard::contained(read_resource(inner, call))),
        "prompts/get" => Box::pin(guard::contained(get_prompt(inner, call))),
        "completion/complete" => Box::pin(guard::contained(complete(inner, call))),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            let reply = list(&inner, &call).map_or_else(Reply::Error, Reply::Complete);
            Box::pin(std::future::ready(reply))
        }
        method => match inner.methods.get(method).cloned() {
            Some(method) => Box::pin(guard::contained(method(call))),
            None => Box::pin(std::future::ready(Reply::Error(RpcError::method_not_found(method)))),
        },
    }
}

/// The resource that a URI names, and what its template captured.
pub(crate) fn find_resource(inner: &Inner, uri: &str) -> Option<(Arc<ResourceDef<()>>, Captures)> {
    let resources = inner.resources.get();
    if let Some(fixed) = resources.find(uri).filter(|r| !r.is_template()) {
        return Some((fixed.clone(), Captures::default()));
    }
    resources.iter().find_map(|r| Some((r.clone(), r.matches(uri)?)))
}

async fn call_tool(inner: Arc<Inner>, call: Call) -> Reply {
    let shape = call.shape;
    let found = call.params.read::<String>("name").and_then(|name| {
        let tool = inner.tools.get().find(&name).cloned();
        let tool = tool.ok_or_else(|| RpcError::invalid_params(format!("there is no tool `{name}`")))?;
        Ok((tool, arguments(&call)?))
    });
    let (tool, arguments) = match found {
        Ok(found) => found,
        Err(error) => return Reply::Error(error),
    };
    let limit = tool.timeout.unwrap_or(inner.config.timeout);
    let asking = Asking::default();
    let handler = round(&inner, call, Target::Arguments(arguments), &asking, |invocation| async move {
        match (tool.run)(invocation, ()).await {
            Ok(result) => match unfit(&result, &tool.spec) {
                Some(what) => Reply::Error(RpcError::internal(format!("the result of the tool: {what}"))),
                None => Reply::Complete(shape.done(result)),
            },
            Err(Rejection::Arguments(what)) if shape.wrong_arguments_are_results() => {
                Reply::Complete(shape.done(CallToolResult::error(what)))
            }
            Err(rejection) => rejected(shape, rejection, ""),
        }
    });
    guard::timed(limit, &asking, handler).await
}

/// What is wrong with a result that the developer promised to be otherwise.
fn unfit(result: &CallToolResult, tool: &Tool) -> Option<&'static str> {
    if tool.output_schema.is_some() && result.structured_content.is_none() && !result.failed() {
        return Some("the tool has an output schema, so there must be structured content");
    }
    result.content.iter().find_map(ContentBlock::fault)
}

async fn read_resource(inner: Arc<Inner>, call: Call) -> Reply {
    let shape = call.shape;
    let uri: String = match call.params.read("uri") {
        Ok(uri) => uri,
        Err(error) => return Reply::Error(error),
    };
    let Some((resource, variables)) = find_resource(&inner, &uri) else {
        return Reply::Error(shape.resource_not_found(&uri));
    };
    let target = Target::Resource { uri: uri.clone(), variables };
    let asking = Asking::default();
    let handler = round(&inner, call, target, &asking, |invocation| async move {
        match (resource.run)(invocation, ()).await {
            Ok(mut result) => {
                for contents in result.contents.iter_mut().filter(|c| c.mime_type.is_none()) {
                    contents.mime_type.clone_from(&resource.spec.mime_type);
                }
                if let Some(what) = result.contents.iter().find_map(ResourceContents::fault) {
                    return Reply::Error(RpcError::internal(format!("the contents of the resource: {what}")));
                }
                Reply::Complete(shape.done(result))
            }
            Err(rejection) => rejected(shape, rejection, &uri),
        }
    });
    guard::timed(inner.config.timeout, &asking, handler).await
}

async fn get_prompt(inner: Arc<Inner>, call: Call) -> Reply {
    let shape = call.shape;
    let found = call.params.read::<String>("name").and_then(|name| {
        let prompt = inner.prompts.get().find(&name).cloned();
        let prompt = prompt.ok_or_else(|| RpcError::invalid_params(format!("there is no prompt `{name}`")))?;
        let arguments = arguments(&call)?;
        prompt.check_arguments(&arguments)?;
        Ok((prompt, arguments))
    });
    let (prompt, arguments) = match found {
        Ok(found) => found,
        Err(error) => return Reply::Error(error),
    };
    let asking = Asking::default();
    let handler = round(&inner, call, Target::Arguments(arguments), &asking, |invocation| async move {
        match (prompt.run)(invocation, ()).await {
            Ok(mut result) => {
                if result.description.is_none() {
                    result.description.clone_from(&prompt.spec.description);
                }
                if let Some(what) = result.messages.iter().find_map(|m| m.content.fault()) {
                    return Reply::Error(RpcError::internal(format!("the messages of the prompt: {what}")));
                }
                result.messages.iter_mut().for_each(|m| name_mime_type(&mut m.content));
                Reply::Complete(shape.done(result))
            }
            Err(rejection) => rejected(shape, rejection, ""),
        }
    });
    guard::timed(inner.config.timeout, &asking, handler).await
}

/// A resource inside of a prompt has to say what it is.
fn name_mime_type(block: &mut ContentBlock) {
    if let ContentBlock::Resource(embedded) = block {
        let contents = &mut embedded.resource;
        let plain = if contents.as_text().is_some() { "text/plain" } else { "application/octet-stream" };
        contents.mime_type.get_or_insert_with(|| plain.to_owned());
    }
}

async fn complete(inner: Arc<Inner>, call: Call) -> Reply {
    let shape = call.shape;
    let params: CompleteParams = match call.params.parse() {
        Ok(params) => params,
        Err(error) => return Reply::Error(error),
    };
    let argument = &params.argument.name;
    let run = match &params.reference {
        CompletionReference::Prompt(reference) => match inner.prompts.get().find(&reference.name) {
            Some(prompt) => completion(&prompt.completions, argument, prompt.has_argument(argument)),
            None => Err(RpcError::invalid_params(format!("there is no prompt `{}`", reference.name))),
        },
        CompletionReference::Resource(reference) => match inner.resources.get().find(&reference.uri) {
            Some(resource) => completion(&resource.completions, argument, resource.has_variable(argument)),
            None => Err(RpcError::invalid_params(format!("there is no resource template `{}`", reference.uri))),
        },
        _ => Err(RpcError::invalid_params("`ref` must be a prompt or a resource template")),
    };
    let run = match run {
        Ok(run) => run,
        Err(error) => return Reply::Error(error),
    };
    let context = params.context.unwrap_or_else(|| CompletionContext::new([] as [(String, String); 0]));
    let target = Target::Completion { value: params.argument.value, context };
    let asking = Asking::default();
    let invocation = Invocation { call, server: Handle(inner.clone()), target, asking: asking.clone() };
    let handler = async move {
        match run(invocation).await {
            Ok(result) => Reply::Complete(shape.done(result)),
            Err(rejection) => rejected(shape, rejection, ""),
        }
    };
    guard::timed(inner.config.timeout, &asking, handler).await
}

type Complete =
    Box<dyn FnOnce(Invocation) -> BoxFuture<'static, Result<couplet_types::CompleteResult, Rejection>> + Send>;

/// The handler that completes an argument; one that exists and has no handler has nothing to offer.
fn completion(completions: &Completions<()>, argument: &str, exists: bool) -> Result<Complete, RpcError> {
    match completions.get(argument).cloned() {
        Some(run) => Ok(Box::new(move |invocation| run(invocation, ()))),
        None if exists => Ok(Box::new(|_| Box::pin(async { Ok(couplet_types::CompleteResult::default()) }))),
        None => Err(RpcError::invalid_params(format!("there is no argument `{argument}`"))),
    }
}

/// Runs a handler that may ask the client.
fn round<'a, F, Fut>(
    inner: &'a Arc<Inner>,
    call: Call,
    target: Target,
    asking: &'a Asking,
    handler: F,
) -> impl Future<Output = Reply> + Send + 'a
where
    F: FnOnce(Invocation) -> Fut + Send + 'a,
    Fut: Future<Output = Reply> + Send + 'a,
{
    let server = Handle(inner.clone());
    let asking = asking.clone();
    Inputs::drive(call, &inner.config.sealer, now, move |call| handler(Invocation { call, server, target, asking }))
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// The `arguments` of a call: an object, or nothing.
fn arguments(call: &Call) -> Result<JsonText, RpcError> {
    match call.params.get("arguments") {
        None => Ok(JsonText::empty_object()),
        Some(text) if text.as_str() == "null" => Ok(JsonText::empty_object()),
        Some(text) if text.as_str().starts_with('{') => Ok(text),
        Some(_) => Err(RpcError::invalid_params("`arguments` must be an object")),
    }
}

fn rejected(shape: Shape, rejection: Rejection, uri: &str) -> Reply {
    Reply::Error(match rejection {
        Rejection::Arguments(what) => RpcError::invalid_params(what),
        Rejection::NotFound => shape.resource_not_found(uri),
        Rejection::Rpc(error) => error,
    })
}

fn list(inner: &Inner, call: &Call) -> Result<Done, RpcError> {
    let cursor: Option<String> = call.params.read_opt("cursor")?;
    let (cursor, size, shape) = (cursor.as_deref(), inner.config.page_size, call.shape);
    match &*call.method {
        "tools/list" => inner.tools.get().page(
            Listing::TOOLS,
            cursor,
            size,
            shape,
            |t| Some(t.spec.clone()),
            |tools, next| {
                let mut result = ListToolsResult::new(tools);
                result.next_cursor = next;
                shape.done(result)
            },
        ),
        "prompts/list" => inner.prompts.get().page(
            Listing::PROMPTS,
            cursor,
            size,
            shape,
            |p| Some(p.spec.clone()),
            |prompts, next| {
                let mut result = ListPromptsResult::new(prompts);
                result.next_cursor = next;
                shape.done(result)
            },
        ),
        "resources/list" => inner.resources.get().page(
            Listing::RESOURCES,
            cursor,
            size,
            shape,
            |r| (!r.is_template()).then(|| r.spec.clone()),
            |resources, next| {
                let mut result = ListResourcesResult::new(resources);
                result.next_cursor = next;
                shape.done(result)
            },
        ),
        _ => inner.resources.get().page(
            Listing::TEMPLATES,
            cursor,
            size,
            shape,
            |r| r.is_template().then(|| r.as_template()),
            |templates, next| {
                let mut result = ListResourceTemplatesResult::new(templates);
                result.next_cursor = next;
                shape.done(result)
            },
        ),
    }
}
