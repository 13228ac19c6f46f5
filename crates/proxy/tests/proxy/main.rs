//! A proxy between every revision and every other: 25 pairs, one check function for each duty.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

mod abilities;
mod attacks;
mod crowd;
mod extensions;
mod isolation;
mod kit;
mod liars;
mod mounted;
mod remote;
mod replicas;
mod subscribing;
mod table;
mod tasks;
mod turns;
mod verbatim;

use couplet_client::{Client, ClientBuilder};
use couplet_proxy::Proxy;
use couplet_server::ServerHandle;
use couplet_types::{CreateMessageResult, ProtocolVersion, Root};
use serde_json::json;

/// A client that answers everything, over a proxy, over a server.
pub(crate) struct Chain {
    pub(crate) client: Client,
    pub(crate) server: ServerHandle,
    /// Which revisions are spoken, for messages.
    pub(crate) pair: String,
}

pub(crate) fn able(version: ProtocolVersion) -> ClientBuilder {
    Client::new("asker", "1.0.0")
        .versions([version])
        .on_elicit(|ask| async move { ask.accept(json!({ "yes": ask.message().contains("sure") })) })
        .on_sample(|_| async { Ok(CreateMessageResult::new("a-model", "a sentence")) })
        .roots([Root::new("file:///project")])
}

impl Chain {
    pub(crate) async fn new(near: ProtocolVersion, far: ProtocolVersion, client: ClientBuilder) -> Self {
        let server = remote::server(far).build();
        let proxy = Proxy::connect(Client::new("proxy", "1.0.0"), server.clone()).await.unwrap();
        assert_eq!(proxy.client().server().version, far);
        let client = client.connect(proxy.service()).await.unwrap();
        assert_eq!(client.server().version, near);
        Self { client, server, pair: format!("{near} over {far}") }
    }
}

/// Every pair of revisions.
pub(crate) fn pairs() -> impl Iterator<Item = (ProtocolVersion, ProtocolVersion)> {
    ProtocolVersion::ALL.iter().copied().flat_map(|near| ProtocolVersion::ALL.iter().map(move |far| (near, *far)))
}
