//! The router as a table: each kind of message on each kind of source.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Wake, Waker},
};

use bytes::Bytes;
use couplet_types::{ClientCapabilities, Implementation, ProtocolVersion, RequestId, RpcError};

use super::{Cancellation, Outlet, Router, Source};
use crate::{
    BoxFuture, Dialect, Event, Inbound, JsonText, Limits, Mailbox, ServerRequest, Slot, message::Malformed,
    message::Params, sync::lock,
};

/// What a client got that belongs to no request.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Inbound for Heard {
    fn request(&self, _: &str, _: &Params) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        Box::pin(std::future::pending())
    }

    fn notification(&self, method: &str, _: Params) {
        lock(&self.0).push(method.to_owned());
    }

    fn malformed(&self, malformed: &Malformed) {
        lock(&self.0).push(format!("! {}", malformed.error.message));
    }
}

#[derive(Default)]
struct Sent {
    served: Vec<ServerRequest>,
    refused: Vec<(Bytes, Slot)>,
}

impl Outlet for Sent {
    fn serve(&mut self, request: ServerRequest) {
        self.served.push(request);
    }

    fn refuse(&mut self, refusal: Bytes, slot: Slot) {
        self.refused.push((refusal, slot));
    }
}

struct Kit {
    router: Router,
    heard: Arc<Heard>,
    sent: Sent,
}

impl Kit {
    fn new(version: ProtocolVersion) -> Self {
        let heard = Arc::new(Heard::default());
        let mut limits = Limits::default();
        (limits.running, limits.queue) = (1, 1);
        let router = Router::new(heard.clone(), limits);
        router.agree(&Dialect::new(version, Implementation::new("test", "1"), ClientCapabilities::default()));
        Self { router, heard, sent: Sent::default() }
    }

    fn session() -> Self {
        Self::new(ProtocolVersion::V2025_11_25)
    }

    fn stateless() -> Self {
        Self::new(ProtocolVersion::V2026_07_28)
    }

    fn open(&self, method: &str) -> (i64, Mailbox) {
        self.router.open(&self.router.next_id(), method, Cancellation::Notification).unwrap()
    }

    fn receive(&mut self, text: &'static str, source: Source<'_>) -> Option<Result<JsonText, RpcError>> {
        self.router.receive(Bytes::from_static(text.as_bytes()), source, &mut self.sent).unwrap()
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.heard.0))
    }

    fn refusals(&mut self) -> Vec<String> {
        self.sent.refused.drain(..).map(|(text, _)| String::from_utf8_lossy(&text).into_owned()).collect()
    }
}

fn take(mailbox: &Mailbox) -> Option<String> {
    match mailbox.poll_take(Waker::noop()) {
        Poll::Ready(Event::Answer(Ok(answer))) => Some(answer.as_str().to_owned()),
        Poll::Ready(Event::Notification { method, .. }) => Some(method),
        Poll::Ready(other) => Some(format!("{other:?}")),
        Poll::Pending => None,
    }
}

const ONE: RequestId = RequestId::Number(1);

#[test]
fn an_unreadable_request_is_refused_and_no_answer_to_a_request_of_the_same_id() {
    for source in [Source::Connection, Source::SessionResponse { sent: &ONE }] {
        let mut kit = Kit::session();
        let (_, mailbox) = kit.open("tools/call");
        assert!(kit.receive(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#, source).is_none());
        assert_eq!(take(&mailbox), None, "{source:?}");
        assert_eq!((kit.heard().len(), kit.refusals().len()), (1, 1), "{source:?}");
    }
}

#[test]
fn an_unreadable_answer_is_the_end_of_its_request() {
    let mut kit = Kit::session();
    let (_, mailbox) = kit.open("tools/call");
    let text = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"result":{"#);
    let error = kit.router.receive(text.clone(), Source::SessionResponse { sent: &ONE }, &mut kit.sent).unwrap_err();
    assert!(error.to_string().starts_with("the server's answer could not be read: "), "{error}");
    assert_eq!(take(&mailbox), None);
    assert!(kit.router.receive(text, Source::Connection, &mut kit.sent).unwrap().is_none());
    assert!(take(&mailbox).unwrap().contains("the server's answer could not be read"));
}

#[test]
fn answers_go_to_the_id_that_was_sent_last_and_late_ones_are_ignored() {
    let mut kit = Kit::session();
    let (key, mailbox) = kit.open("tools/call");
    assert_eq!(kit.router.resend(key), RequestId::Number(2));
    kit.receive(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#, Source::Connection);
    assert_eq!((take(&mailbox), kit.heard().len()), (None, 0));
    // Progress arrives under the token of the first attempt.
    kit.receive(
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
        Source::Connection,
    );
    assert_eq!(take(&mailbox).as_deref(), Some("notifications/progress"));
    kit.receive(r#"{"jsonrpc":"2.0","id":2,"result":{"a":2}}"#, Source::Connection);
    assert_eq!(take(&mailbox).as_deref(), Some(r#"{"a":2}"#));
    kit.receive(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, Source::Connection);
    assert_eq!(kit.heard().len(), 0);
    kit.receive(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#, Source::Connection);
    kit.receive(r#"{"jsonrpc":"2.0","id":"1","result":{}}"#, Source::Connection);
    assert_eq!(kit.heard().len(), 2);
    assert_eq!(kit.router.unanswered(), 0);
}

#[test]
fn a_response_answers_its_own_request_only() {
    let mut kit = Kit::session();
    let (_, other) = kit.open("tools/call");
    let sent = kit.router.next_id();
    let source = Source::SessionResponse { sent: &sent };
    assert!(kit.receive(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, source).is_none());
    assert_eq!(take(&other), None);
    assert!(kit.receive(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, source).is_some());
    assert!(kit.receive(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#, source).is_some());
}

#[test]
fn requests_above_the_limit_are_refused_and_then_ignored_until_a_slot_is_free() {
    let mut kit = Kit::session();
    kit.receive(r#"{"jsonrpc":"2.0","id":"a","method":"roots/list"}"#, Source::Connection);
    kit.receive(r#"{"jsonrpc":"2.0","id":"a","method":"roots/list"}"#, Source::Connection);
    kit.receive(r#"{"jsonrpc":"2.0","id":"b","method":"roots/list"}"#, Source::Connection);
    kit.receive(r#"{"jsonrpc":"2.0","id":"c","method":"roots/list"}"#, Source::Connection);
    assert_eq!((kit.sent.served.len(), kit.router.unanswered()), (1, 2));
    let refusals = kit.refusals();
    assert!(refusals.len() == 1 && refusals[0].contains(r#""id":"b""#), "{refusals:?}");
    kit.sent.served.clear();
    assert_eq!(kit.router.unanswered(), 0);
    kit.receive(r#"{"jsonrpc":"2.0","id":"c","method":"ping"}"#, Source::Connection);
    let mut ping = kit.sent.served.pop().unwrap();
    let answer = pin!(&mut ping).poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(answer, Poll::Ready(Some(Bytes::from_static(br#"{"jsonrpc":"2.0","id":"c","result":{}}"#))));
}

#[test]
fn a_session_cancels_a_request_of_the_server_and_a_stateless_server_ends_a_subscription() {
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let mut kit = Kit::session();
    let (_, mailbox) = kit.open("tools/call");
    kit.receive(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#, Source::Connection);
    kit.receive(cancelled, Source::Connection);
    let mut request = kit.sent.served.pop().unwrap();
    assert_eq!(pin!(&mut request).poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(None));
    assert_eq!(take(&mailbox), None);

    for source in [Source::Connection, Source::Response { sent: &ONE, key: 1, subscription: true }] {
        let mut kit = Kit::stateless();
        let (_, mailbox) = kit.open("subscriptions/listen");
        kit.receive(cancelled, source);
        assert_eq!(take(&mailbox).as_deref(), Some("Ended"), "{source:?}");
    }
}

#[test]
fn a_stateless_server_sends_no_requests_and_no_batches() {
    let response = Source::Response { sent: &ONE, key: 1, subscription: false };
    for source in [Source::Connection, response] {
        let mut kit = Kit::stateless();
        kit.receive(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#, source);
        kit.receive(r#"[{"jsonrpc":"2.0","id":9,"method":"ping"}]"#, source);
        assert_eq!((kit.sent.served.len(), kit.refusals().len(), kit.heard().len()), (0, 0, 2), "{source:?}");
    }
}

#[test]
fn notifications_of_a_subscription_go_to_it() {
    let text = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{
        "io.modelcontextprotocol/subscriptionId":1}}}"#;
    for (kit, source, own) in [
        (Kit::stateless(), Source::Connection, true),
        (Kit::stateless(), Source::Response { sent: &ONE, key: 1, subscription: true }, true),
        (Kit::stateless(), Source::Response { sent: &ONE, key: 1, subscription: false }, false),
        (Kit::session(), Source::Connection, false),
        (Kit::session(), Source::SessionResponse { sent: &ONE }, false),
    ] {
        let mut kit = kit;
        let (_, mailbox) = kit.open("subscriptions/listen");
        kit.receive(text, source);
        assert_eq!((take(&mailbox).is_some(), kit.heard().len()), (own, usize::from(!own)), "{source:?}");
    }
}

/// A waker that uses the router, which would not return if the router were locked.
struct Reentrant(Arc<Router>, Mutex<usize>);

impl Wake for Reentrant {
    fn wake(self: Arc<Self>) {
        *lock(&self.1) += self.0.unanswered();
    }
}

#[test]
fn wakers_are_woken_without_a_lock() {
    let Kit { router, mut sent, .. } = Kit::session();
    let router = Arc::new(router);
    let woken = Arc::new(Reentrant(router.clone(), Mutex::new(0)));
    let waker = Waker::from(woken.clone());
    let (key, mailbox) = router.open(&router.next_id(), "tools/call", Cancellation::Notification).unwrap();
    let request = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    router.receive(request, Source::Connection, &mut sent).unwrap();
    assert!(pin!(&mut sent.served[0]).poll(&mut Context::from_waker(&waker)).is_pending());
    let cancelled = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    router.receive(Bytes::from_static(cancelled), Source::Connection, &mut sent).unwrap();
    assert_eq!(*lock(&woken.1), 2);
    assert!(mailbox.poll_take(&waker).is_pending());
    router.settle(key, Event::Ended);
    assert_eq!(*lock(&woken.1), 3);
}
