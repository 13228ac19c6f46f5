//! Extensions of the protocol, under an identifier that both sides declare.

use std::{fmt, future::Future, sync::Arc};

use couplet_core::{BoxFuture, Error, JsonText, Revision};
use couplet_types::{ClientCapabilities, InputRequest, Map, Meta, ProtocolVersion, RawJson, RpcError};
use serde::Serialize;

use crate::{
    client::Client,
    server_request::{ServerRequest, ServerRequestNext},
};

/// An extension of a client: an identifier, settings, and additions. It is enabled with
/// [`ClientBuilder::extension`](crate::ClientBuilder::extension).
///
/// Its methods are types that implement [`Request`](couplet_types::Request) and name the extension; [`Client::request`]
/// sends them to servers that declare it, too.
///
/// ```
/// use couplet_client::{Client, Extension};
/// use serde_json::json;
///
/// let clock = Extension::new("com.example/clock").settings(&json!({ "zones": ["UTC"] }));
/// let client = Client::new("demo", "1.0.0").extension(clock);
/// # drop(client);
/// ```
#[must_use = "register it with `ClientBuilder::extension`"]
#[derive(Clone)]
pub struct Extension {
    id: String,
    settings: RawJson,
    stateless: bool,
    results: Vec<(String, String, Finish)>,
    middleware: Option<OnServerRequest>,
    capabilities: Option<Declare>,
}

type Finish = Arc<dyn Fn(Client, JsonText) -> BoxFuture<'static, Result<JsonText, Error>> + Send + Sync>;
type Declare = Arc<dyn Fn(&mut ClientCapabilities) + Send + Sync>;
type OnServerRequest =
    Arc<dyn Fn(ServerRequest, ServerRequestNext) -> BoxFuture<'static, Result<JsonText, RpcError>> + Send + Sync>;

impl Extension {
    /// Creates an extension without settings. The identifier has a prefix: `com.example/clock`.
    ///
    /// # Panics
    /// If the identifier is invalid.
    #[track_caller]
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        assert!(
            Meta::is_valid_extension(&id),
            "`{id}` is not an identifier of an extension: it needs a prefix, like `com.example/clock`"
        );
        let settings = RawJson::empty_object();
        Self { id, settings, stateless: false, results: Vec::new(), middleware: None, capabilities: None }
    }

    /// Sets the settings that the client declares: any type that serializes to a JSON object.
    ///
    /// # Panics
    /// If it serializes to something else.
    #[track_caller]
    pub fn settings(mut self, settings: &impl Serialize) -> Self {
        let object = RawJson::new(settings).ok().filter(RawJson::is_object);
        self.settings = object.expect("the settings of an extension serialize to an object");
        self
    }

    /// Restricts the extension to stateless revisions (since 2026-07-28).
    pub fn stateless(mut self) -> Self {
        self.stateless = true;
        self
    }

    /// Accepts an additional kind of result for a method, and sets the function that turns it into the method's own
    /// result. Without it such a result is an error.
    pub fn result<F, Fut>(mut self, method: impl Into<String>, kind: impl Into<String>, finish: F) -> Self
    where
        F: Fn(Client, JsonText) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<JsonText, Error>> + Send + 'static,
    {
        let finish: Finish = Arc::new(move |client, result| Box::pin(finish(client, result)));
        self.results.push((method.into(), kind.into(), finish));
        self
    }

    /// Sets a middleware around every request of the server in a session. It can answer the request, or pass it on to
    /// the client's callbacks with [`ServerRequestNext::run`].
    pub fn on_server_request<F, Fut>(mut self, middleware: F) -> Self
    where
        F: Fn(ServerRequest, ServerRequestNext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<JsonText, RpcError>> + Send + 'static,
    {
        self.middleware = Some(Arc::new(move |request, next| Box::pin(middleware(request, next))));
        self
    }

    /// Sets a function that declares further capabilities of the protocol.
    pub fn capabilities(mut self, declare: impl Fn(&mut ClientCapabilities) + Send + Sync + 'static) -> Self {
        self.capabilities = Some(Arc::new(declare));
        self
    }

    pub(crate) fn middleware(&self) -> Option<OnServerRequest> {
        self.middleware.clone()
    }
}

/// The extensions of one client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extensions(Vec<Extension>);

impl Extensions {
    #[track_caller]
    pub(crate) fn add(&mut self, extension: Extension) {
        let id = &extension.id;
        assert!(self.0.iter().all(|e| e.id != *id), "the extension `{id}` is registered twice");
        self.0.push(extension);
    }

    /// Adds the capabilities of the extensions in a revision.
    pub(crate) fn declare(&self, version: ProtocolVersion, all: &mut ClientCapabilities) {
        let stateless = !Revision::of(version).has_sessions();
        for extension in &self.0 {
            if stateless || !extension.stateless {
                all.extensions.get_or_insert_with(Map::new).insert(extension.id.as_str(), extension.settings.clone());
            }
            if let Some(declare) = &extension.capabilities {
                declare(all);
            }
        }
    }

    /// Returns the function that turns a result of an added kind into the method's own result.
    pub(crate) fn finisher(&self, method: &str, kind: &str) -> Option<&Finish> {
        let all = self.0.iter().flat_map(|e| &e.results);
        all.into_iter().find(|(m, k, _)| m == method && k == kind).map(|(_, _, finish)| finish)
    }

    /// Returns whether an extension has a middleware for requests of the server.
    pub(crate) fn have_middleware(&self) -> bool {
        self.0.iter().any(|extension| extension.middleware.is_some())
    }

    pub(crate) fn get(&self, at: usize) -> Option<&Extension> {
        self.0.get(at)
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension").field("id", &self.id).field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Client {
    /// Returns the negotiated revision, with predicates for what it includes.
    pub fn revision(&self) -> Revision {
        self.dialect().revision()
    }

    /// Answers input requests of the server with the client's callbacks: for extensions whose results contain such
    /// requests.
    ///
    /// # Errors
    /// If the client does not support one of them (kind `Unsupported`), or if a callback fails (kind `Callback`).
    pub async fn answer(&self, asks: Vec<(String, InputRequest)>) -> Result<Vec<(String, JsonText)>, Error> {
        self.incoming().round(&self.dialect(), asks).await
    }
}
