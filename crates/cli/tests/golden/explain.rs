//! `couplet gateway explain`.

use crate::{
    gateway::{Gateway, run_in, write},
    kit::{Folder, golden, run, shop},
};

/// The name is the one that clients see in the profile, also for servers of projects.
#[test]
fn explain_says_the_name_that_clients_see() {
    let folder = Folder::new("gateway-explain");
    let text = format!(
        r#"{{ "mcpServers": {{ "shop": {{ "command": "{shop}" }} }},
             "profiles": {{ "bare": {{ "names": "bare", "tools": {{ "shop": {{ "allow": ["add", "fail"], "rename": {{ "fail": "break" }} }} }} }},
                            "named": {{ "tools": {{ "shop": {{ "rename": {{ "add": "plus" }} }} }} }} }} }}"#,
        shop = shop()
    );
    write(&folder, "gateway.json", &text);
    let project =
        r#"{ "mcpServers": { "theirs": { "command": "SHOP" } }, "policy": [{ "deny": { "tool": "theirs/fail" } }] }"#;
    let project = write(&folder, ".mcp.json", &project.replace("SHOP", &shop()));
    let mut text = vec![run_in(&folder, &["gateway", "explain", "gateway.json", "theirs/add", "--project"])];
    assert!(run(&["gateway", "trust", "--yes", &project]).contains("[exit 0]"));
    let commands: &[&[&str]] = &[
        &["shop/add", "--profile", "named"],
        &["shop/add", "--profile", "bare"],
        &["shop/fail", "--profile", "bare"],
        &["shop/add", "--profile", "bare", "--project"],
        &["theirs/fail", "--project"],
    ];
    text.extend(
        commands.iter().map(|args| run_in(&folder, &[&["gateway", "explain", "gateway.json"], *args].concat())),
    );
    golden("gateway-explain", &text.join("\n"));
    let gateway = Gateway::start(&folder.file("gateway.json"), &["--project", &project, "--profile", "bare"], &[]);
    gateway.until("list", &["tools"], |text| text.contains("  break(") && text.contains("  bake("));
    assert!(!gateway.run("list", &["tools"]).contains("  add("));
    let status = run(&["gateway", "status", &folder.file("gateway.json")]);
    let says = "hidden in profile bare: shop/add, theirs/add have the same name add; rename them in the profile";
    assert!(status.contains(says), "{status}");
}
