//! The page beside the endpoint.

use couplet_http::server::Endpoint;
use http::Request;
use serde_json::json;

use crate::support::{Reply, Seen, alone, endpoint, request, send, server};

async fn get(endpoint: &Endpoint, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request: Request<String> = request("GET", headers, "");
    *request.uri_mut() = path.parse().unwrap();
    send(endpoint, request).await
}

#[tokio::test]
async fn the_page_is_off_by_default() {
    let (endpoint, _) = endpoint();
    for path in ["/mcp/inspector/", "/mcp/inspector/config.json"] {
        let reply = get(&endpoint, path, &[]).await;
        assert_eq!((reply.status.as_u16(), reply.header("content-security-policy")), (400, None), "{path}");
    }
}

#[tokio::test]
async fn the_page_is_served_with_its_policy() {
    let endpoint = endpoint().0.inspector();
    let mut page = get(&endpoint, "/mcp/inspector/", &[]).await;
    assert_eq!((page.status.as_u16(), page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(page.body.text().await.starts_with(b"<!doctype html>"));
    let etag = page.header("etag").unwrap().to_owned();
    let again = get(&endpoint, "/mcp/inspector/", &[("if-none-match", &etag)]).await;
    assert_eq!(again.status.as_u16(), 304);
    let folder = get(&endpoint, "/mcp/inspector", &[]).await;
    assert_eq!((folder.status.as_u16(), folder.header("location")), (308, Some("inspector/")));
    assert_eq!(get(&endpoint, "/mcp/inspector/none.js", &[]).await.status.as_u16(), 404);
    let config = get(&endpoint, "/a/mcp/inspector/config.json", &[]).await.json().await;
    assert_eq!((&config["mode"], &config["mcp"]), (&json!("endpoint"), &json!("../../mcp")));
    assert_eq!(config["features"]["feed"], false);
    let mut posted = request("POST", &[], "{}");
    *posted.uri_mut() = "/mcp/inspector/config.json".parse().unwrap();
    assert_eq!(send(&endpoint, posted).await.status.as_u16(), 405);
}

#[tokio::test]
async fn the_page_has_the_checks_of_the_endpoint() {
    let endpoint = Endpoint::new(server(&Seen::default())).allow_host("mcp.example.com").inspector();
    let host = ("host", "mcp.example.com");
    assert_eq!(get(&endpoint, "/mcp/inspector/", &[("host", "evil.example")]).await.status.as_u16(), 403);
    assert_eq!(get(&endpoint, "/mcp/inspector/", &[host]).await.status.as_u16(), 200);
    // Its own requests are from its own origin; those of other pages are refused as before.
    for (origin, status) in [("https://mcp.example.com", 200), ("https://evil.example", 403), ("null", 403)] {
        let call = alone("tools/list", json!({}), &[host, ("origin", origin)]);
        assert_eq!(send(&endpoint, call).await.status.as_u16(), status, "{origin}");
    }
    let without = Endpoint::new(server(&Seen::default())).allow_host("mcp.example.com");
    let call = alone("tools/list", json!({}), &[host, ("origin", "https://mcp.example.com")]);
    assert_eq!(send(&without, call).await.status.as_u16(), 403);
}

#[cfg(feature = "listen")]
#[tokio::test]
async fn the_listener_finds_the_page() {
    use std::sync::Arc;

    use couplet_core::{Limits, Transport};
    use couplet_http::server::{HttpTransport, Routes};
    use tokio::net::{TcpListener, TcpStream};

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let routes = Routes::new();
    routes.insert("/mcp/plain", Endpoint::new(server(&Seen::default())));
    routes.insert("/mcp/seen", Endpoint::new(server(&Seen::default())).inspector());
    let transport = HttpTransport::from_listener(listener).routes(&routes).endpoint(Endpoint::inspector);
    let task = tokio::spawn(transport.serve(Arc::new(server(&Seen::default())), Limits::default()));
    for (path, status) in [
        ("/mcp/inspector/index.html", "200"),
        ("/mcp/seen/inspector/", "200"),
        ("/mcp/plain/inspector/", "404"),
        ("/other/inspector/", "404"),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let reply = crate::listen::ask(&mut TcpStream::connect(&address).await.unwrap(), &request).await;
        assert_eq!(&reply[9..12], status, "{path}");
    }
    task.abort();
}
