//! Bodies that are too long.

use std::time::Duration;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{
    site::{PATIENCE, Site, post},
    support::{call, limits},
};

const MB: usize = 1 << 20;

/// The head of a message with these headers.
fn head(headers: &str) -> String {
    post(&json!({}), headers).replace("content-length: 2\r\n", "").replace("\r\n\r\n{}", "\r\n\r\n")
}

/// Sends everything before it reads anything, as simple clients do.
async fn send(site: &Site, head: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(&site.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    timeout(PATIENCE, stream.write_all(body)).await.expect("it is taken in time").expect("it is taken");
    let mut text = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut text)).await.expect("it ends in time").expect("it ends well");
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn attack_07_who_sends_too_much_hears_why() {
    let site = Site::start(|t| t).await;
    for size in [4 * MB + 1, 5 * MB, 17 * MB, 32 * MB] {
        let text = send(&site, &head(&format!("content-length: {size}\r\n")), &vec![b' '; size]).await;
        assert!(text.starts_with("HTTP/1.1 413") && text.contains("longer than 4194304 bytes"), "{size}: {text}");
        let chunk = [b"100000\r\n", &vec![b' '; MB][..], b"\r\n"].concat();
        let chunks = [chunk.repeat(size.div_ceil(MB)), b"0\r\n\r\n".to_vec()].concat();
        if size < 32 * MB {
            let text = send(&site, &head("transfer-encoding: chunked\r\n"), &chunks).await;
            assert!(text.starts_with("HTTP/1.1 413") && text.contains("longer than 4194304 bytes"), "{size}: {text}");
        }
    }
    // The connection can be used again.
    let too_long = head("content-length: 5242880\r\n").replace("connection: close\r\n", "");
    let next = post(&call(1, "ping", &json!({})), "");
    let text = send(&site, &too_long, &[vec![b' '; 5 * MB], next.into_bytes()].concat()).await;
    assert_eq!(text.matches("HTTP/1.1 ").count(), 2, "{text}");
    assert!(text.ends_with(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "{text}");
}

#[tokio::test]
async fn attack_07_what_is_announced_is_not_waited_for_longer_than_it_may_take() {
    let site = Site::start(|t| t.limits(limits(|l| l.body_time = Duration::from_millis(200)))).await;
    // Too much for anything, too much and never sent, and a client that waits to be told to go on.
    for headers in [
        "content-length: 1073741824\r\n",
        "content-length: 5242880\r\n",
        "content-length: 5242880\r\nexpect: 100-continue\r\n",
    ] {
        let text = send(&site, &head(headers), b"").await;
        assert!(text.starts_with("HTTP/1.1 413") && text.contains("longer than 4194304 bytes"), "{headers}: {text}");
    }
}
