//! Requests that claim to be of another replica.

use bytes::Bytes;
use couplet_http::server::{Endpoint, EndpointBody, Replica};
use http::{Request, Response};
use http_body_util::Full;
use serde_json::json;
use tower_service::Service;

use crate::{
    member::{KEY, Member, store},
    support::{POLLING, Session, call, endpoint, request, send},
};

async fn deliver(endpoint: &Endpoint, request: Request<Full<Bytes>>) -> Response<EndpointBody> {
    endpoint.clone().call(request).await.unwrap()
}

/// Two replicas, a session of the first, and a request of the second that was signed and did not arrive.
async fn intercepted() -> (Member, Member, Session, Request<Full<Bytes>>) {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    one.wire.intercept(true);
    assert_eq!(session.at(&two.endpoint).tool(1, "hello").await.status, 418);
    one.wire.intercept(false);
    let request = one.wire.last();
    (one, two, session, request)
}

#[tokio::test]
async fn a_signed_request_is_good_once() {
    let (one, _two, _session, request) = intercepted().await;
    assert_eq!(deliver(&one.endpoint, request.clone()).await.status(), 200);
    assert_eq!(deliver(&one.endpoint, request).await.status(), 403, "not a second time");
}

#[tokio::test]
async fn a_signed_request_is_good_as_it_is() {
    let (one, _two, _session, request) = intercepted().await;
    let change = |change: &dyn Fn(&mut Request<Full<Bytes>>)| {
        let mut changed = request.clone();
        change(&mut changed);
        changed
    };
    let changed = [
        change(&|request| *request.method_mut() = http::Method::DELETE),
        change(&|request| {
            request.headers_mut().insert("mcp-session-id", "other".parse().unwrap());
        }),
        change(&|request| {
            request.headers_mut().remove("mcp-protocol-version");
        }),
        change(&|request| {
            request.headers_mut().append("accept", "text/html".parse().unwrap());
        }),
        change(&|request| {
            let signed = request.headers()["couplet-replica"].clone();
            request.headers_mut().append("couplet-replica", signed);
        }),
        // The last one, because its envelope is good.
        change(&|request| *request.body_mut() = call(1, "tools/list", &json!({})).to_string().into()),
    ];
    for (number, changed) in changed.into_iter().enumerate() {
        assert_eq!(deliver(&one.endpoint, changed).await.status(), 403, "{number}");
    }
}

#[tokio::test]
async fn fields_that_are_not_signed_do_not_arrive() {
    let (one, _two, _session, mut request) = intercepted().await;
    // With the host that it names nothing would be served, and the origin would be refused.
    request.headers_mut().insert("host", "internal.example".parse().unwrap());
    request.headers_mut().insert("origin", "https://evil.example".parse().unwrap());
    assert_eq!(deliver(&one.endpoint, request).await.status(), 200);
}

#[tokio::test]
async fn without_the_key_nothing_is_signed() {
    let store = store();
    let one = Member::new(&store).await;
    let session = Session::open(&one.endpoint, POLLING).await;
    let ping = call(1, "ping", &json!({})).to_string();
    for forged in ["", "v1.", "v1.e30.AAAA", "v2.e30.AAAA", &"v1.".repeat(4000)] {
        let mut forged_request = request("POST", &session.headers(), &*ping);
        forged_request.headers_mut().insert("couplet-replica", forged.parse().unwrap());
        assert_eq!(send(&one.endpoint, forged_request).await.status, 403, "{forged:.20}");
    }
    // Another cluster has another key.
    let other = Member::with(&store, |endpoint, url| endpoint.replica(Replica::new(url, [8; 32]).unwrap())).await;
    assert_eq!(session.at(&other.endpoint).tool(1, "hello").await.status, 403);
    // While the key is being changed, both are good.
    let changing = |endpoint: Endpoint, url| endpoint.replica(Replica::new(url, [9; 32]).unwrap().also_accepts(KEY));
    let both = Member::with(&store, changing).await;
    let moved = Session::open(&both.endpoint, POLLING).await;
    assert_eq!(moved.at(&one.endpoint).tool(1, "hello").await.status, 200);
    // Where requests are not forwarded, the field means nothing.
    let mut plain = request("POST", &[], ping);
    plain.headers_mut().insert("couplet-replica", "v1.e30.AAAA".parse().unwrap());
    assert_eq!(send(&endpoint().0, plain).await.status, 200);
}

#[tokio::test]
async fn a_request_is_forwarded_once() {
    let store = store();
    let (one, two, three) = (Member::new(&store).await, Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    one.wire.intercept(true);
    assert_eq!(session.at(&two.endpoint).tool(1, "hello").await.status, 418);
    one.wire.intercept(false);
    // Meanwhile the session moves.
    let session = session.move_to(&three.endpoint).await;
    assert_eq!(session.tool(2, "hello").await.status, 200);
    assert_eq!(deliver(&one.endpoint, one.wire.last()).await.status(), 421);
    assert_eq!(three.wire.count(), 0);
    // It is for one replica, also where another one has the session.
    assert_eq!(deliver(&three.endpoint, one.wire.last()).await.status(), 421);
}

#[test]
fn the_url_of_a_replica_is_checked() {
    for url in ["", "/mcp", "10.0.0.1:80", "ftp://10.0.0.1/mcp", "https:///mcp"] {
        let error = Replica::new(url, KEY).unwrap_err();
        assert!(error.to_string().contains("expected `http://host:port/path`"), "{error}");
    }
    assert_eq!(Replica::new("https://10.0.0.1/mcp", KEY).is_ok(), cfg!(feature = "client"));
    let replica = Replica::new("http://10.0.0.1:8080/mcp", KEY).unwrap();
    assert_eq!(format!("{replica:?}"), r#"Replica { url: "http://10.0.0.1:8080/mcp", .. }"#);
}
