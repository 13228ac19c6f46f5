//! Servers to put behind a gateway, and gateways with a file of their own.

use std::{fs, path::PathBuf};

use couplet_client::Client;
use couplet_core::Limits;
use couplet_core::Transport;
use couplet_gateway::{Config, Error, Gateway};
use couplet_hosts::{Env, Os};
use couplet_http::server::HttpTransport;
use couplet_server::{Server, tool};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};

/// The time that servers have to start.
pub(crate) const SHORT: std::time::Duration = std::time::Duration::from_secs(5);

/// A server over HTTP that ends with this.
pub(crate) struct Upstream {
    pub(crate) url: String,
    serving: JoinHandle<()>,
}

impl Upstream {
    /// Serves tools with these names, each of which returns its own name.
    pub(crate) async fn start(tools: &[&'static str]) -> Self {
        let named = |server: Server, &name: &&'static str| server.tool(tool(name, move || async move { name }));
        Self::serve(tools.iter().fold(Server::new("upstream", "1.0.0"), named)).await
    }

    /// Serves this server.
    pub(crate) async fn serve(server: Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let transport = HttpTransport::from_listener(listener);
        let service = std::sync::Arc::new(server.build());
        let serving = tokio::spawn(async move { transport.serve(service, Limits::default()).await.unwrap() });
        Self { url, serving }
    }

    /// The entry of a configuration.
    pub(crate) fn entry(&self, more: &str) -> String {
        format!(r#"{{ "url": "{}"{more} }}"#, self.url)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A configuration file in a folder of its own.
pub(crate) struct File {
    folder: TempDir,
}

impl File {
    pub(crate) fn new(text: &str) -> Self {
        let file = Self { folder: tempfile::tempdir().unwrap() };
        file.write(text);
        file
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("gateway.json")
    }

    pub(crate) fn write(&self, text: &str) {
        fs::write(self.path(), text).unwrap();
    }

    pub(crate) fn env(&self) -> Env {
        Env::new(Os::current(), self.folder.path(), self.folder.path())
    }

    pub(crate) async fn start(&self) -> Result<Gateway, Error> {
        Gateway::start(Config::load(&self.path(), &self.env())?, self.env(), []).await
    }
}

pub(crate) async fn client(gateway: &Gateway, profile: Option<&str>) -> Client {
    Client::new("test", "1.0.0").connect(gateway.service(profile).unwrap()).await.unwrap()
}

/// The names of the tools that a client sees, sorted.
pub(crate) async fn names(client: &Client) -> Vec<String> {
    let mut names: Vec<_> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    names.sort();
    names
}

/// The size of a test: that of the variable, which `cargo xtask full gateway` sets, or one that takes seconds.
pub(crate) fn size(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |size| size.parse().unwrap())
}
