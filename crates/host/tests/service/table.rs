//! What a client sees of the servers behind a host.

use std::sync::{Arc, Mutex};

use couplet_types::{CompletionReference, ProtocolVersion};
use serde_json::{Value, json};

use crate::kit::{able, connect, host, in_all_pairs};

/// Which revisions have forms for a person, and data in results.
fn has_forms(version: ProtocolVersion) -> bool {
    !matches!(version, ProtocolVersion::V2024_11_05 | ProtocolVersion::V2025_03_26)
}

#[tokio::test]
async fn lists() {
    in_all_pairs(|near, far| async move {
        let client = connect(able(near).0, host(far).service()).await;
        let tools = client.tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        let expected: Vec<_> = ["files", "mail"]
            .iter()
            .flat_map(|server| ["echo", "who", "fail", "work", "sure", "think"].map(|tool| format!("{server}__{tool}")))
            .collect();
        assert_eq!(names, expected);
        assert_eq!(tools[0].title.is_some(), has_forms(near));
        let resources = client.resources().await.unwrap();
        assert_eq!(resources.iter().map(|r| &*r.uri).collect::<Vec<_>>(), ["files://one", "mail://one"]);
        let templates = client.resource_templates().await.unwrap();
        assert_eq!(templates[1].uri_template, "mail://{n}/page");
        let prompts = client.prompts().await.unwrap();
        assert_eq!(prompts.iter().map(|p| &*p.name).collect::<Vec<_>>(), ["files__ask", "mail__ask"]);
    })
    .await;
}

#[tokio::test]
async fn calls_reach_the_owner() {
    in_all_pairs(|near, far| async move {
        let client = connect(able(near).0, host(far).service()).await;
        client.tools().await.unwrap();
        for server in ["files", "mail"] {
            assert_eq!(client.call(format!("{server}__who"), ()).await.unwrap().text(), server);
            let echo = client.call(format!("{server}__echo"), json!({ "word": "hi\n" })).await.unwrap();
            assert_eq!(echo.structured::<Value>().unwrap(), json!({ "word": "hi\n" }));
            let failed = client.call(format!("{server}__fail"), ()).await.unwrap();
            assert!(failed.is_error() && failed.text() == "no luck");
            assert_eq!(client.read(format!("{server}://one")).await.unwrap().all_text(), format!("{server} one"));
            let page = client.read(format!("{server}://7/page")).await.unwrap();
            assert_eq!(page.all_text(), format!("{server} page 7"));
            let prompt = client.prompt(format!("{server}__ask"), json!({ "word": "rust" })).await.unwrap();
            assert_eq!(prompt.messages[0].content.as_text(), Some(&*format!("{server}: what is rust?")));
            let prompt = CompletionReference::prompt(format!("{server}__ask"));
            assert_eq!(client.complete(prompt, "word", "").await.unwrap().values, [server]);
        }
    })
    .await;
}

/// The first request of a client needs no list: a server that was never listed is waited for.
#[tokio::test]
async fn the_first_request_of_a_host_is_answered() {
    in_all_pairs(|near, far| async move {
        for first in ["call", "prompt", "resource", "template", "completion", "completion of a template"] {
            let client = connect(able(near).0, host(far).service()).await;
            let what = format!("{near} to {far}: {first}");
            match first {
                "call" => assert_eq!(client.call("mail__who", ()).await.unwrap().text(), "mail", "{what}"),
                "prompt" => assert!(client.prompt("mail__ask", json!({ "word": "x" })).await.is_ok(), "{what}"),
                "resource" => assert!(client.read("mail://one").await.is_ok(), "{what}"),
                "template" => assert!(client.read("mail://7/page").await.is_ok(), "{what}"),
                "completion" => {
                    let prompt = CompletionReference::prompt("mail__ask");
                    let done = client.complete(prompt, "word", "").await.unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert_eq!(done.values, ["mail"], "{what}");
                }
                _ => {
                    let template = CompletionReference::resource("mail://{n}/page");
                    let done = client.complete(template, "n", "").await;
                    assert!(done.is_ok_and(|done| done.values == ["7"]), "{what}");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn what_does_not_exist() {
    in_all_pairs(|near, far| async move {
        let client = connect(able(near).0, host(far).service()).await;
        client.tools().await.unwrap();
        for name in ["who", "files_who", "files__", "files__who__", "other__who", ""] {
            let error = client.call(name, ()).await.unwrap_err();
            let error = error.rpc().unwrap();
            assert_eq!((error.code, &*error.message), (-32602, &*format!("there is no tool `{name}`")));
        }
        assert_eq!(client.prompt("ask", json!({})).await.unwrap_err().rpc().unwrap().code, -32602);
        let code = if near == ProtocolVersion::V2026_07_28 { -32602 } else { -32002 };
        assert_eq!(client.read("other://one").await.unwrap_err().rpc().unwrap().code, code);
    })
    .await;
}

#[tokio::test]
async fn progress_and_log_messages() {
    in_all_pairs(|near, far| async move {
        let client = connect(able(near).0, host(far).service()).await;
        client.tools().await.unwrap();
        let steps = Arc::new(Mutex::new(Vec::new()));
        let seen = steps.clone();
        let call = client.call("mail__work", ()).on_progress(move |p| seen.lock().unwrap().push((p.progress, p.total)));
        assert_eq!(call.await.unwrap().text(), "worked");
        assert_eq!(*steps.lock().unwrap(), [(1.0, Some(2.0)), (2.0, Some(2.0))]);
    })
    .await;
}

#[tokio::test]
async fn requests_of_servers_name_their_server() {
    in_all_pairs(|near, far| async move {
        let (client, asked) = able(near);
        let client = connect(client, host(far).service()).await;
        client.tools().await.unwrap();
        for server in ["files", "mail"] {
            let sure = client.call(format!("{server}__sure"), ()).await;
            if has_forms(near) {
                assert_eq!(sure.unwrap().text(), "true false");
                let asked = std::mem::take(&mut *asked.lock().unwrap());
                assert_eq!(asked, [format!("{server}: are you sure?"), format!("{server}: positively?")]);
            } else {
                let message = sure.map_or_else(|error| error.to_string(), |result| result.text());
                assert!(message.contains("does not support elicitation"), "{message}");
            }
            let thought = client.call(format!("{server}__think"), ()).await.unwrap();
            assert_eq!(thought.text(), "a sentence in file:///project");
        }
    })
    .await;
}
