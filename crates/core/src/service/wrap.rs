//! Services that wrap another one.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crate::{
    http::headers::ParamHeader,
    message::Params,
    server::{hub::Hub, running::BoxFuture},
    service::{
        Call, ClientNotification, Description, Refusals, Reply, Service,
        caller::{Caller, Sender},
        metric::Metric,
    },
};

/// A service around another one. Each method forwards to the inner service unless the wrapper replaces it, so a wrapper
/// implements [`Wrap::inner`] and the methods that it changes.
///
/// Every `Wrap` is a [`Service`]. The two traits have the same methods: to call one on a wrapper itself, import [`Service`]
/// alone.
///
/// ```
/// use std::sync::Arc;
/// use couplet_core::{BoxFuture, Call, Reply, Service, Wrap};
/// use couplet_types::RpcError;
///
/// /// A service without completions.
/// struct Incomplete(Arc<dyn Service>);
///
/// impl Wrap for Incomplete {
///     fn inner(&self) -> &Arc<dyn Service> {
///         &self.0
///     }
///
///     fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
///         if call.method == "completion/complete" {
///             return Box::pin(std::future::ready(RpcError::method_not_found(&call.method).into()));
///         }
///         self.0.call(call)
///     }
/// }
///
/// fn serve(service: Arc<dyn Service>) -> Arc<dyn Service> {
///     Arc::new(Incomplete(service))
/// }
/// # let _ = serve;
/// ```
pub trait Wrap: Send + Sync + 'static {
    /// Returns the inner service.
    fn inner(&self) -> &Arc<dyn Service>;

    /// Returns the name, revisions and capabilities: see [`Service::describe`].
    fn describe(&self) -> Arc<Description> {
        self.inner().describe()
    }

    /// Handles one call: see [`Service::call`].
    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        self.inner().call(call)
    }

    /// Returns the hub that publishes changes: see [`Service::hub`].
    fn hub(&self) -> &Hub {
        self.inner().hub()
    }

    /// Handles a notification: see [`Service::notified`].
    fn notified(&self, note: ClientNotification) {
        self.inner().notified(note);
    }

    /// Returns the arguments of a tool that HTTP clients repeat in headers: see [`Service::header_params`].
    fn header_params(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        self.inner().header_params(tool)
    }

    /// Returns the scopes that a request requires: see [`Service::required_scopes`].
    fn required_scopes(&self, method: &str, params: &Params, sender: Sender<'_>) -> Option<Arc<[String]>> {
        self.inner().required_scopes(method, params, sender)
    }

    /// Returns the URI template that serves a resource: see [`Service::template_of`].
    fn template_of(&self, uri: &str) -> Option<String> {
        self.inner().template_of(uri)
    }

    /// Returns whether a client may subscribe to a resource: see [`Service::has_resource`].
    fn has_resource(&self, uri: &str) -> bool {
        self.inner().has_resource(uri)
    }

    /// Returns whether this caller may subscribe to a resource: see [`Service::may_subscribe`].
    fn may_subscribe(&self, uri: &str, caller: Option<&Caller>) -> bool {
        self.inner().may_subscribe(uri, caller)
    }

    /// Returns the work until resources are subscribed to: see [`Service::subscribing`].
    fn subscribing(&self, uris: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
        self.inner().subscribing(uris)
    }

    /// Returns the work to be done while the service is served: see [`Service::background`].
    fn background(&self) -> Option<BoxFuture<'static, ()>> {
        self.inner().background()
    }

    /// Returns the numbers for operators: see [`Service::metrics`].
    fn metrics(&self) -> Vec<Metric> {
        self.inner().metrics()
    }

    /// Returns the work to be done at a graceful shutdown: see [`Service::drain`].
    fn drain(&self, grace: Duration) -> Option<BoxFuture<'static, ()>> {
        self.inner().drain(grace)
    }
}

// A method that is added to `Service` has a default, so the compiler would not miss it here. This lint does.
#[deny(clippy::missing_trait_methods)]
impl<W: Wrap> Service for W {
    fn describe(&self) -> Arc<Description> {
        Wrap::describe(self)
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        Wrap::call(self, call)
    }

    fn hub(&self) -> &Hub {
        Wrap::hub(self)
    }

    fn notified(&self, note: ClientNotification) {
        Wrap::notified(self, note);
    }

    fn header_params(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        Wrap::header_params(self, tool)
    }

    fn required_scopes(&self, method: &str, params: &Params, sender: Sender<'_>) -> Option<Arc<[String]>> {
        Wrap::required_scopes(self, method, params, sender)
    }

    fn template_of(&self, uri: &str) -> Option<String> {
        Wrap::template_of(self, uri)
    }

    fn has_resource(&self, uri: &str) -> bool {
        Wrap::has_resource(self, uri)
    }

    fn may_subscribe(&self, uri: &str, caller: Option<&Caller>) -> bool {
        Wrap::may_subscribe(self, uri, caller)
    }

    fn subscribing(&self, uris: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
        Wrap::subscribing(self, uris)
    }

    fn background(&self) -> Option<BoxFuture<'static, ()>> {
        Wrap::background(self)
    }

    fn metrics(&self) -> Vec<Metric> {
        Wrap::metrics(self)
    }

    fn drain(&self, grace: Duration) -> Option<BoxFuture<'static, ()>> {
        Wrap::drain(self, grace)
    }
}

/// A type that can be served, mounted and wrapped: a server, a running one, a [`Wrap`], or any service in an [`Arc`].
pub trait IntoService {
    /// Converts into the service.
    fn into_service(self) -> Arc<dyn Service>;
}

impl IntoService for Arc<dyn Service> {
    fn into_service(self) -> Arc<dyn Service> {
        self
    }
}

impl<W: Wrap> IntoService for W {
    fn into_service(self) -> Arc<dyn Service> {
        Arc::new(self)
    }
}
