//! Proxies.

use std::{
    process::Command,
    sync::{Arc, Mutex},
};

use couplet_core::ErrorKind;
use couplet_http::client::HyperClient;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use crate::{
    mock::{Mock, reply, says},
    wire::{Wire, certificate, connect},
};

/// `user:pass`, as proxies want to see it.
const LOGIN: &str = "Basic dXNlcjpwYXNz";

fn server() -> Mock {
    Mock::modern(|seen| reply(200, &seen.result(says("done"))))
}

#[tokio::test]
async fn a_proxy_reads_what_is_not_encrypted() {
    let mock = server();
    let wire = Wire::plain(&mock).await;
    let sender = HyperClient::builder().proxy(&format!("http://user:pass@{}", wire.address), "").build().unwrap();
    let client = connect("http://server.example/mcp", sender).await.unwrap();
    client.call("x", ()).await.unwrap();
    for seen in mock.seen() {
        assert_eq!((&*seen.uri, seen.header("host")), ("http://server.example/mcp", Some("server.example")));
        assert_eq!(seen.header("proxy-authorization"), Some(LOGIN));
    }
    assert_eq!((mock.seen().len(), wire.connections()), (2, 1));
}

/// A proxy that opens tunnels to one server, whatever it is asked for, or answers with another status. Returns its
/// address and what it was asked.
async fn tunnels(to: Wire, status: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://user:pass@{}", listener.local_addr().unwrap());
    let heads = Arc::new(Mutex::new(Vec::new()));
    let asked = heads.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(socket.read_u8().await.unwrap());
            }
            heads.lock().unwrap().push(String::from_utf8(head).unwrap());
            socket.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await.unwrap();
            if status.starts_with("200") {
                let mut server = TcpStream::connect(to.address).await.unwrap();
                tokio::spawn(async move { copy_bidirectional(&mut socket, &mut server).await });
            }
        }
    });
    (address, asked)
}

#[tokio::test]
async fn a_proxy_opens_a_tunnel_for_what_is_encrypted() {
    let (config, trust) = certificate(&["server.example"], &["h2", "http/1.1"]);
    let mock = server();
    let (proxy, heads) = tunnels(Wire::tls(&mock, config).await, "200 OK").await;
    let sender = HyperClient::builder().tls(trust).proxy(&proxy, "").build().unwrap();
    let client = connect("https://server.example/mcp", sender).await.unwrap();
    client.call("x", ()).await.unwrap();
    let heads = heads.lock().unwrap().clone();
    assert_eq!(heads.len(), 1);
    assert!(heads[0].starts_with("CONNECT server.example:443 HTTP/1.1\r\n"), "{}", heads[0]);
    assert!(heads[0].contains(LOGIN), "{}", heads[0]);
    // The server is not shown what is the proxy's.
    assert_eq!(mock.seen().len(), 2);
    assert!(mock.seen().iter().all(|s| s.header("proxy-authorization").is_none()));
}

#[tokio::test]
async fn a_proxy_that_refuses_is_said() {
    for status in ["407 Proxy Authentication Required", "403 Forbidden"] {
        let (proxy, _) = tunnels(Wire::plain(&server()).await, status).await;
        let sender = HyperClient::builder().proxy(&proxy, "").build().unwrap();
        let error = connect("https://server.example/mcp", sender).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport);
        let text = format!("{error} {error:?}");
        assert!(text.contains("server.example") && !text.contains("pass"), "{text}");
        assert!(error.to_string().contains("prox") || error.to_string().contains("tunnel"), "{error}");
    }
}

/// An address that is not the loopback's and does not leave this machine, where nobody listens.
async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://0.0.0.0:{}/mcp", listener.local_addr().unwrap().port())
}

#[tokio::test]
async fn some_servers_are_reached_without_the_proxy() {
    let mock = server();
    let wire = Wire::plain(&mock).await;
    let proxy = format!("http://{}", wire.address);
    let nobody = nobody().await;
    for (url, except, proxied) in [
        ("http://a.example/", "", true),
        ("http://a.example/", "b.example, 192.0.2.0/24", true),
        (&nobody, "", true),
        (&nobody, "b.example, 0.0.0.0/8", false),
        // This machine never is.
        (&nobody.replace("0.0.0.0", "localhost"), "", false),
        (&nobody.replace("0.0.0.0", "127.0.0.1"), "", false),
    ] {
        let before = mock.seen().len();
        let sender = HyperClient::builder().proxy(&proxy, except).build().unwrap();
        let outcome = connect(url, sender).await;
        assert_eq!((outcome.is_ok(), mock.seen().len() > before), (proxied, proxied), "{url} {except}");
    }
}

#[tokio::test]
async fn an_address_is_checked_on_any_way_but_the_proxys_is_not() {
    let mock = server();
    let wire = Wire::plain(&mock).await;
    for (url, allowed) in [("http://a.example/", true), ("http://192.0.2.1/", false), ("http://[2001:db8::1]/", false)]
    {
        let builder = HyperClient::builder().proxy(&format!("http://localhost:{}", wire.address.port()), "");
        let outcome = connect(url, builder.allow_address(|_| false).build().unwrap()).await;
        assert_eq!(outcome.is_ok(), allowed, "{url}");
        assert!(outcome.err().is_none_or(|e| e.to_string().contains("does not allow connections")), "{url}");
    }
}

#[tokio::test]
async fn what_is_no_proxy_is_refused() {
    for url in ["", "socks5://user:pass@proxy.example:1080", "https://user:pass@proxy.example", "http://", "ftp://a"] {
        let error = HyperClient::builder().proxy(url, "").build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{url}");
        assert!(!format!("{error:?}").contains("pass"), "{error:?}");
    }
}

/// The environment is one for the whole process, so this runs itself in another one.
#[tokio::test]
async fn the_environment_names_the_proxy() {
    if let Ok(url) = std::env::var("COUPLET_TEST_URL") {
        connect(url, HyperClient::new().unwrap()).await.unwrap();
        return;
    }
    let mock = server();
    let wire = Wire::plain(&mock).await;
    let nobody = nobody().await;
    for (variable, url, direct, arrives) in [
        ("HTTP_PROXY", "http://a.example/mcp", "", true),
        ("http_proxy", "http://a.example/mcp", "", true),
        ("ALL_PROXY", "http://a.example/mcp", "", true),
        ("HTTP_PROXY", &nobody, "", true),
        ("HTTPS_PROXY", &nobody, "", false),
        ("HTTP_PROXY", &nobody, "a.example,0.0.0.0", false),
    ] {
        let before = mock.seen().len();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "proxy::the_environment_names_the_proxy"]).env("COUPLET_TEST_URL", url);
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
            child.env_remove(name).env_remove(name.to_lowercase());
        }
        child.env(variable, format!("http://{}", wire.address)).env("NO_PROXY", direct).env_remove("REQUEST_METHOD");
        let output = tokio::task::spawn_blocking(move || child.output().unwrap()).await.unwrap();
        assert_eq!(output.status.success(), arrives, "{variable} {url}: {output:?}");
        assert_eq!(mock.seen().len() > before, arrives, "{variable} {url}");
    }
}
