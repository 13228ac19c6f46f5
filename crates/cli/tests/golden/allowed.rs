//! Hosts and origins in the configuration of a gateway, which take effect while it serves.

use std::{fs, thread, time::Duration};

use crate::{
    gateway::{Gateway, write},
    kit::{Folder, shop},
};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn config(listen: &str) -> String {
    format!(r#"{{ "mcpServers": {{ "shop": {{ "command": "{}" }} }}, "listen": {{ {listen} }} }}"#, shop())
}

/// Waits until pages of the origin are refused, or not.
fn until(gateway: &Gateway, is_refused: bool) {
    for _ in 0..300 {
        let answer = gateway.post("Origin: https://app.example.com\r\n", PING);
        if answer.starts_with("HTTP/1.1 403") == is_refused {
            return assert_eq!(answer.contains("access-control-allow-origin"), !is_refused, "{answer}");
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("the configuration takes no effect");
}

#[test]
fn allowed_origins_follow_the_configuration() {
    let folder = Folder::new("gateway-allowed");
    let allowed = config(r#""allowOrigins": ["https://app.example.com"]"#);
    let path = write(&folder, "gateway.json", &allowed);
    let gateway = Gateway::start(&path, &[], &[]);
    until(&gateway, false);
    fs::write(&path, config("")).unwrap();
    until(&gateway, true);
    fs::write(&path, allowed).unwrap();
    until(&gateway, false);
}
