//! Extensions: what a client can do beyond the specification, under an identifier that both sides declare.

use std::{
    fmt,
    future::Future,
    sync::{Arc, Weak},
};

use couplet_core::{BoxFuture, Channel, Dialect, Error, JsonText, Revision, message::Params};
use couplet_types::{ClientCapabilities, InputRequest, Map, Meta, Notification, ProtocolVersion, RawJson, RpcError};
use serde::Serialize;

use crate::{answers::Answers, client::Client};

/// An extension of a client: an identifier, settings, and what it adds. Nothing of it exists before
/// [`ClientBuilder::extension`](crate::ClientBuilder::extension).
///
/// Its methods are types that implement [`Request`](couplet_types::Request) and name it; [`Client::request`] sends them
/// to servers that declare it, too.
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
    layer: Option<AskedLayer>,
    capabilities: Option<Declare>,
}

type Finish = Arc<dyn Fn(Client, JsonText) -> BoxFuture<'static, Result<JsonText, Error>> + Send + Sync>;
type Declare = Arc<dyn Fn(&mut ClientCapabilities) + Send + Sync>;
type AskedLayer =
    Arc<dyn Fn(ServerRequest, ServerRequestNext) -> BoxFuture<'static, Result<JsonText, RpcError>> + Send + Sync>;

impl Extension {
    /// An extension that adds nothing yet. The identifier has a prefix: `com.example/clock`.
    ///
    /// # Panics
    /// When the identifier is not one.
    #[track_caller]
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        assert!(Meta::is_valid_extension(&id), "`{id}` is not an extension: it needs a prefix");
        let settings = RawJson::empty_object();
        Self { id, settings, stateless: false, results: Vec::new(), layer: None, capabilities: None }
    }

    /// What the client says about the extension: anything that prints as an object.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn settings(mut self, settings: &impl Serialize) -> Self {
        let printed = RawJson::new(settings).ok().filter(RawJson::is_object);
        self.settings = printed.expect("the settings of an extension print as an object");
        self
    }

    /// It exists only where every request stands alone.
    pub fn stateless(mut self) -> Self {
        self.stateless = true;
        self
    }

    /// Accepts a kind of result for a method, and says how it becomes the result that the method has by itself.
    /// Without the extension such a result is an error.
    pub fn result<F, Fut>(mut self, method: impl Into<String>, kind: impl Into<String>, finish: F) -> Self
    where
        F: Fn(Client, JsonText) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<JsonText, Error>> + Send + 'static,
    {
        let finish: Finish = Arc::new(move |client, result| Box::pin(finish(client, result)));
        self.results.push((method.into(), kind.into(), finish));
        self
    }

    /// Puts a function around every request of the server in a session: it sees the request, and decides whether and how
    /// the client's own callbacks answer it.
    pub fn asked_layer<F, Fut>(mut self, layer: F) -> Self
    where
        F: Fn(ServerRequest, ServerRequestNext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<JsonText, RpcError>> + Send + 'static,
    {
        self.layer = Some(Arc::new(move |asked, next| Box::pin(layer(asked, next))));
        self
    }

    /// Declares more than the extension itself, where the protocol has a capability for it.
    pub fn capabilities(mut self, declare: impl Fn(&mut ClientCapabilities) + Send + Sync + 'static) -> Self {
        self.capabilities = Some(Arc::new(declare));
        self
    }
}

/// A request of the server, in a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerRequest {
    /// What it wants.
    pub method: String,
    /// About what.
    pub params: Params,
    /// How both sides speak.
    pub revision: Revision,
    /// How the server is told more about it.
    pub teller: Notifier,
}

/// The way to the server of a session, for notifications. Clones are the same way; it ends with the connection.
#[derive(Clone)]
pub struct Notifier {
    channel: Option<Weak<dyn Channel>>,
    dialect: Arc<Dialect>,
}

impl Notifier {
    /// Tells the server, if it is still there.
    pub fn tell<N: Notification>(&self, params: &N::Params) {
        if let Some(channel) = self.channel.as_ref().and_then(Weak::upgrade) {
            channel.notify(self.dialect.notification(N::METHOD, params));
        }
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Teller").finish_non_exhaustive()
    }
}

/// The rest of the way to the client's callbacks.
#[derive(Clone)]
pub struct ServerRequestNext {
    extensions: Arc<Extensions>,
    answers: Arc<Answers>,
    dialect: Arc<Dialect>,
    at: usize,
}

impl ServerRequestNext {
    /// Goes on to the next extension, or to the callbacks.
    pub fn run(mut self, asked: ServerRequest) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        while let Some(extension) = self.extensions.0.get(self.at) {
            self.at += 1;
            if let Some(layer) = extension.layer.clone() {
                return layer(asked, self);
            }
        }
        self.answers.answer_on_session(&self.dialect, &asked.method, asked.params.text().as_str())
    }
}

impl fmt::Debug for ServerRequestNext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskedNext").finish_non_exhaustive()
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

    /// Adds what the extensions declare in a revision.
    pub(crate) fn declare(&self, version: ProtocolVersion, all: &mut ClientCapabilities) {
        let alone = !Revision::of(version).has_sessions();
        for extension in &self.0 {
            if alone || !extension.stateless {
                all.extensions.get_or_insert_with(Map::new).insert(extension.id.as_str(), extension.settings.clone());
            }
            if let Some(declare) = &extension.capabilities {
                declare(all);
            }
        }
    }

    /// How a result of an added kind becomes the one that the method has by itself.
    pub(crate) fn finisher(&self, method: &str, kind: &str) -> Option<&Finish> {
        let all = self.0.iter().flat_map(|e| &e.results);
        all.into_iter().find(|(m, k, _)| m == method && k == kind).map(|(_, _, finish)| finish)
    }

    /// The answer to a request of the server; `None` if the extensions leave all of them to the callbacks.
    pub(crate) fn answer(
        self: &Arc<Self>,
        answers: &Arc<Answers>,
        dialect: &Arc<Dialect>,
        channel: Option<&Weak<dyn Channel>>,
        method: &str,
        params: &Params,
    ) -> Option<BoxFuture<'static, Result<JsonText, RpcError>>> {
        self.0.iter().any(|e| e.layer.is_some()).then(|| {
            let (answers, dialect) = (answers.clone(), dialect.clone());
            let revision = dialect.revision();
            let teller = Notifier { channel: channel.cloned(), dialect: dialect.clone() };
            let asked = ServerRequest { method: method.to_owned(), params: params.clone(), revision, teller };
            ServerRequestNext { extensions: self.clone(), answers, dialect, at: 0 }.run(asked)
        })
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension").field("id", &self.id).field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Client {
    /// How both sides speak: to be asked what the revision has.
    pub fn revision(&self) -> Revision {
        self.dialect().revision()
    }

    /// Answers questions of the server with the client's own callbacks, as if they had come for a request. For
    /// extensions in whose results a server asks.
    ///
    /// # Errors
    /// When the client cannot answer one of them, or a callback fails.
    pub async fn answer(&self, asks: Vec<(String, InputRequest)>) -> Result<Vec<(String, JsonText)>, Error> {
        self.inbox().answers.round(&self.dialect(), asks).await
    }
}
