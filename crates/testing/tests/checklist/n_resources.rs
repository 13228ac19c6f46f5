//! Lines 252 to 263: resources.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use couplet::{
    core::{Call, Reply},
    server::{
        Next, NotFound, Server, ServerHandle, ToolError,
        extract::{Path, SubPath},
        reply::Blob,
        resource, tool,
    },
    types::{ResourceContents, RpcError},
};
use couplet_testing::Wire;
use serde_json::{Value, json};

use crate::kit::{RawServer, STATELESS, capabilities, client, error, everything, open, result, revisions};

fn notes() -> ServerHandle {
    Server::new("s", "1")
        .resource(resource("notes://today", || "rain").subscribable())
        .resource(resource("notes://other", || "sun").subscribable())
        .resource(resource("notes://bytes", || Blob(vec![0, 255, 16])).mime_type("application/octet-stream"))
        .resource(resource("notes://broken", || Err::<String, _>(ToolError::new("the disk is full"))))
        .resource(resource(
            "notes://day/{n}",
            |Path(n): Path<u8>| if n < 8 { Ok(n.to_string()) } else { Err(NotFound) },
        ))
        .build()
}

async fn read(wire: &mut Wire, uri: &str) -> Value {
    wire.request("resources/read", json!({ "uri": uri })).await
}

/// A server that has resources says so. That single ones can be subscribed to is said apart from that the list can
/// change, and only where it is so.
#[tokio::test]
async fn line_252_declared() {
    for &version in revisions(..) {
        let plain = Server::new("s", "1").resource(resource("a://b", || "text")).build();
        assert_eq!(capabilities(plain.clone(), version).await["resources"], json!({ "listChanged": true }));
        let both = json!({ "listChanged": true, "subscribe": true });
        assert_eq!(capabilities(notes(), version).await["resources"], both);
        let none = Server::new("s", "1").tool(tool("a", || "done")).build();
        assert!(capabilities(none.clone(), version).await.get("resources").is_none());
        let refused = open(none, version, json!({})).await.request("resources/list", json!({})).await;
        assert_eq!(refused["error"]["code"], -32601, "{version}");
        let mut wire = open(plain, version, json!({})).await;
        if version == STATELESS {
            let wanted = json!({ "resourceSubscriptions": ["a://b"], "resourcesListChanged": true });
            wire.start("subscriptions/listen", json!({ "notifications": wanted }));
            let honoured = wire.next().await.unwrap()["params"]["notifications"].take();
            assert_eq!(honoured, json!({ "resourcesListChanged": true }));
        } else {
            let refused = wire.request("resources/subscribe", json!({ "uri": "a://b" })).await;
            assert_eq!(refused["error"]["code"], -32601, "{version}");
        }
    }
}

/// Both lists are answered where resources are declared, also while they are empty, and when nothing is left.
#[tokio::test]
async fn line_253_empty_list_is_answered() {
    let mut wire = open(Server::new("s", "1").advertise_empty_lists().build(), STATELESS, json!({})).await;
    assert_eq!(wire.request("resources/list", json!({})).await["result"]["resources"], json!([]));
    let templates = wire.request("resources/templates/list", json!({})).await;
    assert_eq!(templates["result"]["resourceTemplates"], json!([]));
    let server = Server::new("s", "1").resource(resource("a://b", || "text").subscribable()).build();
    let mut wire = open(server.clone(), STATELESS, json!({})).await;
    let declared = capabilities(server.clone(), STATELESS).await;
    assert!(server.remove_resource("a://b"));
    assert_eq!(wire.request("resources/list", json!({})).await["result"]["resources"], json!([]));
    assert_eq!(capabilities(server, STATELESS).await, declared);
}

/// What a read that fails is reported as: the codes for something that is not there and for something that broke.
async fn check_failures(version: couplet::types::ProtocolVersion, not_found: i64) {
    let mut wire = open(notes(), version, json!({})).await;
    for uri in ["notes://tomorrow", "notes://day/9", "notes://day", "other://today", "NOTES://today"] {
        let answer = read(&mut wire, uri).await;
        assert_eq!(answer["error"]["code"], not_found, "{version}: {uri}: {answer}");
        assert_eq!(answer["error"]["data"]["uri"], uri);
        assert!(answer.get("result").is_none());
    }
    assert_eq!(read(&mut wire, "notes://broken").await["error"]["code"], -32603, "{version}");
    assert_eq!(read(&mut wire, "notes://day/7").await["result"]["contents"][0]["text"], "7", "{version}");
}

/// A resource that does not exist is -32002 where there are sessions, and one that broke is -32603.
#[tokio::test]
async fn line_254_failures_in_sessions() {
    for &version in revisions(..="2025-11-25") {
        check_failures(version, -32002).await;
    }
}

/// A resource that does not exist is -32602 since 2026-07-28, and one that broke is -32603.
#[tokio::test]
async fn line_255_failures_without_sessions() {
    check_failures(STATELESS, -32602).await;
}

/// A resource that does not exist is an error and never a result without contents: not when no URI fits, and not when
/// the handler of a template finds nothing.
#[tokio::test]
async fn line_256_unknown_is_not_empty() {
    let mut wire = open(notes(), STATELESS, json!({})).await;
    for uri in ["notes://tomorrow", "notes://day/9"] {
        let answer = read(&mut wire, uri).await;
        assert!(answer["result"].get("contents").is_none() && answer["error"]["code"] == -32602, "{answer}");
    }
}

/// The client takes the older code for a resource that does not exist as what it is, and goes on.
#[tokio::test]
async fn line_257_the_older_code_is_accepted() {
    let raw = RawServer::speaking(STATELESS, everything(), |m| match m["params"]["uri"].as_str() {
        Some("a://gone") => {
            let mut answer = error(m, -32002, "Resource not found");
            answer["error"]["data"] = json!({ "uri": "a://gone" });
            vec![answer]
        }
        Some(_) => vec![result(m, json!({ "contents": [{ "uri": "a://b", "text": "there" }] }))],
        None => vec![],
    });
    let client = client(STATELESS).connect(raw).await.unwrap();
    let failed = client.read("a://gone").await.unwrap_err();
    assert_eq!(failed.rpc().unwrap().code, couplet::types::code::RESOURCE_NOT_FOUND);
    assert!(failed.rpc().unwrap().data.as_ref().unwrap().get().contains("a://gone"));
    assert_eq!(client.read("a://b").await.unwrap().all_text(), "there");
}

/// URIs are listed as they were registered, in any scheme that RFC 3986 allows; others are refused at once.
#[tokio::test]
async fn line_258_schemes() {
    let add = |uri: &str| {
        let server = || Server::new("s", "1").resource(resource(uri, || "text")).build();
        catch_unwind(AssertUnwindSafe(server)).ok()
    };
    for &version in revisions(..) {
        for uri in ["https://example.com/a?b=c#d", "file:///a%20b", "git+ssh://x/y", "x-notes.v2:today", "urn:isbn:1"] {
            let mut wire = open(add(uri).unwrap_or_else(|| panic!("`{uri}` is a URI")), version, json!({})).await;
            let listed = wire.request("resources/list", json!({})).await["result"]["resources"][0]["uri"].take();
            assert_eq!(listed, uri, "{version}");
            assert_eq!(read(&mut wire, uri).await["result"]["contents"][0]["uri"], uri, "{version}");
        }
    }
    for wrong in
        ["", "today", "/today", "1notes://a", "no tes://a", "notes_x://a", "://a", "notes://a b", "notes://%zz"]
    {
        assert!(add(wrong).is_none(), "`{wrong}` is not a URI");
    }
}

/// On a session, updates are told of resources that were subscribed to, and not after unsubscribing.
#[tokio::test]
async fn line_259_updates_in_sessions() {
    for &version in revisions(..="2025-11-25") {
        let server = notes();
        let mut wire = open(server.clone(), version, json!({})).await;
        let mut other = open(server.clone(), version, json!({})).await;
        server.updated("notes://today");
        assert!(wire.ready().is_empty(), "{version}: nobody asked");
        let done = wire.request("resources/subscribe", json!({ "uri": "notes://today" })).await;
        assert_eq!(done["result"], json!({}));
        server.updated("notes://other");
        server.updated("notes://today");
        let told = wire.ready();
        assert_eq!(told.len(), 1, "{version}: {told:?}");
        assert_eq!(told[0]["method"], "notifications/resources/updated");
        assert_eq!(told[0]["params"]["uri"], "notes://today");
        assert!(other.ready().is_empty(), "{version}: the other session did not subscribe");
        wire.request("resources/unsubscribe", json!({ "uri": "notes://today" })).await;
        server.updated("notes://today");
        assert!(wire.ready().is_empty(), "{version}: it unsubscribed");
        let unknown = wire.request("resources/subscribe", json!({ "uri": "notes://nothing" })).await;
        assert_eq!(unknown["error"]["code"], -32002, "{version}");
    }
}

/// Without sessions, updates are told on the streams that name the resource, and on no other.
#[tokio::test]
async fn line_260_updates_on_streams() {
    let server = notes();
    let mut wire = open(server.clone(), STATELESS, json!({})).await;
    server.updated("notes://today");
    assert!(wire.ready().is_empty());
    let mut ids = Vec::new();
    for uris in [json!(["notes://today"]), json!(["notes://other"])] {
        ids.push(wire.start("subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": uris } })));
        assert_eq!(wire.next().await.unwrap()["params"]["notifications"]["resourceSubscriptions"], uris);
    }
    server.updated("notes://other");
    let told = wire.ready();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["params"]["uri"], "notes://other");
    assert_eq!(told[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], ids[1]);
    server.updated("notes://bytes");
    assert!(wire.ready().is_empty());
}

/// A URI that is none is refused, bytes are base64, and a layer can check who reads what.
#[tokio::test]
async fn line_261_uris_bytes_permissions() {
    for &version in revisions(..) {
        let mut wire = open(notes(), version, json!({})).await;
        for wrong in [json!({}), json!({ "uri": 5 }), json!({ "uri": null }), json!({ "uri": ["notes://today"] })] {
            let answer = wire.request("resources/read", wrong.clone()).await;
            assert_eq!(answer["error"]["code"], -32602, "{version}: {wrong}");
        }
        for wrong in ["", "today", "notes://day/%zz", "notes://day/1/2", "notes://today\u{0}", "notes://day/-1"] {
            let code = read(&mut wire, wrong).await["error"]["code"].as_i64();
            assert!(matches!(code, Some(-32602 | -32002)), "{version}: {wrong:?}: {code:?}");
        }
        let bytes = read(&mut wire, "notes://bytes").await["result"]["contents"][0].take();
        assert_eq!((&bytes["blob"], bytes.get("text")), (&json!("AP8Q"), None), "{version}");

        let by_hand =
            Server::new("s", "1").resource(resource("a://b", || ResourceContents::blob("a://b", "not base64")));
        let mut wire = open(by_hand.build(), version, json!({})).await;
        assert_eq!(read(&mut wire, "a://b").await["error"]["code"], -32603, "{version}");

        let ran = Arc::new(AtomicUsize::new(0));
        let count = ran.clone();
        let guarded = Server::new("s", "1")
            .resource(resource("a://secret", move || {
                count.fetch_add(1, Ordering::SeqCst);
                "text"
            }))
            .middleware(|call: Call, next: Next| async move {
                let uri: Option<String> = call.params.read_opt("uri").unwrap_or_default();
                match uri.as_deref() {
                    Some("a://secret") => Reply::Error(RpcError::new(1, "not yours")),
                    _ => next.run(call).await,
                }
            });
        let mut wire = open(guarded.build(), version, json!({})).await;
        assert_eq!(read(&mut wire, "a://secret").await["error"]["code"], 1, "{version}");
        assert_eq!(ran.load(Ordering::SeqCst), 0);
    }
}

/// A template whose variable is a path inside of a folder takes no URI that leaves the folder, however it is written.
#[tokio::test]
async fn line_262_paths_stay_inside() {
    let folder = |Path(path): Path<SubPath>| path.within("/srv/notes").display().to_string();
    let server = || Server::new("s", "1").resource(resource("notes://{+path}", folder)).build();
    let mut wire = open(server(), STATELESS, json!({})).await;
    for (uri, path) in [("notes://a", "/srv/notes/a"), ("notes://a/b..c/.d", "/srv/notes/a/b..c/.d")] {
        assert_eq!(read(&mut wire, uri).await["result"]["contents"][0]["text"], path);
    }
    for uri in [
        "notes://../etc/passwd",
        "notes://a/../../etc/passwd",
        "notes://%2e%2e/etc/passwd",
        "notes://%2E%2E%2Fetc/passwd",
        "notes://a/%2e%2e/%2e%2e/etc",
        "notes:///etc/passwd",
        "notes://%2fetc/passwd",
        "notes://..%5c..%5cetc",
        "notes://C:/windows",
        "notes://a%00b",
        "notes://.",
    ] {
        let answer = read(&mut wire, uri).await;
        assert_eq!(answer["error"]["code"], -32602, "{uri}: {answer}");
    }
    assert_eq!(SubPath::parse("a/b").unwrap().within("/x"), PathBuf::from("/x/a/b"));
}

/// Clients are told when a resource or a template comes or goes.
#[tokio::test]
async fn line_263_changes_are_told() {
    for &version in revisions(..) {
        let server = notes();
        let mut wire = open(server.clone(), version, json!({})).await;
        if version == STATELESS {
            wire.start("subscriptions/listen", json!({ "notifications": { "resourcesListChanged": true } }));
            wire.next().await.unwrap();
        }
        server.add_resource(resource("notes://new", || "text")).unwrap();
        assert_eq!(wire.next().await.unwrap()["method"], "notifications/resources/list_changed", "{version}");
        server.add_resource(resource("notes://new/{n}", |Path(n): Path<String>| n)).unwrap();
        assert_eq!(wire.next().await.unwrap()["method"], "notifications/resources/list_changed", "{version}");
        assert!(server.remove_resource("notes://new"));
        assert_eq!(wire.next().await.unwrap()["method"], "notifications/resources/list_changed", "{version}");
        assert!(server.add_resource(resource("notes://today", || "again")).is_err());
        assert!(wire.ready().is_empty(), "{version}");
    }
}
