//! What a server says.

use std::panic::{AssertUnwindSafe, catch_unwind};

use couplet_core::Revision;
use couplet_server::{Server, ServerHandle};
use couplet_skills::{Skill, SkillEntry, Skills};
use couplet_testing::{Wire, types::ProtocolVersion};
use serde_json::{Value, json};

use crate::skills;

const ID: &str = "io.modelcontextprotocol/skills";

fn server() -> ServerHandle {
    Server::new("s", "1").extension(skills()).build()
}

async fn open(version: ProtocolVersion) -> (Wire, Value) {
    let mut wire = Wire::new(server(), version);
    let greeting = wire.open().await;
    (wire, greeting)
}

#[tokio::test]
async fn skills_are_declared_listed_and_found() {
    for &version in ProtocolVersion::ALL {
        let (mut wire, greeting) = open(version).await;
        let can = &greeting["result"]["capabilities"];
        assert_eq!(can["extensions"][ID], json!({ "directoryRead": true }), "{version}");
        assert!(can["resources"].is_object(), "{version}");

        let list = wire.request("skills/list", json!({})).await["result"].take();
        let caches = !Revision::of(version).has_sessions();
        assert_eq!(list.get("ttlMs").is_some() && list.get("cacheScope").is_some(), caches, "{version}: {list}");
        let entries: Vec<SkillEntry> = serde_json::from_value(list["skills"].clone()).unwrap();
        let uris: Vec<_> = entries.iter().map(|e| e.uri.as_str()).collect();
        assert_eq!(uris, ["skill://pdf/SKILL.md", "skill://acme/words/plain/SKILL.md"], "{version}");
        assert!(entries.iter().all(|e| e.check().is_ok()), "{version}");
        assert_eq!(list["skills"][0]["frontmatter"]["metadata"], json!({ "version": 1.5, "tags": ["a", "b: c"] }));
        assert_eq!(list["skills"][0]["resources"].as_array().unwrap().len(), 4, "{version}");

        let got = wire.request("skills/get", json!({ "uri": uris[1] })).await["result"].take();
        assert_eq!(got["skill"], list["skills"][1], "{version}");
        assert_eq!((got.get("ttlMs").is_some(), got.get("nextCursor")), (caches, None), "{version}");
        let unknown = wire.request("skills/get", json!({ "uri": "skill://nobody/SKILL.md" })).await;
        assert_eq!(unknown["error"]["code"], -32602, "{version}");
        let nothing = wire.request("skills/get", json!({})).await;
        assert_eq!(nothing["error"]["code"], -32602, "{version}");
    }
}

#[tokio::test]
async fn files_are_resources() {
    for &version in ProtocolVersion::ALL {
        let (mut wire, _) = open(version).await;
        let list = wire.request("resources/list", json!({})).await["result"]["resources"].take();
        let names: Vec<_> = list.as_array().unwrap().iter().map(|r| (&r["name"], &r["description"])).collect();
        let expected =
            [(&json!("pdf"), &json!("Fills in \"forms\": all of them")), (&json!("plain"), &json!("Says hello"))];
        assert_eq!(names, expected, "{version}: only `SKILL.md` is listed");
        assert_eq!(wire.request("resources/templates/list", json!({})).await["result"]["resourceTemplates"], json!([]));

        for (uri, mime_type, text) in [
            ("skill://pdf/SKILL.md", "text/markdown", None),
            ("skill://pdf/references/FORMS.md", "text/markdown", Some("# Forms\n")),
            ("skill://pdf/references/deep/er.json", "application/json", Some("{}")),
        ] {
            let read = wire.request("resources/read", json!({ "uri": uri })).await["result"]["contents"][0].take();
            assert_eq!((&read["uri"], &read["mimeType"]), (&json!(uri), &json!(mime_type)), "{version}");
            assert!(text.is_none_or(|text| read["text"] == text), "{version}: {read}");
        }
        let logo = wire.request("resources/read", json!({ "uri": "skill://pdf/logo.png" })).await;
        assert_eq!(logo["result"]["contents"][0]["blob"], "iVBOR/8=", "{version}");
        let outside =
            wire.request("resources/read", json!({ "uri": "skill://pdf/../acme/words/plain/SKILL.md" })).await;
        assert!(outside.get("error").is_some(), "{version}");
    }
}

#[tokio::test]
async fn folders_can_be_looked_into() {
    for &version in ProtocolVersion::ALL {
        let (mut wire, _) = open(version).await;
        let uris = |answer: &Value| -> Vec<(String, String)> {
            let text = |v: &Value| v.as_str().unwrap().to_owned();
            let all = answer["result"]["resources"].as_array().unwrap();
            all.iter().map(|r| (text(&r["uri"]), text(&r["mimeType"]))).collect()
        };
        for root in ["skill://pdf", "skill://pdf/"] {
            let found = uris(&wire.request("resources/directory/read", json!({ "uri": root })).await);
            let expected = [
                ("skill://pdf/SKILL.md", "text/markdown"),
                ("skill://pdf/logo.png", "image/png"),
                ("skill://pdf/references", "inode/directory"),
            ];
            assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())), "{version}");
        }
        let found = uris(&wire.request("resources/directory/read", json!({ "uri": "skill://pdf/references" })).await);
        assert_eq!(found[1], ("skill://pdf/references/deep".to_owned(), "inode/directory".to_owned()), "{version}");
        for wrong in ["skill://pdf/SKILL.md", "skill://nobody", "skill://acme", ""] {
            let refused = wire.request("resources/directory/read", json!({ "uri": wrong })).await;
            assert_eq!(refused["error"]["code"], -32602, "{version} {wrong}");
        }
    }
}

#[tokio::test]
async fn lists_come_in_pages() {
    let many = (0..5).fold(skills().page_size(2), |all, n| all.skill(Skill::new(format!("s{n}"), "d", "b")));
    let mut wire = Wire::new(Server::new("s", "1").extension(many).build(), ProtocolVersion::V2026_07_28);
    for (method, params, member, total) in [
        ("skills/list", json!({}), "skills", 7_usize),
        ("resources/directory/read", json!({ "uri": "skill://pdf" }), "resources", 3),
    ] {
        let (mut params, mut uris, mut pages) = (params, std::collections::BTreeSet::new(), 0);
        loop {
            let page = wire.request(method, params.clone()).await["result"].take();
            let entries = page[member].as_array().unwrap();
            assert!((1..=2).contains(&entries.len()), "{method}");
            pages += 1;
            uris.extend(entries.iter().map(|e| e["uri"].as_str().unwrap().to_owned()));
            match page.get("nextCursor") {
                Some(cursor) => params["cursor"] = cursor.clone(),
                None => break,
            }
        }
        assert_eq!((uris.len(), pages), (total, total.div_ceil(2)), "{method}");
        for wrong in ["x", "skills:99", "folder:99", "0"] {
            params["cursor"] = json!(wrong);
            assert_eq!(wire.request(method, params.clone()).await["error"]["code"], -32602, "{method} {wrong}");
        }
    }
}

/// A server with the extension and without skills still says what it commits to.
#[tokio::test]
async fn no_skills_are_an_empty_list() {
    for &version in ProtocolVersion::ALL {
        let mut wire = Wire::new(Server::new("s", "1").extension(Skills::new()).build(), version);
        let greeting = wire.open().await;
        assert!(greeting["result"]["capabilities"]["resources"].is_object(), "{version}");
        assert_eq!(wire.request("skills/list", json!({})).await["result"]["skills"], json!([]), "{version}");
    }
}

#[test]
fn what_only_the_developer_can_have_done_wrong_panics() {
    let fine = || Skill::new("a", "d", "b");
    for (wrong, why) in [
        (Skill::new("A", "d", "b"), "is not a valid skill name"),
        (Skill::new("a", "", "b"), "must have a `description`"),
        (fine().file("../x", "b"), "not a path"),
        (fine().file("SKILL.md", "b"), "is generated"),
        (fine().under(".hidden"), "is not a valid directory name"),
        (fine().field("metadata", json!({ "io.modelcontextprotocol/x": 1 })), "is reserved"),
        (fine().file("big", vec![0; (16 << 20) + 1]), "bytes"),
        ((0..512).fold(fine(), |skill, n| skill.file(format!("{n}"), "")), "512 files"),
        (Skill::new("pdf", "d", "b"), "are nested"),
        (Skill::new("b", "d", "b").under("pdf"), "are nested"),
    ] {
        let panic = catch_unwind(AssertUnwindSafe(|| skills().skill(wrong))).unwrap_err();
        let said = panic.downcast_ref::<String>().unwrap();
        assert!(said.contains(why), "{said}");
    }
}
