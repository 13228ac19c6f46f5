//! The marker types of the methods.

use couplet_types::*;
use serde_json::{Value, json};

use crate::pass;

type Pass = fn(&Value) -> Result<Value, String>;

/// How the parameters of a method pass through their type.
pub(crate) fn params(method: &str) -> Option<Pass> {
    let all = requests().into_iter().map(|(name, params, _)| (name, params)).chain(notifications());
    all.into_iter().find(|(name, _)| *name == method).map(|(_, params)| params)
}

fn request<R: Request>() -> (&'static str, Pass, Pass) {
    (R::METHOD, pass::<R::Params>, pass::<R::Result>)
}

fn notification<N: Notification>() -> (&'static str, Pass) {
    (N::METHOD, pass::<N::Params>)
}

fn requests() -> Vec<(&'static str, Pass, Pass)> {
    vec![
        request::<Initialize>(),
        request::<Discover>(),
        request::<Ping>(),
        request::<ListTools>(),
        request::<CallTool>(),
        request::<ListResources>(),
        request::<ListResourceTemplates>(),
        request::<ReadResource>(),
        request::<Subscribe>(),
        request::<Unsubscribe>(),
        request::<Listen>(),
        request::<ListPrompts>(),
        request::<GetPrompt>(),
        request::<Complete>(),
        request::<SetLevel>(),
        request::<GetTask>(),
        request::<GetTaskPayload>(),
        request::<ListTasks>(),
        request::<CancelTask>(),
        request::<GetDetailedTask>(),
        request::<UpdateTask>(),
        request::<CancelDetailedTask>(),
        request::<CreateMessage>(),
        request::<ListRoots>(),
        request::<Elicit>(),
    ]
}

fn notifications() -> Vec<(&'static str, Pass)> {
    vec![
        notification::<Initialized>(),
        notification::<Cancelled>(),
        notification::<Progress>(),
        notification::<LogMessage>(),
        notification::<ToolListChanged>(),
        notification::<PromptListChanged>(),
        notification::<ResourceListChanged>(),
        notification::<ResourceUpdated>(),
        notification::<SubscriptionAcknowledged>(),
        notification::<RootsListChanged>(),
        notification::<ElicitationComplete>(),
        notification::<TaskStatusChanged>(),
        notification::<TaskChanged>(),
    ]
}

#[test]
fn methods_without_needed_params_take_an_empty_object() {
    for method in [
        "ping",
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "tasks/list",
        "roots/list",
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/roots/list_changed",
    ] {
        assert_eq!(params(method).unwrap()(&json!({})), Ok(json!({})), "{method}");
    }
}

#[test]
fn meta_is_reachable_on_all_methods() {
    fn check<T: HasMeta + Default>() {
        let mut value = T::default();
        assert_eq!(value.meta(), None);
        *value.meta_mut() = Some(Meta::new().with("k", json!(1)));
        assert_eq!(value.meta().unwrap().len(), 1);
    }
    check::<CallToolParams>();
    check::<CallToolResult>();
    check::<PaginatedParams>();
    check::<EmptyResult>();
    check::<GetTaskPayloadResult>();
}
