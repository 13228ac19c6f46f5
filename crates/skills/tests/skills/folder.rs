//! Skills in a folder of the file system.

use std::{fs, path::PathBuf};

use couplet_server::Server;
use couplet_skills::Skills;
use couplet_testing::{Wire, types::ProtocolVersion};
use serde_json::json;

/// A folder that is gone after the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("couplet-skills-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    async fn refused(&self) -> String {
        Skills::from_directory(&self.0).await.unwrap_err().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: about {name}\n---\nDo it.\n")
}

#[tokio::test]
async fn folders_with_a_skill_are_skills() {
    let folder = Folder::new("found");
    folder.write("pdf/SKILL.md", skill("pdf"));
    folder.write("pdf/references/a b.md", "x");
    folder.write("pdf/nested/SKILL.md", "not a skill of its own");
    folder.write("pdf/.git/config", "hidden");
    folder.write("acme/words/plain/SKILL.md", skill("plain"));
    folder.write("README.md", "of no skill");
    let skills = Skills::from_directory(&folder.0).await.unwrap();
    let mut wire = Wire::new(Server::new("s", "1").extension(skills).build(), ProtocolVersion::V2026_07_28);
    let list = wire.request("skills/list", json!({})).await["result"]["skills"].take();
    let uris = |n: usize| -> Vec<String> {
        let files = list[n]["resources"].as_array().unwrap();
        files.iter().map(|f| f["uri"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(uris(0), ["skill://acme/words/plain/SKILL.md"]);
    assert_eq!(uris(1), ["skill://pdf/SKILL.md", "skill://pdf/nested/SKILL.md", "skill://pdf/references/a%20b.md"]);
    let read = wire.request("resources/read", json!({ "uri": "skill://pdf/references/a%20b.md" })).await;
    assert_eq!(read["result"]["contents"][0]["text"], "x");
}

#[tokio::test]
async fn what_is_not_a_skill_is_an_error_with_a_place() {
    for (name, path, content, why) in [
        ("name", "pdf/SKILL.md", skill("other"), "must have the same name"),
        ("fields", "pdf/SKILL.md", "no fields".to_owned(), "expected YAML frontmatter"),
        ("large", "pdf/big", "x".repeat((16 << 20) + 1), "bytes"),
    ] {
        let folder = Folder::new(name);
        folder.write("pdf/SKILL.md", skill("pdf"));
        folder.write(path, content);
        let error = folder.refused().await;
        assert!(error.contains(why) && error.contains("pdf"), "{error}");
    }
    let many = Folder::new("many");
    many.write("pdf/SKILL.md", skill("pdf"));
    (0..512).for_each(|n| many.write(&format!("pdf/{n}"), ""));
    assert!(many.refused().await.contains("512 files"));
    assert!(Skills::from_directory("/nonexistent/skills").await.is_err());
}

#[cfg(unix)]
#[tokio::test]
async fn links_stay_inside() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("links");
    folder.write("pdf/SKILL.md", skill("pdf"));
    folder.write("pdf/a.md", "inside");
    folder.write("secret.txt", "outside");
    symlink(folder.0.join("pdf/a.md"), folder.0.join("pdf/b.md")).unwrap();
    // A folder that is a link is no skill: it could lead anywhere.
    symlink(folder.0.join("pdf"), folder.0.join("again")).unwrap();
    let skills = Skills::from_directory(&folder.0).await.unwrap();
    let mut wire = Wire::new(Server::new("s", "1").extension(skills).build(), ProtocolVersion::V2026_07_28);
    let list = wire.request("skills/list", json!({})).await["result"]["skills"].take();
    assert_eq!(list.as_array().unwrap().len(), 1);
    let read = wire.request("resources/read", json!({ "uri": "skill://pdf/b.md" })).await;
    assert_eq!(read["result"]["contents"][0]["text"], "inside");

    symlink(folder.0.join("secret.txt"), folder.0.join("pdf/c.md")).unwrap();
    let error = folder.refused().await;
    assert!(error.contains("c.md") && error.contains("outside of the skill"), "{error}");
    fs::remove_file(folder.0.join("pdf/c.md")).unwrap();
    symlink("/", folder.0.join("pdf/d")).unwrap();
    assert!(folder.refused().await.contains("outside of the skill"));
}
