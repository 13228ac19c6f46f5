//! Skills that change while the server runs.

use std::{fs, time::Duration};

use couplet_server::{Server, ServerHandle, resource};
use couplet_skills::{Skill, SkillEntry, Skills, SkillsHandle};
use couplet_testing::{Wire, types::ProtocolVersion};
use serde_json::{Value, json};

use crate::folder::{Folder, skill};

fn server(skills: Skills) -> (ServerHandle, SkillsHandle) {
    let handle = skills.handle();
    let own = resource("skill://taken/SKILL.md", || async { "mine" });
    (Server::new("s", "1").resource(own).extension(skills).build(), handle)
}

async fn list(wire: &mut Wire) -> Vec<SkillEntry> {
    serde_json::from_value(wire.request("skills/list", json!({})).await["result"]["skills"].take()).unwrap()
}

async fn text(wire: &mut Wire, uri: &str) -> Value {
    let read = wire.request("resources/read", json!({ "uri": uri })).await;
    read.pointer("/result/contents/0/text").cloned().unwrap_or_default()
}

fn version(n: u32) -> Skill {
    Skill::new("pdf", format!("Version {n}"), "Read it.").file("a.md", format!("a{n}")).file(format!("only{n}.md"), "x")
}

#[tokio::test]
async fn skills_are_added_replaced_and_removed() {
    for &revision in ProtocolVersion::ALL {
        let (server, handle) = server(Skills::new());
        let mut wire = Wire::new(server.clone(), revision);
        let greeting = wire.open().await;
        assert_eq!(greeting["result"]["capabilities"]["resources"]["listChanged"], true, "{revision}");
        assert!(list(&mut wire).await.is_empty());

        assert!(!handle.replace(&server, version(1)).unwrap());
        assert_eq!(text(&mut wire, "skill://pdf/a.md").await, "a1", "{revision}");
        let first = list(&mut wire).await;
        assert!(handle.replace(&server, version(2)).unwrap());
        let second = list(&mut wire).await;
        assert_eq!((first.len(), second.len()), (1, 1), "{revision}");
        assert_ne!(first[0].file("skill://pdf/a.md"), second[0].file("skill://pdf/a.md"));
        assert_eq!(text(&mut wire, "skill://pdf/a.md").await, "a2", "{revision}");
        assert_eq!(text(&mut wire, "skill://pdf/only1.md").await, Value::Null, "{revision}");
        assert_eq!(text(&mut wire, "skill://pdf/only2.md").await, "x", "{revision}");
        let listed = wire.request("resources/list", json!({})).await["result"]["resources"].take();
        assert_eq!(listed[1]["description"], "Version 2", "{revision}");

        assert!(handle.remove(&server, "skill://pdf/SKILL.md"));
        assert!(!handle.remove(&server, "skill://pdf/SKILL.md"));
        assert!(list(&mut wire).await.is_empty());
        assert_eq!(text(&mut wire, "skill://pdf/SKILL.md").await, Value::Null, "{revision}");
        let folder = wire.request("resources/directory/read", json!({ "uri": "skill://pdf" })).await;
        assert_eq!(folder["error"]["code"], -32602, "{revision}");
    }
}

#[tokio::test]
async fn what_is_refused_changes_nothing() {
    let (server, handle) = server(Skills::new().skill(version(1)));
    let before = server.resources();
    for (skill, why) in [
        (Skill::new("PDF", "d", "t"), "name"),
        (Skill::new("x", "d", "t").under("pdf"), "nested"),
        (Skill::new("taken", "d", "t").file("a.md", "a"), "skill://taken/SKILL.md"),
    ] {
        let error = handle.replace(&server, skill).unwrap_err().to_string();
        assert!(error.contains(why), "{why}: {error}");
        assert_eq!(server.resources(), before, "{why}");
    }
    let mut wire = Wire::new(server, ProtocolVersion::V2026_07_28);
    assert_eq!(list(&mut wire).await.len(), 1);
    assert_eq!(text(&mut wire, "skill://taken/SKILL.md").await, "mine");
}

#[tokio::test]
async fn dynamic_skills_have_no_list_of_files() {
    let prices = Skill::new("prices", "Prices", "Read `today.md`.").dynamic();
    let today = resource("skill://prices/today.md", || async { "3" }).unlisted();
    let server = Server::new("s", "1").extension(Skills::new().skill(prices)).resource(today).build();
    let mut wire = Wire::new(server, ProtocolVersion::V2026_07_28);
    let list = wire.request("skills/list", json!({})).await["result"]["skills"].take();
    assert_eq!(list[0]["resources"], "dynamic");
    assert_eq!(text(&mut wire, "skill://prices/today.md").await, "3");
    assert!(text(&mut wire, "skill://prices/SKILL.md").await.as_str().unwrap().contains("Read `today.md`."));
}

/// Waits until the skills are as expected; much longer than it takes.
async fn until(wire: &mut Wire, expected: &[&str]) {
    for _ in 0..3000 {
        let list = list(wire).await;
        let descriptions: Vec<&str> = list.iter().map(|entry| entry.frontmatter.description()).collect();
        if descriptions == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the skills are not {expected:?}");
}

#[tokio::test]
async fn a_directory_is_watched() {
    let folder = Folder::new("watched");
    folder.write("pdf/SKILL.md", skill("pdf"));
    let skills = Skills::from_directory(&folder.0).await.unwrap().skill(Skill::new("own", "own", "t"));
    let (server, handle) = server(skills);
    let watch = tokio::spawn(handle.watch(server.downgrade(), folder.0.clone(), Duration::from_millis(5)));
    let mut wire = Wire::new(server.clone(), ProtocolVersion::V2026_07_28);
    until(&mut wire, &["about pdf", "own"]).await;
    folder.write("plain/SKILL.md", skill("plain"));
    until(&mut wire, &["about pdf", "own", "about plain"]).await;
    folder.write("plain/SKILL.md", skill("plain").replace("about", "more about"));
    until(&mut wire, &["about pdf", "own", "more about plain"]).await;
    // As long as one is invalid, all stay as they are.
    folder.write("pdf/SKILL.md", "no frontmatter");
    fs::remove_dir_all(folder.0.join("plain")).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    until(&mut wire, &["about pdf", "own", "more about plain"]).await;
    folder.write("pdf/SKILL.md", skill("pdf").replace("about", "again about"));
    until(&mut wire, &["own", "again about pdf"]).await;
    drop((server, wire));
    tokio::time::timeout(Duration::from_secs(30), watch).await.expect("it ends with the server").unwrap();
}
