//! Results in the revision of the caller.

use couplet_client::Client;
use couplet_core::{Call, JsonText, Method, Project, Reply, ResultBody, Revision, message::Params};
use couplet_types::{
    CallTool, Complete, GetPrompt, HasMeta, ListPrompts, ListResourceTemplates, ListResources, ListTools,
    ListToolsResult, ReadResource, Request, RequestMethod, RpcError, from_json,
};

use crate::TaskForms;

/// The reply with a result of the server, verbatim if it is the same in both revisions. `members` are those of the result,
/// if it is an object.
pub(crate) fn reply(client: &Client, call: &Call, text: &JsonText, members: Option<&Params>) -> Reply {
    use RequestMethod as M;
    let (server, to) = (client.revision(), call.revision);
    let Some(method) = call.known() else { return Reply::Complete(of_extension(&call.method, text)) };
    let verbatim = |method| verbatim(method, text, members);
    let is_same = method == M::CallTool && members.is_some_and(|members| to.relays_tool_result(members));
    if server.index() == to.index() || is_same {
        return Reply::Complete(verbatim(method));
    }
    let done = match method {
        M::CallTool => again::<CallTool>(to, text),
        M::ListTools => tools(client, to, text),
        M::ReadResource => again::<ReadResource>(to, text),
        M::ListResources => again::<ListResources>(to, text),
        M::ListResourceTemplates => again::<ListResourceTemplates>(to, text),
        M::GetPrompt => again::<GetPrompt>(to, text),
        M::ListPrompts => again::<ListPrompts>(to, text),
        M::Complete => again::<Complete>(to, text),
        // Tasks have the same members wherever they exist.
        M::GetTask | M::GetTaskPayload | M::ListTasks | M::CancelTask => Ok(verbatim(method)),
        // The connection answers these, so no server behind the proxy does.
        M::Initialize | M::Ping | M::SetLevel | M::Subscribe | M::Unsubscribe | M::Discover | M::Listen => {
            Ok(verbatim(method))
        }
        // Only servers send these.
        M::CreateMessage | M::ListRoots | M::Elicit => Ok(verbatim(method)),
    };
    done.map_or_else(
        |e| RpcError::internal(format!("the server's result cannot be parsed: {e}")).into(),
        Reply::Complete,
    )
}

/// A list of tools, with what the caller's revision says about tasks.
fn tools(client: &Client, to: Revision, text: &JsonText) -> Result<ResultBody, String> {
    if !to.has_core_tasks() || !TaskForms::are_extension(&client.server().capabilities, client.revision()) {
        return again::<ListTools>(to, text);
    }
    let mut list: ListToolsResult = from_json(text.as_str()).map_err(|e| e.to_string())?;
    list.tools.iter_mut().for_each(TaskForms::list);
    Ok(to.encode(list))
}

/// The result of an extension's method, verbatim. Those of skills are cacheable, also if the server has a revision
/// without caching.
fn of_extension(method: &str, text: &JsonText) -> ResultBody {
    match method {
        "skills/list" | "skills/get" => ResultBody::json(text).cacheable(),
        _ => ResultBody::uncached_json(text),
    }
}

/// The result, verbatim.
fn verbatim(method: RequestMethod, text: &JsonText, members: Option<&Params>) -> ResultBody {
    match (members, Method::of(method).is_cacheable()) {
        (Some(members), caches) => ResultBody::relayed(members, caches),
        (None, true) => ResultBody::json(text),
        (None, false) => ResultBody::uncached_json(text),
    }
}

/// Parses a result and serializes it for another revision.
pub(crate) fn again<R: Request>(to: Revision, text: &JsonText) -> Result<ResultBody, String>
where
    R::Result: Project + HasMeta,
{
    from_json::<R::Result>(text.as_str()).map(|result| to.encode(result)).map_err(|e| e.to_string())
}
