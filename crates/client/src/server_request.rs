//! Requests of the server, on their way to the callbacks of the client.

use std::{
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use couplet_core::{BoxFuture, Channel, Dialect, Error, JsonText, Revision, message::Params};
use couplet_types::{InputRequest, Notification, RpcError};

use crate::{
    callbacks::{Callbacks, failed, unsupported},
    extension::Extensions,
    incoming::Incoming,
    middleware::{Chain, outgoing},
    sync::{guarded, join},
};

/// A request of the server: one in a session, or an input request of a round (2026-07-28).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerRequest {
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Params,
    /// The negotiated revision.
    pub revision: Revision,
    /// A sender of notifications about the request. It sends nothing without a session.
    pub notifier: Notifier,
}

/// A sender of notifications to the server of a session. Clones share the connection.
#[derive(Clone)]
pub struct Notifier {
    channel: Option<Weak<dyn Channel>>,
    dialect: Arc<Dialect>,
    middleware: Chain,
}

impl Notifier {
    /// Sends a notification. Does nothing if the connection is closed.
    pub fn notify<N: Notification>(&self, params: &N::Params) {
        if let Some(channel) = self.channel.as_ref().and_then(Weak::upgrade)
            && let Some(message) = outgoing(&self.middleware, &self.dialect, N::METHOD, params)
        {
            channel.notify(message);
        }
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").finish_non_exhaustive()
    }
}

/// The rest of the chain of a server's request: middleware, then extensions (in a session), then the client's callbacks.
#[derive(Clone)]
pub struct ServerRequestNext {
    middleware: Chain,
    extensions: Arc<Extensions>,
    callbacks: Arc<Callbacks>,
    dialect: Arc<Dialect>,
    at: usize,
    /// Set if the client does not support an input request of a round; `None` in a session.
    refused: Option<Arc<AtomicBool>>,
}

impl ServerRequestNext {
    fn new(incoming: &Incoming, dialect: &Arc<Dialect>, refused: Option<Arc<AtomicBool>>) -> Self {
        Self {
            middleware: incoming.middleware.clone(),
            extensions: incoming.extensions.clone(),
            callbacks: incoming.callbacks.clone(),
            dialect: dialect.clone(),
            at: 0,
            refused,
        }
    }

    /// Runs the next middleware, that of the next extension, or the callbacks.
    pub fn run(mut self, request: ServerRequest) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        if let Some(middleware) = self.middleware.get(self.at).cloned() {
            self.at += 1;
            return middleware.server_request(request, self);
        }
        let Some(refused) = &self.refused else { return self.run_in_session(request) };
        let answer = self.callbacks.answer(&self.dialect, &request.method, request.params.text().as_str());
        answer.unwrap_or_else(|error| {
            refused.store(true, Ordering::Relaxed);
            Box::pin(std::future::ready(Err(error)))
        })
    }

    fn run_in_session(mut self, request: ServerRequest) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        while let Some(extension) = self.extensions.get(self.at - self.middleware.len()) {
            self.at += 1;
            if let Some(middleware) = extension.middleware() {
                return middleware(request, self);
            }
        }
        self.callbacks.answer_on_session(&self.dialect, &request.method, request.params.text().as_str())
    }
}

impl fmt::Debug for ServerRequestNext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerRequestNext").finish_non_exhaustive()
    }
}

impl Incoming {
    /// Answers a request in a session.
    pub(crate) fn answer(
        &self,
        dialect: &Arc<Dialect>,
        method: &str,
        params: &Params,
    ) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        if self.middleware.is_empty() && !self.extensions.have_middleware() {
            return self.callbacks.answer_on_session(dialect, method, params.text().as_str());
        }
        let request = self.server_request(dialect, method, params.clone(), self.channel.get().cloned());
        let next = ServerRequestNext::new(self, dialect, None);
        let busy = self.callbacks.busy();
        Box::pin(async move {
            let answer = guarded(async move { next.run(request).await }).await;
            drop(busy);
            answer
        })
    }

    /// Answers the input requests of one round, concurrently.
    pub(crate) async fn round(
        &self,
        dialect: &Arc<Dialect>,
        asks: Vec<(String, InputRequest)>,
    ) -> Result<Vec<(String, JsonText)>, Error> {
        if self.middleware.is_empty() {
            return self.callbacks.round(dialect, asks).await;
        }
        let (mut keys, mut answers) = (Vec::new(), Vec::<BoxFuture<'static, _>>::new());
        for (key, ask) in asks {
            let params = ask.params.as_ref().map_or_else(JsonText::empty_object, JsonText::from);
            let params = Params::from_text(params)
                .map_err(|fault| unsupported(&key, &ask.method, &RpcError::invalid_params(fault.to_string())))?;
            let request = self.server_request(dialect, &ask.method, params, None);
            let refused = Arc::new(AtomicBool::new(false));
            let next = ServerRequestNext::new(self, dialect, Some(refused.clone()));
            answers.push(Box::pin(guarded(async move { next.run(request).await })));
            keys.push((key, ask.method, refused));
        }
        let answers = join(answers).await;
        let pairs = keys.into_iter().zip(answers);
        let pairs = pairs.map(|((key, method, refused), answer)| match answer {
            Ok(answer) => Ok((key, answer)),
            Err(e) if refused.load(Ordering::Relaxed) => Err(unsupported(&key, &method, &e)),
            Err(e) => Err(failed(&method, &e)),
        });
        pairs.collect()
    }

    fn server_request(
        &self,
        dialect: &Arc<Dialect>,
        method: &str,
        params: Params,
        channel: Option<Weak<dyn Channel>>,
    ) -> ServerRequest {
        let notifier = Notifier { channel, dialect: dialect.clone(), middleware: self.middleware.clone() };
        ServerRequest { method: method.to_owned(), params, revision: dialect.revision(), notifier }
    }
}
