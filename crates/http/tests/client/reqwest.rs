//! Requests that are sent with reqwest.

use std::sync::Arc;

use couplet_client::Client;
use couplet_core::{Error, ErrorKind};
use couplet_http::client::ReqwestClient;

use crate::{
    mock::{Mock, empty, event, reply, says, stream, tools, with},
    wire::Wire,
};

async fn connect(url: String) -> Result<Client, Error> {
    let sender = ReqwestClient::new(reqwest::Client::builder().no_proxy()).unwrap();
    Client::new("test", "1").connect(couplet_http::connect(url).header("x-key", "k").client(Arc::new(sender))).await
}

#[tokio::test]
async fn a_session_from_its_first_message_to_its_last() {
    let mock = Mock::legacy(|seen| match seen.what() {
        "tools/list" => reply(200, &seen.result(tools(&[]))),
        "tools/call" => stream([event(&seen.result(says("done")))]),
        _ => empty(405),
    });
    let wire = Wire::plain(&mock).await;
    let client = connect(format!("http://{}/mcp", wire.address)).await.unwrap();
    client.tools().await.unwrap();
    assert_eq!(client.call("x", ()).await.unwrap().text(), "done");
    client.close().await.unwrap();
    assert_eq!(mock.last("DELETE").header("mcp-session-id"), Some("s1"));
    assert_eq!(mock.last("tools/call").header("x-key"), Some("k"));
    assert!(wire.connections() <= 3, "{}", wire.connections());
}

#[tokio::test]
async fn redirects_are_followed_without_what_is_private() {
    let elsewhere = Mock::modern(|_| empty(404));
    let other = Wire::plain(&elsewhere).await;
    let to = format!("http://{}/mcp", other.address);
    let first = Wire::plain(&Mock::new(move |_| with(empty(307), "location", &to))).await;
    connect(format!("http://{}/mcp", first.address)).await.unwrap();
    let seen = elsewhere.last("server/discover");
    assert_eq!((seen.header("x-key"), seen.header("mcp-method")), (None, Some("server/discover")));
}

#[tokio::test]
async fn failures_say_who_and_not_with_what() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = connect(format!("http://{address}/?key=secret")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains(&address.to_string()), "{error}");
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}
