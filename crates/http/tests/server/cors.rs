//! Pages in a browser: what it is told before it lets a page of an allowed origin use the server.

use couplet_http::server::Endpoint;
use http::Request;
use serde_json::json;

use crate::{
    authorize::{DOCUMENT, Door},
    support::{POLLING, Reply, Seen, alone, call, initialize, limits, request, send, server},
};

const APP: &str = "https://app.example.com";
const METHOD: (&str, &str) = ("access-control-request-method", "POST");

fn endpoint() -> Endpoint {
    Endpoint::new(server(&Seen::default())).allow_origin(APP)
}

fn list(reply: &Reply, name: &str) -> Vec<String> {
    let values = reply.headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_ascii_lowercase());
    values.flat_map(|list| list.split(',').map(|one| one.trim().to_owned()).collect::<Vec<_>>()).collect()
}

fn names(reply: &Reply) -> Vec<&str> {
    let names = reply.headers.keys().map(http::HeaderName::as_str);
    names.filter(|name| name.starts_with("access-control-")).collect()
}

/// Checks that a page of an origin may read a response.
fn check_readable(reply: &Reply, origin: &str, what: &str) {
    assert_eq!(reply.header("access-control-allow-origin"), Some(origin), "{what}");
    assert_eq!(list(reply, "vary").iter().filter(|name| *name == "origin").count(), 1, "{what}");
    let exposed = list(reply, "access-control-expose-headers");
    for name in ["mcp-session-id", "www-authenticate", "mcp-protocol-version", "retry-after"] {
        assert!(exposed.iter().any(|other| other == name), "{what}: {name}");
    }
}

async fn preflight(endpoint: &Endpoint, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request = request("OPTIONS", headers, "");
    *request.uri_mut() = path.parse().unwrap();
    send(endpoint, request).await
}

#[tokio::test]
async fn a_preflight_is_answered_before_anything_is_asked() {
    // It has no credentials, and there is no room for requests.
    let endpoint = endpoint().authorize(Door).limits(limits(|l| l.requests = 0));
    for path in ["/mcp", DOCUMENT] {
        for origin in [APP, "http://localhost:6274", "http://127.0.0.1"] {
            let asked =
                ("access-control-request-headers", "content-type, mcp-param-region, x-other,MCP-Param-Dry, a b");
            let mut reply = preflight(&endpoint, path, &[("origin", origin), METHOD, asked]).await;
            assert_eq!(reply.status, 204);
            assert!(reply.body.text().await.is_empty());
            check_readable(&reply, origin, path);
            assert_eq!(list(&reply, "access-control-allow-methods"), ["get", "post", "delete", "options"]);
            let expected = "authorization content-type accept last-event-id mcp-protocol-version mcp-session-id \
                            mcp-method mcp-name mcp-param-region mcp-param-dry";
            assert_eq!(list(&reply, "access-control-allow-headers").join(" "), expected);
            assert_eq!(reply.header("access-control-max-age"), Some("7200"));
            assert_eq!(reply.header("access-control-allow-credentials"), None);
        }
    }
    let many: String = (0..1000).map(|n| format!("mcp-param-{n},")).collect();
    let asked = ("access-control-request-headers", &*many);
    let reply = preflight(&endpoint, "/mcp", &[("origin", APP), METHOD, asked]).await;
    assert_eq!(list(&reply, "access-control-allow-headers").len(), 8 + 64);
}

#[tokio::test]
async fn every_response_to_a_page_can_be_read() {
    let ping = call(1, "ping", &json!({})).to_string();
    let open = endpoint().limits(limits(|l| l.body = 500));
    let closed = open.clone().authorize(Door);
    let origin = ("origin", APP);
    let by = ("authorization", "Bearer alice:read");
    let stream = alone("tools/call", json!({ "name": "slow" }), &[origin]);
    let document = {
        let mut request = request("GET", &[origin], "");
        *request.uri_mut() = DOCUMENT.parse().unwrap();
        request
    };
    let rows: [(&str, &Endpoint, Request<String>, u16); 9] = [
        ("a message", &open, request("POST", &[origin], &*ping), 200),
        ("a session", &open, request("POST", &[origin], initialize(POLLING).to_string()), 200),
        ("a stream", &open, stream, 200),
        ("a method that is none", &open, request("PUT", &[origin], ""), 405),
        ("no preflight", &open, request("OPTIONS", &[origin], ""), 405),
        ("too long", &open, request("POST", &[origin], " ".repeat(501)), 413),
        ("without credentials", &closed, request("POST", &[origin], &*ping), 401),
        ("with credentials", &closed, request("POST", &[origin, by], &*ping), 200),
        ("the document", &closed, document, 200),
    ];
    for (what, endpoint, request, status) in rows {
        let reply = send(endpoint, request).await;
        assert_eq!(reply.status.as_u16(), status, "{what}");
        check_readable(&reply, APP, what);
    }
}

#[tokio::test]
async fn who_is_not_a_page_and_who_is_not_allowed_hear_nothing_of_it() {
    let endpoint = endpoint().authorize(Door);
    let ping = call(1, "ping", &json!({})).to_string();
    let reply = send(&endpoint, request("POST", &[("authorization", "Bearer alice:read")], &*ping)).await;
    assert_eq!((reply.status.as_u16(), names(&reply)), (200, vec![]));
    for origin in ["https://evil.example", "https://app.example.com.evil.example", "null", "http://app.example.com"] {
        let refused = [
            preflight(&endpoint, "/mcp", &[("origin", origin), METHOD]).await,
            preflight(&endpoint, DOCUMENT, &[("origin", origin), METHOD]).await,
            send(&endpoint, request("POST", &[("origin", origin)], &*ping)).await,
        ];
        for reply in refused {
            assert_eq!((reply.status.as_u16(), names(&reply)), (403, vec![]), "{origin}");
        }
    }
    // A cache must not give one origin what another one got.
    let mut document = request("GET", &[], "");
    *document.uri_mut() = DOCUMENT.parse().unwrap();
    assert_eq!(list(&send(&endpoint, document).await, "vary"), ["origin"]);
}
