//! The schema of a gateway's configuration, and the key of what a gateway seals.

use std::fs;

use crate::{
    gateway::{CALL, Gateway, config, modern, write},
    kit::{Folder, couplet, run},
};

/// The schema is one, and what it says of a configuration is what the command says.
#[test]
fn the_schema_of_a_configuration_is_valid() {
    let output = couplet().args(["gateway", "schema"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(parsed["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let schema = couplet_schema::Schema::new(&text).unwrap();
    let folder = Folder::new("gateway-schema");
    let right = r#"{ "$schema": "./schema.json", "mcpServers": { "a": { "command": "x", "auth": { "CLIENT_ID": "c" }, "limits": { "timeout": "1m" } } },
                     "profiles": { "p": { "tools": { "a": { "preset": { "t": { "k": [1] } } } } } }, "policy": [{ "ask": {} }] }"#;
    for (config, is_valid) in [
        (right.to_owned(), true),
        (right.replace("\"command\"", "\"comand\""), false),
        (right.replace("\"preset\"", "\"presets\""), false),
        (right.replace("\"1m\"", "\"1 minute\""), false),
        (right.replace("\"ask\"", "\"asks\""), false),
        (right.replace("CLIENT_ID", "CLIENT"), false),
    ] {
        assert_eq!(schema.check(&config).is_ok(), is_valid, "{config}");
        let checked = run(&["gateway", "check", &write(&folder, "gateway.json", &config)]);
        assert_eq!(checked.ends_with("[exit 0]\n"), is_valid, "{checked}");
    }
}

/// What a gateway seals outlives it if it has a key, and is valid at each replica with that key: an answer is accepted by
/// another gateway than the one that has asked. A key can be changed while replicas run.
#[test]
fn request_state_is_valid_after_a_restart_with_the_key() {
    let folder = Folder::new("gateway-key");
    let path = config(
        &folder,
        r#", "policy": [{ "ask": {} }], "listen": { "tokens": { "ann": "ann-0123456789abcdef", "bob": "bob-0123456789abcdef" } }"#,
    );
    let (one, two) = ("11".repeat(32), "22".repeat(32));
    let key = |text: &str| {
        let path = write(&folder, "key", text);
        #[cfg(unix)]
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        path
    };
    let start = |text: Option<&str>| match text.map(key) {
        Some(file) => Gateway::start(&path, &["--state-key-file", &file], &[]),
        None => Gateway::start(&path, &[], &[]),
    };
    let call = |gateway: &mut Gateway, name: &str, more: serde_json::Value| -> serde_json::Value {
        gateway.token = format!("Authorization: Bearer {name}-0123456789abcdef");
        let mut body: serde_json::Value = serde_json::from_str(&CALL.replace("NAME", "shop__add")).unwrap();
        body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            serde_json::json!({ "elicitation": { "form": {} } });
        body["params"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let text = gateway.post(&modern("shop__add"), &body.to_string());
        let body = text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok());
        body.unwrap_or_else(|| panic!("no message: {text}"))
    };
    let none = serde_json::json!({});
    let ask = |gateway: &mut Gateway| {
        let asked = call(gateway, "ann", none.clone());
        let (asks, state) = (&asked["result"]["inputRequests"], &asked["result"]["requestState"]);
        assert!(asks.is_object() && state.is_string(), "{asked}");
        let accept =
            |key: &String| (key.clone(), serde_json::json!({ "action": "accept", "content": { "answer": "once" } }));
        let answers: serde_json::Map<_, _> = asks.as_object().unwrap().keys().map(accept).collect();
        serde_json::json!({ "inputResponses": answers, "requestState": state })
    };
    let is_done = |answer: &serde_json::Value| answer["result"]["content"][0]["text"] == "3";

    let retry = ask(&mut start(Some(&one)));
    for (text, accepts) in
        [(Some(one.clone()), true), (Some(format!("{two}\n{one}\n")), true), (Some(two), false), (None, false)]
    {
        let mut gateway = start(text.as_deref());
        let stolen = call(&mut gateway, "bob", retry.clone());
        assert!(!is_done(&stolen), "the answer of another principal: {stolen}");
        let done = call(&mut gateway, "ann", retry.clone());
        assert_eq!(is_done(&done), accepts, "{text:?}: {done}");
    }
    for (text, says) in [("12", "64 hexadecimal digits"), ("", "64 hexadecimal digits")] {
        let refused = run(&["gateway", &path, "--http", "127.0.0.1:0", "--state-key-file", &key(text)]);
        assert!(refused.contains(says) && refused.contains("as a key"), "{refused}");
    }
}

#[test]
fn other_machines_need_a_reason() {
    let folder = Folder::new("gateway-open");
    let path = config(&folder, r#", "listen": { "auth": "none" }"#);
    let text = run(&["gateway", &path, "--http", "0.0.0.0:0"]);
    assert!(text.contains("callers are not authenticated") && text.contains("[exit 2]"), "{text}");
}
