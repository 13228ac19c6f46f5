//! Requests that are not those of the page.

use crate::kit::{Kit, Local};

/// Sends a request without a token.
async fn status(kit: &Kit, port: u16, method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
    kit.send_with(port, method, path, headers, "").await.status.as_u16()
}

#[tokio::test]
async fn without_the_token_there_is_only_the_page() {
    let kit = Kit::new().await;
    kit.inspector.add(Local::new(), None);
    let host = format!("127.0.0.1:{}", kit.port);
    let own = [("host", host.as_str())];
    for (path, expected) in [("/", 200), ("/index.html", 200), ("/config.json", 200), ("/none.js", 404)] {
        assert_eq!(status(&kit, kit.port, "GET", path, &own).await, expected, "{path}");
    }
    for path in ["/api/targets", "/api/feed?after=0", "/api/messages/1", "/api/export", "/api/known", "/api/none"] {
        assert_eq!(status(&kit, kit.port, "GET", path, &own).await, 401, "{path}");
        let wrong = [("host", host.as_str()), ("authorization", "Bearer 0123456789abcdef0123456789abcdef")];
        assert_eq!(status(&kit, kit.port, "GET", path, &wrong).await, 401, "{path}");
    }
    assert_eq!(status(&kit, kit.port, "POST", "/mcp/t1", &own).await, 401);
    assert_eq!(status(&kit, kit.port, "POST", "/", &own).await, 405);
    // The token in the query does not count: it would be in logs and histories.
    assert_eq!(status(&kit, kit.port, "GET", &format!("/api/targets?token={}", kit.token), &own).await, 401);
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_with_the_token() {
    let kit = Kit::new().await;
    let (port, token) = (kit.port, format!("Bearer {}", kit.token));
    let own = format!("127.0.0.1:{port}");
    let by_name = format!("localhost:{port}");
    let (page, neighbour) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{}", kit.sandbox));
    let rebound = format!("evil.example:{port}");
    for path in ["/", "/config.json", "/api/targets"] {
        for (host, origin, expected) in [
            (own.as_str(), None, 200),
            (&by_name, None, 200),
            (&own, Some(page.as_str()), 200),
            (&own, Some("https://evil.example"), 403),
            (&own, Some("null"), 403),
            (&own, Some(&neighbour), 403),
            (&rebound, None, 403),
            ("evil.example", None, 403),
            ("127.0.0.1", None, 403),
        ] {
            let mut headers = vec![("host", host), ("authorization", token.as_str())];
            headers.extend(origin.map(|origin| ("origin", origin)));
            assert_eq!(status(&kit, port, "GET", path, &headers).await, expected, "{path} {host} {origin:?}");
        }
    }
}

#[tokio::test]
async fn the_page_has_a_strict_policy() {
    let kit = Kit::new().await;
    let host = format!("127.0.0.1:{}", kit.port);
    let page = kit.send_with(kit.port, "GET", "/", &[("host", &host)], "").await;
    let header = |name: &str| page.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    let policy = header("content-security-policy");
    for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(policy.contains(&format!("frame-src http://127.0.0.1:{}", kit.sandbox)), "{policy}");
    assert_eq!(
        (header("x-content-type-options").as_str(), header("referrer-policy").as_str()),
        ("nosniff", "no-referrer")
    );
    let etag = header("etag");
    let again = kit.send_with(kit.port, "GET", "/", &[("host", &host), ("if-none-match", &etag)], "").await;
    assert_eq!(again.status.as_u16(), 304);
}

#[tokio::test]
async fn the_sandbox_serves_its_files_alone() {
    let kit = Kit::new().await;
    let host = format!("127.0.0.1:{}", kit.sandbox);
    for (path, expected) in [("/", 200), ("/sandbox.html", 200), ("/index.html", 404), ("/api/targets", 404)] {
        assert_eq!(status(&kit, kit.sandbox, "GET", path, &[("host", &host)]).await, expected, "{path}");
    }
    assert_eq!(status(&kit, kit.sandbox, "GET", "/", &[("host", "evil.example")]).await, 403);
    let page = kit.send_with(kit.sandbox, "GET", "/", &[("host", &host)], "").await;
    let policy = page.headers["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains(&format!("frame-ancestors http://127.0.0.1:{}", kit.port)), "{policy}");
}

#[tokio::test]
async fn a_view_has_the_frames_that_its_server_declared() {
    let kit = Kit::new().await;
    let host = format!("127.0.0.1:{}", kit.sandbox);
    for (path, expected) in [
        ("/", "frame-src 'none'"),
        ("/?https://a.example,https://b.example:8443", "frame-src https://a.example https://b.example:8443"),
        ("/?*,https:,'self',https://a.example/b", "frame-src 'none'"),
    ] {
        let page = kit.send_with(kit.sandbox, "GET", path, &[("host", &host)], "").await;
        let policy = page.headers["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.ends_with(expected), "{path}: {policy}");
    }
}
