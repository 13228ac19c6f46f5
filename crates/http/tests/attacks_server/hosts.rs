//! Hosts and origins that look like one that is served.

use couplet_http::server::Endpoint;
use http::Request;

use crate::support::{call, endpoint, request, send};

async fn status(endpoint: &Endpoint, request: Request<String>) -> u16 {
    send(endpoint, request).await.status.as_u16()
}

fn ping(headers: &[(&str, &str)]) -> Request<String> {
    request("POST", headers, call(1, "ping", &serde_json::json!({})).to_string())
}

const BAD: &[&str] = &[
    "127.0.0.1:8080@evil.example",
    "localhost@evil.example",
    "user@localhost",
    "user:pass@localhost:80",
    "evil.example:80@localhost",
    "localhost:80@",
    "@localhost",
    "localhost/",
    "localhost/path",
    "localhost:80/path",
    "localhost?x",
    "localhost#x",
    "localhost\\evil.example",
    "localhost evil.example",
    "localhost, evil.example",
    "localhost:80, localhost:80",
    "http://localhost",
    "localhost:",
    "localhost:x",
    "localhost:80:80",
    "localhost:0",
    "localhost:65536",
    "localhost:-1",
    "localhost:+80",
    "localhost:80 ",
    "localhost%00",
    "localhost%2eevil.example",
    ":80",
    "::1",
    "[::1",
    "[::1]x",
    "[::1]:",
    "[::1]:x",
    "[::1]]:80",
    "[127.0.0.1]",
    "[::1%25lo]",
    "[localhost]",
    "[]",
    "[]:80",
];

#[tokio::test]
async fn attack_03_only_a_host_and_a_port_are_a_host() {
    let (endpoint, _) = endpoint();
    for host in ["localhost", "LOCALHOST:80", "127.0.0.1:65535", "[::1]", "[::1]:8080", "[0:0::1]:1"] {
        assert_eq!(status(&endpoint, ping(&[("host", host)])).await, 200, "{host}");
    }
    let named = endpoint.clone().allow_host("mcp.example.com").allow_host("one_name:8443").allow_host("[fe80::1]");
    for host in ["mcp.example.com", "MCP.example.com:1", "one_name:8443", "[fe80::1]:80"] {
        assert_eq!(status(&named, ping(&[("host", host)])).await, 200, "{host}");
    }
    for host in ["one_name", "one_name:8444", "mcp.example.com.", "mcp.example.com.evil.example"] {
        assert_eq!(status(&named, ping(&[("host", host)])).await, 403, "{host}");
    }
    // Also where any host is right, it has to be one.
    let any = endpoint.clone().allow_any_host();
    assert_eq!(status(&any, ping(&[("host", "anything.example")])).await, 200);
    assert_eq!(status(&any, ping(&[("host", "")])).await, 200, "a request that names none");
    for endpoint in [&endpoint, &named, &any] {
        for host in BAD {
            assert_eq!(status(endpoint, ping(&[("host", host)])).await, 403, "{host}");
        }
        let mut request = ping(&[]);
        request.headers_mut().insert("host", http::HeaderValue::from_static(""));
        assert_eq!(status(endpoint, request).await, 403, "an empty one");
        let twice = ping(&[("host", "localhost"), ("host", "localhost")]);
        assert_eq!(status(endpoint, twice).await, 403, "two");
    }
    assert_eq!(status(&endpoint, ping(&[("host", "")])).await, 403, "none");
}

#[tokio::test]
async fn attack_03_the_target_of_a_request_is_a_host_too() {
    let (endpoint, _) = endpoint();
    let any = endpoint.clone().allow_any_host();
    let rows = [
        ("http://localhost/mcp", 200, 200),
        ("http://[::1]:80/mcp", 200, 200),
        ("http://evil.example/mcp", 403, 200),
        ("http://localhost:80@evil.example/mcp", 403, 403),
        ("http://user@localhost/mcp", 403, 403),
        ("http://localhost:99999/mcp", 403, 403),
    ];
    for (uri, expected, with_any) in rows {
        for (endpoint, expected) in [(&endpoint, expected), (&any, with_any)] {
            // With the header and, as in HTTP/2, without it.
            for host in ["localhost", ""] {
                let mut request = ping(&[("host", host)]);
                *request.uri_mut() = uri.parse().unwrap();
                assert_eq!(status(endpoint, request).await, expected, "{uri} with {host:?}");
            }
        }
    }
}

#[tokio::test]
async fn attack_03_an_origin_is_a_scheme_and_a_host() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.allow_origin("https://app.example.com");
    for origin in ["http://localhost", "https://127.0.0.1:1", "http://[::1]:80", "https://app.example.com"] {
        assert_eq!(status(&endpoint, ping(&[("origin", origin)])).await, 200, "{origin}");
    }
    for host in BAD {
        for origin in [format!("http://{host}"), format!("https://app.example.com{host}")] {
            assert_eq!(status(&endpoint, ping(&[("origin", &origin)])).await, 403, "{origin}");
        }
    }
    for origin in ["null", "ftp://localhost", "https://app.example.com.evil.example", "https://app.example.com:444"] {
        assert_eq!(status(&endpoint, ping(&[("origin", origin)])).await, 403, "{origin}");
    }
}
