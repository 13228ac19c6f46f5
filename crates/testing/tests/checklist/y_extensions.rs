//! Lines 445 and 446: extensions.

use couplet_apps::{AppTools, Apps, ClientApps, Csp, ToolUi, Visibility};
use couplet_core::ErrorKind;
use couplet_server::{Server, tool};
use couplet_skills::{ClientSkills, LoadSkills, Skill, Skills};
use couplet_tasks::{ClientTasks, Tasks};
use couplet_testing::types::{APPS_EXTENSION, SKILLS_EXTENSION, TASKS_EXTENSION, Tool};
use serde_json::{Value, json};

use crate::kit::{RawServer, STATELESS, capabilities, client, open, result, revisions, said};

/// Nothing of an extension is there unless the program says so, on either side.
#[tokio::test]
async fn line_445_off_unless_asked_for() {
    let plain = || Server::new("s", "1").tool(tool("t", || "done"));
    for &version in revisions(..) {
        assert_eq!(capabilities(plain().build(), version).await.get("extensions"), None, "{version}");
        let mut wire = open(plain().build(), version, json!({})).await;
        for method in ["skills/list", "skills/get", "resources/directory/read"] {
            assert_eq!(wire.request(method, json!({})).await["error"]["code"], -32601, "{version} {method}");
        }
        let with = plain().extension(Skills::new()).extension(Apps::new()).extension(Tasks::in_memory()).build();
        let declared = capabilities(with, version).await["extensions"].take();
        assert!(declared[SKILLS_EXTENSION].is_object() && declared[APPS_EXTENSION].is_object(), "{version}");

        for (builder, expected) in [
            (client(version), None),
            (client(version).extension(ClientSkills::new()), Some(SKILLS_EXTENSION)),
            (client(version).extension(ClientApps::new()), Some(APPS_EXTENSION)),
            (client(version).extension(ClientTasks::new()), Some(TASKS_EXTENSION).filter(|_| version == STATELESS)),
        ] {
            let raw = RawServer::speaking(version, json!({ "tools": {} }), |m| {
                m.get("id").map(|_| said(m, "done")).into_iter().collect()
            });
            builder.connect(raw.clone()).await.unwrap().call("t", ()).await.unwrap();
            let extensions = declared_by_client(&raw)["extensions"].take();
            let names: Vec<_> = extensions.as_object().into_iter().flat_map(|all| all.keys()).collect();
            assert_eq!(names, expected.into_iter().collect::<Vec<_>>(), "{version}");
        }
    }
    let docs = include_str!("../../../couplet/src/docs/lib.md");
    for name in ["`tasks`", "`skills`", "`apps`"] {
        assert!(docs.contains(name), "the documentation lists {name}");
    }
}

/// What a client says about itself, wherever the revision says it.
fn declared_by_client(raw: &RawServer) -> Value {
    match raw.seen_of("initialize").first() {
        Some(greeting) => greeting["params"]["capabilities"].clone(),
        None => {
            let call = &raw.seen_of("tools/call")[0]["params"]["_meta"];
            call["io.modelcontextprotocol/clientCapabilities"].clone()
        }
    }
}

/// What the other side says in the name of an extension is checked before it is used.
#[tokio::test]
async fn line_446_nothing_is_trusted() {
    let hostile = |ui: Value| -> Tool {
        serde_json::from_value(json!({ "name": "t", "inputSchema": {}, "_meta": { "ui": ui } })).unwrap()
    };
    for (ui, uri, visibility) in [
        (json!({ "resourceUri": "javascript:alert(1)" }), None, Visibility::Both),
        (json!({ "resourceUri": "file:///etc/passwd", "visibility": 7 }), None, Visibility::Neither),
        (json!([]), None, Visibility::Neither),
    ] {
        let tool = hostile(ui);
        assert_eq!(ToolUi::of(&tool).resource_uri, uri);
        assert_eq!(AppTools::for_model(vec![tool]).len(), usize::from(visibility.for_model()));
    }
    let policy =
        Csp::new().connect(["https://a.com; script-src *", "*", "'unsafe-eval'"]).resources(["data:"]).policy();
    assert_eq!(policy, Csp::new().policy());

    for &version in revisions(..) {
        let refunds = Skill::new("refunds", "d", "b").file("a.md", "x");
        let mut wire =
            open(Server::new("s", "1").extension(Skills::new().skill(refunds)).build(), version, json!({})).await;
        for params in [json!({ "uri": 7 }), json!({}), json!({ "uri": "skill://refunds/../../etc/passwd" })] {
            for method in ["skills/get", "resources/directory/read"] {
                assert_eq!(wire.request(method, params.clone()).await["error"]["code"], -32602, "{version} {method}");
            }
        }
        let cursor = wire.request("skills/list", json!({ "cursor": "-1" })).await;
        assert_eq!(cursor["error"]["code"], -32602, "{version}");

        let outside = json!({ "uri": "skill://a/SKILL.md", "frontmatter": { "name": "a", "description": "d" },
                              "resources": [{ "uri": "file:///etc/passwd", "digest": "sha256:0", "size": 1 }] });
        let can = json!({ "resources": {}, "extensions": { SKILLS_EXTENSION: {} } });
        let raw = RawServer::speaking(version, can, move |m| {
            if m.get("id").is_none() {
                return vec![];
            }
            vec![result(
                m,
                json!({ "resultType": "complete", "skills": [outside, 7], "ttlMs": 0, "cacheScope": "private" }),
            )]
        });
        let client = client(version).extension(ClientSkills::new()).connect(raw.clone()).await.unwrap();
        let entry = client.skills().await.unwrap().remove(0);
        assert_eq!(client.load_skill(&entry).await.unwrap_err().kind(), ErrorKind::Protocol, "{version}");
        assert!(raw.seen_of("resources/read").is_empty(), "{version}");
    }
}
