//! Profiles.

use couplet_host::{Host, Profile, names::Kind, policy::Glob};
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

use crate::kit::{SESSIONS, able, connect, entry, id, in_all_pairs, server};

#[tokio::test]
async fn a_profile_selects_and_renames() {
    in_all_pairs(|near, far| async move {
        let profile = Profile::new("small")
            .server(id("files"))
            .allow(id("files"), Kind::Tool, Glob::new("*").unwrap())
            .deny(id("files"), Kind::Tool, Glob::new("f*").unwrap())
            .deny(id("files"), Kind::Tool, Glob::new("[sw]*").unwrap())
            .deny(id("files"), Kind::Resource, Glob::new("*").unwrap())
            .rename(id("files"), "echo", "say")
            .description(id("files"), "echo", "Says it.")
            .preset(id("files"), "echo", "word", json!("preset"));
        let host = Host::builder()
            .add(entry("files", server("files", far)))
            .add(entry("mail", server("mail", far)))
            .profile(profile)
            .build();
        let client = connect(able(near).0, host.view("small").unwrap().service()).await;
        let tools = client.tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert!(names.contains(&"files__say") && names.contains(&"files__think"), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("mail") || name.contains("fail")), "{names:?}");
        let say = tools.iter().find(|tool| tool.name == "files__say").unwrap();
        assert_eq!(say.description.as_deref(), Some("Says it."));
        let schema: Value = serde_json::to_value(&say.input_schema).unwrap();
        assert!(schema["properties"].get("word").is_none(), "{schema}");
        assert!(!schema["required"].to_string().contains("word"), "{schema}");
        let said = client.call("files__say", ()).await.unwrap();
        assert_eq!(said.structured::<Value>().unwrap(), json!({ "word": "preset" }));
        let refused = match client.call("files__say", json!({ "word": "mine" })).await {
            Ok(result) if result.is_error() => result.text(),
            other => other.unwrap_err().to_string(),
        };
        assert!(refused.contains("argument `word` is unknown"), "{refused}");
        for hidden in ["files__echo", "files__fail", "mail__who"] {
            let error = client.call(hidden, ()).await.unwrap_err();
            assert_eq!(error.rpc().unwrap().message, format!("there is no tool `{hidden}`"));
        }
        assert!(client.resources().await.unwrap().is_empty());
        for uri in ["files://one", "files://7/page", "files://unlisted"] {
            assert!(client.read(uri).await.is_err(), "{uri} is hidden");
        }
    })
    .await;
}

#[tokio::test]
async fn bare_names_that_collide_are_hidden() {
    let host = Host::builder()
        .add(entry("files", server("files", SESSIONS)))
        .add(entry("mail", server("mail", SESSIONS).tool(couplet_server::tool("send", || "sent"))))
        .profile(Profile::new("bare").bare())
        .build();
    let view = host.view("bare").unwrap();
    let client = connect(able(ProtocolVersion::V2025_06_18).0, view.service()).await;
    let tools = client.tools().await.unwrap();
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["send"]);
    assert_eq!(client.call("send", ()).await.unwrap().text(), "sent");
    assert!(client.call("who", ()).await.is_err());
    assert_eq!(view.collisions().len(), 7);
    assert!(host.view("none").is_none());
}
