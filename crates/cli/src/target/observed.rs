//! A connection with diagnostics.

use std::sync::Arc;

use bytes::Bytes;
use couplet::{
    Error,
    core::{
        BoxFuture, Channel, Connect, Connected, Dialect, Exchange, Inbound, JsonText, Limits, Outgoing,
        message::{Malformed, Params},
    },
    types::{RequestId, RpcError},
};

use super::{Recorder, diagnostics::Diagnostics};

/// A connector that records sent requests and invalid messages.
pub(crate) struct Observed {
    pub(crate) inner: Box<dyn Connect>,
    pub(crate) diagnostics: Arc<Diagnostics>,
    /// Records the responses, if set.
    pub(crate) recorder: Option<Recorder>,
}

impl Connect for Observed {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        self.diagnostics.started();
        let (diagnostics, recorder) = (self.diagnostics.clone(), self.recorder.clone());
        let connecting =
            self.inner.connect(Arc::new(ObservedInbound { inbound, diagnostics: diagnostics.clone() }), limits);
        Box::pin(async move {
            let Connected { channel, driver } = connecting.await?;
            Ok(Connected { channel: Arc::new(ObservedChannel { channel, diagnostics, recorder }), driver })
        })
    }

    fn server(&self) -> Option<String> {
        self.inner.server()
    }
}

struct ObservedInbound {
    inbound: Arc<dyn Inbound>,
    diagnostics: Arc<Diagnostics>,
}

impl Inbound for ObservedInbound {
    fn request(&self, method: &str, params: &Params) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        self.inbound.request(method, params)
    }

    fn notification(&self, method: &str, params: Params) {
        self.inbound.notification(method, params);
    }

    fn overhear(&self, method: &str, params: &Params) {
        self.inbound.overhear(method, params);
    }

    fn silent(&self, why: Option<Error>) {
        self.inbound.silent(why);
    }

    fn malformed(&self, malformed: &Malformed) {
        self.diagnostics.stray(&malformed.excerpt, &malformed.error.message);
        self.inbound.malformed(malformed);
    }
}

struct ObservedChannel {
    channel: Arc<dyn Channel>,
    diagnostics: Arc<Diagnostics>,
    recorder: Option<Recorder>,
}

impl Channel for ObservedChannel {
    fn next_id(&self) -> RequestId {
        self.channel.next_id()
    }

    fn open(&self, request: Outgoing) -> Exchange {
        self.diagnostics.sent(request.method);
        let method = request.method;
        let exchange = self.channel.open(request);
        match &self.recorder {
            Some(recorder) => recorder.follow(method, exchange),
            None => exchange,
        }
    }

    fn notify(&self, text: Bytes) {
        self.channel.notify(text);
    }

    fn agree(&self, dialect: &Dialect) {
        self.channel.agree(dialect);
    }

    fn close(&self) {
        self.channel.close();
    }

    fn is_held_up(&self) -> bool {
        self.channel.is_held_up()
    }

    fn transport(&self) -> Option<&'static str> {
        self.channel.transport()
    }
}
