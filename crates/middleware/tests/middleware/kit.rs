//! Servers and clients for the tests.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use couplet_client::{Client, ToolResult};
use couplet_core::{Call, Caller, Reply};
use couplet_server::{Next, Server};
use couplet_types::{ContentBlock, ProtocolVersion};

/// Runs a test in every revision, with a clock that stands still while something runs.
pub(crate) fn in_each_revision<F: Future<Output = ()>>(test: impl Fn(ProtocolVersion) -> F) {
    for version in ProtocolVersion::ALL {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(test(*version));
    }
}

/// Connects a client in a revision.
pub(crate) async fn client(server: Server, version: ProtocolVersion) -> Client {
    couplet_testing::connect(server.build(), version).await.unwrap()
}

/// Calls a tool: its text, and whether it failed.
pub(crate) async fn call(client: &Client, tool: &str, arguments: serde_json::Value) -> (String, bool) {
    let result = client.call(tool, arguments).await.unwrap();
    (result.text(), result.is_error())
}

/// A counter that handlers share with a test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count(Arc<AtomicU32>);

impl Count {
    pub(crate) fn add(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Middleware that sets the caller.
pub(crate) fn as_caller(caller: Caller) -> impl Fn(Call, Next) -> couplet_core::BoxFuture<'static, Reply> {
    let caller = Arc::new(caller);
    move |mut call: Call, next: Next| {
        call.caller = Some(caller.clone());
        next.run(call)
    }
}

/// Returns the URIs of the resources that a result links to, also where links are text.
pub(crate) fn links(result: &ToolResult) -> Vec<String> {
    let link = |block: &ContentBlock| match block {
        ContentBlock::ResourceLink(link) => Some(link.uri.clone()),
        ContentBlock::Text(text) => {
            text.text.strip_prefix("[part ")?.split_once("](")?.1.strip_suffix(')').map(str::to_owned)
        }
        _ => None,
    };
    result.content().iter().filter_map(link).collect()
}
