//! What anonymous callers at one address may cost.

use std::sync::Arc;

use couplet_core::{Limits, Transport};
use couplet_http::server::{HttpLimits, HttpTransport, TrustedProxies};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{
    listen,
    support::{POLLING, Seen, alone, by_user, call, eventually, initialize, limits, server},
};

struct Site {
    address: String,
    seen: Seen,
}

/// A server behind a reverse proxy that it trusts, for users that a header names.
async fn site(limits: HttpLimits) -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let proxies = TrustedProxies::new(["127.0.0.1".parse().unwrap()]);
    let transport = HttpTransport::from_listener(listener).limits(limits).trust_proxy(proxies).endpoint(by_user);
    let seen = Seen::default();
    tokio::spawn(transport.serve(Arc::new(server(&seen)), Limits::default()));
    Site { address, seen }
}

/// A response of which the head has come.
struct Open {
    head: String,
    _stream: TcpStream,
}

impl Open {
    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

impl Site {
    async fn send(&self, text: &str) -> Open {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            head.push(char::from(stream.read_u8().await.unwrap()));
        }
        Open { head, _stream: stream }
    }

    /// Posts a message of a client at an address.
    async fn post(&self, client: &str, message: &Value, headers: &str) -> Open {
        self.send(&listen::post(message, &format!("x-forwarded-for: {client}\r\n{headers}"))).await
    }

    async fn stateless(&self, client: &str, method: &str, params: Value, headers: &str) -> Open {
        let request = alone(method, params, &[]);
        let names = ["mcp-protocol-version", "mcp-method", "mcp-name"];
        let value = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let own = names.map(|name| value(name).map_or(String::new(), |value| format!("{name}: {value}\r\n"))).concat();
        self.post(client, &serde_json::from_str(request.body()).unwrap(), &(own + headers)).await
    }

    /// A call that does not end.
    async fn forever(&self, client: &str, headers: &str) -> Open {
        self.stateless(client, "tools/call", json!({ "name": "forever" }), headers).await
    }

    async fn session(&self, client: &str) -> Open {
        self.post(client, &initialize(POLLING), "").await
    }
}

fn is_too_much(refused: &Open) {
    assert_eq!(refused.status(), 429, "{}", refused.head);
    assert!(refused.head.contains("retry-after: 1\r\n"), "{}", refused.head);
}

#[tokio::test]
async fn requests_of_an_address_are_counted() {
    let site = site(limits(|l| l.requests_per_address = 2)).await;
    let first = site.forever("192.0.2.1", "").await;
    let second = site.forever("192.0.2.1", "").await;
    assert_eq!((first.status(), second.status()), (200, 200));
    is_too_much(&site.forever("192.0.2.1", "").await);
    is_too_much(&site.post("192.0.2.1", &call(1, "ping", &json!({})), "").await);
    // Another address, an authenticated user, and this machine.
    for (client, headers) in [("192.0.2.2", ""), ("192.0.2.1", "x-user: alice\r\n"), ("127.0.0.1", "")] {
        for _ in 0..3 {
            let open = site.post(client, &call(1, "ping", &json!({})), headers).await;
            assert_eq!(open.status(), 200, "{client} {headers}");
        }
    }
    drop(first);
    eventually(|| site.seen.dropped() == 1).await;
    assert_eq!(site.post("192.0.2.1", &call(1, "ping", &json!({})), "").await.status(), 200);
}

#[tokio::test]
async fn addresses_of_one_ipv6_network_are_counted_together() {
    let site = site(limits(|l| l.requests_per_address = 1)).await;
    let _open = site.forever("2001:db8:1:2::1", "").await;
    is_too_much(&site.forever("2001:db8:1:2:ffff:ffff:ffff:ffff", "").await);
    assert_eq!(site.forever("2001:db8:1:3::1", "").await.status(), 200);
}

#[tokio::test]
async fn sessions_of_an_address_are_counted() {
    let site = site(limits(|l| l.sessions_per_address = 1)).await;
    let first = site.session("192.0.2.1").await;
    assert_eq!(first.status(), 200);
    is_too_much(&site.session("192.0.2.1").await);
    assert_eq!(site.session("192.0.2.2").await.status(), 200);
    // One that is over does not count.
    let id = first.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let delete = format!(
        "DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nmcp-session-id: {id}\r\n\
         mcp-protocol-version: {POLLING}\r\n\r\n"
    );
    assert_eq!(site.send(&delete).await.status(), 204);
    assert_eq!(site.session("192.0.2.1").await.status(), 200);
}

#[tokio::test]
async fn streams_of_an_address_are_counted() {
    let site = site(limits(|l| l.streams_per_address = 2)).await;
    let opened = site.session("192.0.2.1").await;
    let id = opened.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let get = async |client: &str| {
        let head = "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n";
        site.send(&format!(
            "{head}x-forwarded-for: {client}\r\nmcp-session-id: {id}\r\nmcp-protocol-version: {POLLING}\r\n\r\n"
        ))
        .await
    };
    let listen = async |client: &str| {
        let params = json!({ "notifications": { "toolsListChanged": true } });
        site.stateless(client, "subscriptions/listen", params, "").await
    };
    let (one, two) = (get("192.0.2.1").await, listen("192.0.2.1").await);
    assert_eq!((one.status(), two.status()), (200, 200), "{}{}", one.head, two.head);
    is_too_much(&get("192.0.2.1").await);
    is_too_much(&listen("192.0.2.1").await);
    assert_eq!((get("192.0.2.2").await.status(), listen("192.0.2.3").await.status()), (200, 200));
    drop(two);
    for _ in 0..200 {
        if listen("192.0.2.1").await.status() == 200 {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("a stream that is over still counts");
}
