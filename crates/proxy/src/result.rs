//! Results in the revision of the caller.

use couplet_core::{Call, Dialect, JsonText, Project, Reply, ResultBody, Revision};
use couplet_types::{
    CallTool, Complete, GetPrompt, HasMeta, ListPrompts, ListResourceTemplates, ListResources, ListTools, ReadResource,
    Request, RpcError, from_json,
};

/// The reply with a result of the server, verbatim if both sides use the same revision.
pub(crate) fn reply(server: Revision, call: &Call, text: &JsonText) -> Reply {
    let to = call.revision;
    if server.index() == to.index() {
        return Reply::Complete(verbatim(&call.method, text));
    }
    let done = match &*call.method {
        CallTool::METHOD => again::<CallTool>(to, text),
        ListTools::METHOD => again::<ListTools>(to, text),
        ReadResource::METHOD => again::<ReadResource>(to, text),
        ListResources::METHOD => again::<ListResources>(to, text),
        ListResourceTemplates::METHOD => again::<ListResourceTemplates>(to, text),
        GetPrompt::METHOD => again::<GetPrompt>(to, text),
        ListPrompts::METHOD => again::<ListPrompts>(to, text),
        Complete::METHOD => again::<Complete>(to, text),
        method => Ok(verbatim(method, text)),
    };
    done.map_or_else(
        |e| RpcError::internal(format!("the server's result cannot be parsed: {e}")).into(),
        Reply::Complete,
    )
}

/// The result, verbatim.
fn verbatim(method: &str, text: &JsonText) -> ResultBody {
    if Dialect::is_cacheable(method) { ResultBody::json(text) } else { ResultBody::uncached_json(text) }
}

/// Parses a result and serializes it for another revision.
fn again<R: Request>(to: Revision, text: &JsonText) -> Result<ResultBody, String>
where
    R::Result: Project + HasMeta,
{
    from_json::<R::Result>(text.as_str()).map(|result| to.encode(result)).map_err(|e| e.to_string())
}
