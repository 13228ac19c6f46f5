//! What a client sees of the server behind the proxy, in every pair of revisions.

use std::{
    future::Future,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use couplet_client::{Change, Filter};
use couplet_core::Service;
use couplet_server::tool;
use couplet_types::{CompletionReference, LogMessage, LoggingLevel, ProtocolVersion};
use serde_json::{Value, json};

use crate::{Chain, able, pairs, remote};

async fn in_all_pairs<F: Future<Output = ()>>(check: impl Fn(Chain, ProtocolVersion, ProtocolVersion) -> F) {
    for (near, far) in pairs() {
        let chain = Chain::new(near, far, able(near)).await;
        let pair = chain.pair.clone();
        tokio::time::timeout(Duration::from_secs(60), check(chain, near, far))
            .await
            .unwrap_or_else(|e| panic!("{pair}: {e}"));
    }
}

/// Which revisions have forms for a person, data in results, and sounds.
fn has_forms(version: ProtocolVersion) -> bool {
    !matches!(version, ProtocolVersion::V2024_11_05 | ProtocolVersion::V2025_03_26)
}

#[tokio::test]
async fn what_the_server_is() {
    in_all_pairs(|Chain { client, pair, .. }, near, _| async move {
        let server = client.server();
        assert_eq!(server.info.as_ref().map(|i| (&*i.name, &*i.version)), Some(("far", "1.2.3")), "{pair}");
        assert_eq!(server.instructions.as_deref(), Some("Far away."), "{pair}");
        assert_eq!(server.capabilities.resources.as_ref().unwrap().subscribe, Some(true), "{pair}");
        let said = server.capabilities.completions.is_some();
        assert_eq!(said, near != ProtocolVersion::V2024_11_05, "{pair}");
    })
    .await;
}

#[tokio::test]
async fn lists() {
    in_all_pairs(|Chain { client, pair, .. }, near, far| async move {
        let tools = client.tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|t| &*t.name).collect();
        assert_eq!(names, ["echo", "sound", "fail", "refuse", "work", "sure", "think", "wait"], "{pair}");
        assert_eq!(tools[0].title.is_some(), has_forms(near) && has_forms(far), "{pair}");
        assert_eq!(tools[0].output_schema.is_some(), has_forms(near) && has_forms(far), "{pair}");
        assert_eq!(client.resources().await.unwrap()[0].uri, "far://one", "{pair}");
        assert_eq!(client.resource_templates().await.unwrap()[0].uri_template, "far://{n}/page", "{pair}");
        assert_eq!(client.prompts().await.unwrap()[0].name, "ask", "{pair}");
    })
    .await;
}

#[tokio::test]
async fn calls() {
    in_all_pairs(|Chain { client, pair, .. }, near, far| async move {
        let echo = client.call("echo", json!({ "word": "hi\n" })).await.unwrap();
        assert_eq!(echo.structured::<Value>().unwrap(), json!({ "word": "hi\n" }), "{pair}");
        let echo = echo.into_inner();
        assert_eq!(echo.structured_content.is_some(), has_forms(near) && has_forms(far), "{pair}");
        let sound = client.call("sound", ()).await.unwrap();
        let plays = |version| version != ProtocolVersion::V2024_11_05;
        assert_eq!(sound.audio().is_ok(), plays(near) && plays(far), "{pair}");
        let failed = client.call("fail", ()).await.unwrap();
        assert!(failed.is_error() && failed.text() == "no luck", "{pair}");
        assert_eq!(client.read("far://one").await.unwrap().all_text(), "first", "{pair}");
        assert_eq!(client.read("far://7/page").await.unwrap().all_text(), "page 7", "{pair}");
        let asked = client.prompt("ask", json!({ "word": "rust" })).await.unwrap();
        assert_eq!(asked.messages[0].content.as_text(), Some("what is rust?"), "{pair}");
        let word = client.complete(CompletionReference::prompt("ask"), "word", "b").await.unwrap();
        assert_eq!(word.values, ["b"], "{pair}");
    })
    .await;
}

#[tokio::test]
async fn errors_keep_their_code_and_data() {
    in_all_pairs(|Chain { client, pair, .. }, near, far| async move {
        let refused = client.call("refuse", ()).await.unwrap_err();
        let refused = refused.rpc().unwrap();
        assert_eq!((refused.code, &*refused.message), (-32001, "not today"), "{pair}");
        assert_eq!(refused.data.as_ref().unwrap().parse::<Value>().unwrap(), json!({ "when": "later" }), "{pair}");
        assert_eq!(client.call("none", ()).await.unwrap_err().rpc().unwrap().code, -32602, "{pair}");
        let missing = client.read("far://none").await.unwrap_err().rpc().unwrap().clone();
        let newest = |version| version == ProtocolVersion::V2026_07_28;
        let code = if newest(near) || newest(far) { -32602 } else { -32002 };
        assert_eq!(missing.code, code, "{pair}");
        assert_eq!(missing.data.unwrap().parse::<Value>().unwrap(), json!({ "uri": "far://none" }), "{pair}");
    })
    .await;
}

#[tokio::test]
async fn progress_and_log_messages() {
    in_all_pairs(|Chain { client, pair, .. }, near, far| async move {
        client.set_log_level(LoggingLevel::Info).await.unwrap();
        let mut notices = client.notifications();
        let steps = Arc::new(Mutex::new(Vec::new()));
        let seen = steps.clone();
        let call =
            client.call("work", ()).on_progress(move |p| seen.lock().unwrap().push((p.progress, p.total, p.message)));
        assert_eq!(call.await.unwrap().text(), "worked", "{pair}");
        let words = |version| version != ProtocolVersion::V2024_11_05;
        let half = (words(near) && words(far)).then(|| "half".to_owned());
        assert_eq!(*steps.lock().unwrap(), [(1.0, Some(2.0), half), (2.0, Some(2.0), None)], "{pair}");
        let line = notices.next().await.unwrap().read::<LogMessage>().unwrap();
        assert_eq!(
            (line.level, line.data.get()),
            (LoggingLevel::Warning, "\"careful\""),
            "{pair}: only what is wanted"
        );
    })
    .await;
}

#[tokio::test]
async fn questions_are_asked_of_whoever_called() {
    in_all_pairs(|Chain { client, pair, .. }, near, far| async move {
        let sure = client.call("sure", ()).await;
        if has_forms(near) && has_forms(far) {
            assert_eq!(sure.unwrap().text(), "true false", "{pair}");
        } else {
            let told = sure.map_or_else(|error| error.to_string(), |result| result.text());
            assert!(told.contains("does not support elicitation"), "{pair}: {told}");
        }
        let thought = client.call("think", ()).await.unwrap();
        assert_eq!(thought.text(), "a sentence in file:///project", "{pair}");
    })
    .await;
}

#[tokio::test]
async fn changes_are_told_on() {
    in_all_pairs(|Chain { client, server, pair }, _, _| async move {
        let mut changes = client.listen(Filter::new().tools().resource("far://one")).await.unwrap();
        // The subscription goes through when the proxy gets to it.
        while !server.hub().interest().uris.contains("far://one") {
            tokio::task::yield_now().await;
        }
        server.updated("far://one");
        assert_eq!(changes.next().await, Some(Change::Updated("far://one".into())), "{pair}");
        server.add_tool(tool("new", || "new")).unwrap();
        assert_eq!(changes.next().await, Some(Change::Tools), "{pair}");
        assert_eq!(client.call("new", ()).await.unwrap().text(), "new", "{pair}");
        drop(changes);
        while !server.hub().interest().uris.is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_behind_the_proxy() {
    in_all_pairs(|Chain { client, pair, .. }, _, _| async move {
        let (waiting, dropped) = (remote::WAITING.load(Ordering::SeqCst), remote::DROPPED.load(Ordering::SeqCst));
        let call = tokio::spawn(std::future::IntoFuture::into_future(client.call("wait", ())));
        while remote::WAITING.load(Ordering::SeqCst) == waiting {
            tokio::task::yield_now().await;
        }
        call.abort();
        while remote::DROPPED.load(Ordering::SeqCst) == dropped {
            tokio::task::yield_now().await;
        }
        assert!(!client.call("echo", json!({ "word": "on" })).await.unwrap().is_error(), "{pair}");
    })
    .await;
}
