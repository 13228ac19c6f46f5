//! Services inside of other services: each question reaches the one inside, whose answer is none that a default gives.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_core::{
    BoxFuture, Call, Caller, ClientNotification, Description, Hub, JsonText, Metric, Refusals, Reply, Sender, Service,
    http::headers::ParamHeader, message::Params,
};
use couplet_server::Server;
use couplet_testing::{
    Wire, replayed,
    types::{Implementation, ProtocolVersion, RpcError, ServerCapabilities, ToolsCapability},
};
use serde_json::json;

#[derive(Clone, Default)]
struct Sentinel {
    hub: Hub,
    notes: Arc<AtomicUsize>,
}

#[deny(clippy::missing_trait_methods)]
impl Service for Sentinel {
    fn describe(&self) -> Arc<Description> {
        let can = ServerCapabilities::new().tools(ToolsCapability::new());
        Arc::new(Description::new(Implementation::new("sentinel", "1.0.0"), can))
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let name: String = call.params.read("name").expect("a name");
        Box::pin(std::future::ready(Reply::Error(RpcError::internal(format!("sentinel {name}")))))
    }

    fn hub(&self) -> &Hub {
        &self.hub
    }

    fn notified(&self, _: ClientNotification) {
        self.notes.fetch_add(1, Ordering::SeqCst);
    }

    fn header_params(&self, _: &str) -> Option<Arc<[ParamHeader]>> {
        Some(Arc::new([]))
    }

    fn required_scopes(&self, _: &str, params: &Params, _: Sender<'_>) -> Option<Arc<[String]>> {
        Some(Arc::new([params.read("name").expect("a name")]))
    }

    fn template_of(&self, uri: &str) -> Option<String> {
        self.has_resource(uri).then(|| "s://{place}".to_owned())
    }

    fn has_resource(&self, uri: &str) -> bool {
        uri == "s://here"
    }

    fn may_subscribe(&self, _: &str, caller: Option<&Caller>) -> bool {
        caller.is_some_and(|caller| &**caller.principal() == "ann")
    }

    fn subscribing(&self, uris: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
        let refused = uris.iter().map(|uri| (uri.clone(), RpcError::internal("sentinel"))).collect();
        Some(Box::pin(std::future::ready(refused)))
    }

    fn background(&self) -> Option<BoxFuture<'static, ()>> {
        Some(Box::pin(std::future::ready(())))
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![Metric::gauge("sentinel", "one", 1)]
    }

    fn drain(&self, _: Duration) -> Option<BoxFuture<'static, ()>> {
        self.background()
    }
}

/// Asks a service that has a sentinel inside everything that there is to ask.
async fn check(what: &str, outer: impl Service + Clone, sentinel: &Sentinel, tool: &str, uri: &str) {
    assert!(outer.describe().capabilities.tools.is_some(), "{what}");
    assert!(outer.header_params(tool).is_some(), "{what}");
    let params = JsonText::new(json!({ "name": tool }).to_string()).expect("it is JSON");
    let params = Params::from_text(params).expect("it is an object");
    let scopes = outer.required_scopes("tools/call", &params, Sender::default());
    assert_eq!(scopes.as_deref(), Some(&["t".to_owned()][..]), "{what}");
    assert!(outer.has_resource(uri) && !outer.has_resource("s://elsewhere"), "{what}");
    assert!(outer.template_of(uri).is_some() && outer.template_of("s://elsewhere").is_none(), "{what}");
    assert!(outer.may_subscribe(uri, Some(&Caller::new("ann"))) && !outer.may_subscribe(uri, None), "{what}");
    let refused = outer.subscribing(&BTreeSet::from([uri.to_owned()])).expect("there is work").await;
    assert!(refused.keys().eq([uri]), "{what}: {refused:?}");
    assert!(outer.background().is_some(), "{what}");
    assert_eq!(outer.metrics(), sentinel.metrics(), "{what}");
    assert!(outer.drain(Duration::ZERO).is_some(), "{what}");
    let mut wire = Wire::new(outer, ProtocolVersion::V2025_06_18);
    wire.open().await;
    let answer = wire.request("tools/call", json!({ "name": tool })).await;
    assert_eq!(answer["error"]["message"], "sentinel t", "{what}");
    let before = sentinel.notes.load(Ordering::SeqCst);
    wire.send(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }));
    assert_eq!(sentinel.notes.load(Ordering::SeqCst), before + 1, "{what}");
}

#[tokio::test]
async fn every_wrapper_passes_everything_on() {
    let sentinel = Sentinel::default();
    check("nothing around it", sentinel.clone(), &sentinel, "t", "s://here").await;
    check("in rounds", replayed(sentinel.clone()), &sentinel, "t", "s://here").await;
    let inside: Arc<dyn Service> = Arc::new(sentinel.clone());
    let mounted = Server::<()>::new("outer", "1").mount("m", inside).build();
    check("mounted", mounted, &sentinel, "m_t", "s://m/here").await;
}
