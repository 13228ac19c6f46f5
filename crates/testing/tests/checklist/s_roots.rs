//! Lines 310 to 315: roots.

use couplet::{
    client::{Client, ClientBuilder},
    core::ErrorKind,
    server::{Ctx, Server, ServerHandle, tool},
    types::{ProtocolVersion, Root, RpcError},
};
use serde_json::{Value, json};

use crate::kit::{RawServer, STATELESS, ask_client, ask_tool, client, everything, request, revisions, said, settle};

fn asked() -> Value {
    json!({ "method": "roots/list" })
}

fn builder(roots: &[&str]) -> ClientBuilder {
    Client::new("c", "1").roots(roots.iter().map(|uri| Root::new(*uri)))
}

/// What a client declares about roots.
async fn declared(builder: ClientBuilder, version: ProtocolVersion) -> Option<Value> {
    let raw =
        RawServer::speaking(version, everything(), |m| m.get("id").map(|_| said(m, "done")).into_iter().collect());
    let client = builder.versions([version]).connect(raw.clone()).await.unwrap();
    client.call("t", ()).await.unwrap();
    let mut all = match version {
        STATELESS => {
            raw.seen_of("tools/call")[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"].take()
        }
        _ => raw.seen_of("initialize")[0]["params"]["capabilities"].take(),
    };
    all.as_object_mut().unwrap().remove("roots")
}

/// A client that has roots says so, and each of them is a `file://` URI.
#[tokio::test]
async fn line_310_declared() {
    for &version in revisions(..) {
        let expected = if version == STATELESS { json!({}) } else { json!({ "listChanged": true }) };
        assert_eq!(declared(builder(&["file:///work"]), version).await, Some(expected.clone()), "{version}");
        assert_eq!(declared(builder(&[]), version).await, Some(expected), "{version}: no roots yet");
        assert_eq!(declared(Client::new("c", "1"), version).await, None, "{version}");
        let told = ask_client(builder(&["file:///work"]), version, &asked()).await.unwrap();
        assert_eq!(told, json!({ "roots": [{ "uri": "file:///work" }] }), "{version}");
        for wrong in ["https://example.com", "/work", "work", "file:/work", "FILE//x", ""] {
            let raw = RawServer::speaking(version, everything(), |_| vec![]);
            let refused = builder(&[wrong]).versions([version]).connect(raw.clone()).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Config, "{version}: {wrong}");
            assert!(raw.seen().is_empty(), "{version}: nothing was sent");
        }
    }
}

/// A change of the roots is told, once each, where there is a session.
#[tokio::test]
async fn line_311_changes_are_told() {
    for &version in revisions(..="2025-11-25") {
        let raw = RawServer::speaking(version, everything(), |_| vec![]);
        let client = builder(&["file:///a"]).versions([version]).connect(raw.clone()).await.unwrap();
        settle().await;
        assert!(raw.seen_of("notifications/roots/list_changed").is_empty(), "{version}");
        for n in 1..=2 {
            client.set_roots([Root::new("file:///b")]).await.unwrap();
            raw.expect("notifications/roots/list_changed", n).await;
        }
        client.set_roots([Root::new("/wrong")]).await.unwrap_err();
        settle().await;
        assert_eq!(raw.seen_of("notifications/roots/list_changed").len(), 2, "{version}");
    }
}

/// A client without roots has no such method.
#[tokio::test]
async fn line_312_unsupported() {
    for &version in revisions(..="2025-11-25") {
        let refused = ask_client(Client::new("c", "1"), version, &asked()).await.unwrap_err();
        assert_eq!(refused["code"], -32601, "{version}");
        // A question that cannot be read is not answered with roots.
        let odd = json!({ "method": "roots/delete" });
        assert_eq!(ask_client(builder(&["file:///a"]), version, &odd).await.unwrap_err()["code"], -32601, "{version}");
    }
}

/// Only the roots that were given are told, as they are now, and none that goes up is accepted.
#[tokio::test]
async fn line_313_only_what_was_given() {
    for &version in revisions(..) {
        for up in ["file:///work/../etc", "file:///work/%2e%2e/etc", "file:///%2E./etc", "file:///a\\..\\b"] {
            let raw = RawServer::speaking(version, everything(), |_| vec![]);
            let refused = builder(&[up]).versions([version]).connect(raw).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Config, "{version}: {up}");
        }
        assert_eq!(ask_client(builder(&[]), version, &asked()).await.unwrap(), json!({ "roots": [] }), "{version}");
    }
    for &version in revisions(..="2025-11-25") {
        let raw = RawServer::speaking(version, everything(), |_| vec![]);
        let client = builder(&["file:///a", "file:///b"]).versions([version]).connect(raw.clone()).await.unwrap();
        client.set_roots([Root::new("file:///b")]).await.unwrap();
        raw.push(&request("r", "roots/list", &json!({})));
        settle().await;
        let told = raw.seen().into_iter().find(|m| m["id"] == "r").unwrap();
        assert_eq!(told["result"], json!({ "roots": [{ "uri": "file:///b" }] }), "{version}");
        client.set_roots([Root::new("file:///b/../..")]).await.unwrap_err();
    }
}

/// A tool that asks for roots and does what it can without them.
fn asking() -> ServerHandle {
    let ask = |ctx: Ctx| async move {
        match ctx.roots().await {
            Ok(roots) => roots.into_iter().map(|r| r.uri).collect::<Vec<_>>().join(" "),
            Err(RpcError { code, .. }) => format!("without roots: {code}"),
        }
    };
    Server::new("s", "1").tool(tool("ask", ask)).build()
}

/// A server asks only clients that have roots, goes on when there is no answer, and can tell whether a file is inside
/// of a root.
#[tokio::test]
async fn line_314_roots_of_the_server() {
    for &version in revisions(..) {
        let (asked, answered) = ask_tool(asking(), version, json!({}), json!({})).await;
        assert!(asked.is_empty(), "{version}");
        let text = answered["result"]["content"][0]["text"].clone();
        assert_eq!(text, format!("without roots: {}", if version == STATELESS { -32021 } else { -32600 }), "{version}");
        let roots = json!({ "roots": {} });
        let (asked, answered) =
            ask_tool(asking(), version, roots.clone(), json!({ "roots": [{ "uri": "file:///work" }] })).await;
        assert_eq!(asked[0]["method"], "roots/list");
        assert_eq!(answered["result"]["content"][0]["text"], "file:///work", "{version}");
        let (_, answered) = ask_tool(asking(), version, roots.clone(), json!({ "roots": "none" })).await;
        assert_eq!(answered["result"]["content"][0]["text"], "without roots: -32602", "{version}");
        if version != STATELESS {
            let broken = json!({ "error": { "code": -32603, "message": "the disk is gone" } });
            let (_, answered) = ask_tool(asking(), version, roots, broken).await;
            assert_eq!(answered["result"]["content"][0]["text"], "without roots: -32603", "{version}");
        }
    }
    let root = Root::new("file:///home/ann/work/");
    for inside in ["file:///home/ann/work", "file:///home/ann/work/", "file:///home/ann/work/a..b/c"] {
        assert!(root.contains(inside), "{inside}");
    }
    for outside in [
        "file:///home/ann",
        "file:///home/ann/workshop",
        "file:///home/ann/work/../x",
        "file:///home/ann/work/%2E%2e/x",
        "file:///home/ann/work/..%2fx",
        "file:///home/ann/work/a/..\\..\\x",
        "https://home/ann/work",
        "/home/ann/work/a",
    ] {
        assert!(!root.contains(outside), "{outside}");
    }
}

/// No root is told before the program gives it, and with it the person's consent; giving none takes it back.
#[tokio::test]
async fn line_315_consent() {
    for &version in revisions(..) {
        let raw = RawServer::speaking(version, everything(), |_| vec![]);
        let without = client(version).connect(raw.clone()).await.unwrap();
        let refused = without.set_roots([Root::new("file:///secret")]).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Config, "{version}");
        settle().await;
        let with = builder(&["file:///secret"]).versions([version]).connect(raw.clone()).await.unwrap();
        with.set_roots([]).await.unwrap();
        settle().await;
        assert!(!format!("{:?}", raw.seen()).contains("secret"), "{version}: told only when asked");
    }
}
