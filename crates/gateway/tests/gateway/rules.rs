//! Policies, pins and audit from a configuration.

use std::fs;

use couplet_gateway::{PinFile, Unapproved, inspect};
use couplet_host::{
    names::ServerId,
    pins::{Approval, Launch, Select},
};
use serde_json::json;

use crate::kit::{File, SHORT, Upstream, client, names};

#[tokio::test]
async fn policies_and_limits_of_tools_narrow_each_other() {
    let one = Upstream::start(&["read", "write", "delete"]).await;
    let entry = one.entry(r#", "tools": { "allow": ["read", "delete"] }"#);
    let text = format!(
        r#"{{ "mcpServers": {{ "one": {entry} }}, "policy": [{{ "deny": {{ "tool": "one/delete" }} }}, {{ "allow": {{}} }}],
             "audit": {{ "file": "audit.jsonl" }}, "names": "bare" }}"#
    );
    let file = File::new(&text);
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    let client = client(&gateway, None).await;
    assert_eq!(names(&client).await, ["read"]);
    let error = async |name: &str| client.call(name, json!({})).await.unwrap_err().to_string().replace(name, "NAME");
    assert_eq!(error("delete").await, error("absent").await, "a denied tool is like an absent one");
    assert_eq!(error("write").await, error("absent").await, "so is one that the server is not limited to");
    assert_eq!(client.call("read", json!({ "secret": "s22-canary" })).await.unwrap().text(), "read");
    gateway.close().await;
    let audit = fs::read_to_string(file.path().with_file_name("audit.jsonl")).unwrap();
    assert!(audit.contains("\"decision\":\"allow\"") && audit.contains("\"decision\":\"deny\""), "{audit}");
    assert!(!audit.contains("s22-canary"), "s22: values of arguments are not recorded");
}

/// The first definitions are approved; a launch that changes later is not, and neither are new definitions.
#[tokio::test]
async fn s04_a_server_that_is_swapped_is_not_used() {
    let (good, evil) = (Upstream::start(&["a"]).await, Upstream::start(&["a", "steal"]).await);
    let text = |server: &Upstream| format!(r#"{{ "mcpServers": {{ "one": {} }} }}"#, server.entry(""));
    let file = File::new(&text(&good));
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    let client = client(&gateway, None).await;
    assert_eq!(names(&client).await, ["one__a"]);

    file.write(&text(&evil));
    gateway.reload().await.unwrap();
    gateway.ready(SHORT).await;
    assert_eq!(names(&client).await, Vec::<String>::new());
    assert!(client.call("one__a", json!({})).await.is_err());
    let status = gateway.status();
    assert_eq!(status["servers"][0]["state"], "quarantined");
    assert!(status["servers"][0]["error"].as_str().unwrap().contains("couplet gateway pins diff"), "{status}");

    let config = gateway.config();
    let pins = PinFile::new(config.lock_path());
    let lock = pins.read().unwrap();
    let found = inspect(&config, &file.env(), &lock, |_| Some(Unapproved::Leave)).await;
    assert_eq!(found[0].launch, Launch::Changed);
    assert!(found[0].seen.is_err(), "it is not contacted");

    let found = inspect(&config, &file.env(), &lock, |_| Some(Unapproved::Start)).await;
    let mut lock = pins.read().unwrap();
    assert_eq!(found[0].approve(&mut lock, Select::Server, &Approval::default()), Ok(2));
    pins.write(&lock).unwrap();
    gateway.reload().await.unwrap();
    gateway.ready(SHORT).await;
    assert_eq!(names(&client).await, ["one__a", "one__steal"], "once it is approved, it is used");
    gateway.close().await;
}

/// A bare name that two servers have is hidden, and the status says so.
#[tokio::test]
async fn s01_collisions_of_bare_names_are_in_the_status() {
    let (one, two) = (Upstream::start(&["a", "b"]).await, Upstream::start(&["a", "c"]).await);
    let text = |rename: &str| {
        format!(
            r#"{{ "mcpServers": {{ "one": {}, "two": {} }}, "names": "bare",
                 "profiles": {{ "other": {{ "names": "prefixed" }}, "small": {{ "tools": {{ "two": {{ "rename": {{ {rename} }} }} }} }} }} }}"#,
            one.entry(""),
            two.entry("")
        )
    };
    let file = File::new(&text(""));
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    let claimants = json!([{ "server": "one", "name": "a" }, { "server": "two", "name": "a" }]);
    let collision = |profile: &str| json!({ "profile": profile, "name": "a", "claimants": claimants });
    assert_eq!(names(&client(&gateway, None).await).await, ["b", "c"]);
    assert_eq!(gateway.status()["collisions"], json!([collision("default"), collision("small")]));

    file.write(&text(r#""a": "a2""#));
    gateway.reload().await.unwrap();
    assert_eq!(names(&client(&gateway, Some("small")).await).await, ["a", "a2", "b", "c"]);
    assert_eq!(gateway.status()["collisions"], json!([collision("default")]));
    let naming = |profile: &str| gateway.config().naming(profile).name(&ServerId::from_key("two"), "a");
    assert_eq!([naming("default"), naming("small"), naming("other")], ["a", "a2", "two__a"]);
    gateway.close().await;
}

#[tokio::test]
async fn a_lock_that_cannot_be_written_is_reported_at_the_start() {
    let file = File::new(r#"{ "mcpServers": { "one": { "command": "x" } } }"#);
    fs::create_dir(file.path().with_extension("lock")).unwrap();
    let error = file.start().await.unwrap_err().to_string();
    assert!(error.contains("gateway.lock"), "{error}");
}

#[tokio::test]
async fn tokens_are_resolved_or_generated() {
    let start = async |listen: &str| {
        let file = File::new(&format!(r#"{{ "mcpServers": {{}}, "listen": {listen} }}"#));
        let gateway = file.start().await.unwrap();
        gateway.access().await
    };
    let access = start("{}").await.unwrap();
    let token = access.generated.unwrap();
    assert!(token.len() == 64 && !format!("{:?}", access.tokens).contains(&token));
    let access = start(r#"{ "tokens": { "ann": "0123456789abcdef" } }"#).await.unwrap();
    assert!(access.tokens.is_some() && access.generated.is_none());
    assert!(start(r#"{ "auth": "none" }"#).await.unwrap().tokens.is_none());
    for (listen, says) in [
        (r#"{ "token": "short" }"#, "must have at least 16"),
        (r#"{ "token": "${env:NOT_SET_ANYWHERE}" }"#, "the variable `NOT_SET_ANYWHERE` is not set"),
        (r#"{ "token": "0123456789abcdef", "tokens": { "b": "0123456789abcdef" } }"#, "is that of another principal"),
    ] {
        let error = start(listen).await.unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains("0123456789abcdef"), "{error}");
    }
}
