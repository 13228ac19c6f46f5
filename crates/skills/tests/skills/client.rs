//! What a client does: it lists without reading, and reads nothing after a file that is not as listed.

use std::sync::{Arc, Mutex};

use couplet_client::Client;
use couplet_core::{Call, ErrorKind};
use couplet_server::{Extension, Next, Server, ServerHandle, resource};
use couplet_skills::{ClientSkills, Files, LoadSkills, Mismatch, MismatchKind, SkillEntry};
use couplet_testing::types::{ProtocolVersion, SKILLS_EXTENSION};
use serde_json::{Value, json};

use crate::skills;

const FORMS: &str = "skill://pdf/references/FORMS.md";

/// What a client asked for, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// A server that notes what is asked, and whose answers to `skills/list` are changed.
fn server(change: impl Fn(&mut Value) + Send + Sync + 'static) -> (ServerHandle, Log) {
    let log = Log::default();
    let (seen, change) = (log.clone(), Arc::new(change));
    let layer = move |call: Call, next: Next| {
        let (seen, change) = (seen.clone(), change.clone());
        async move {
            let uri: Option<String> = call.params.read_opt("uri").unwrap();
            seen.lock().unwrap().push(uri.unwrap_or_else(|| call.method.clone().into_owned()));
            let list = call.method == "skills/list";
            match next.run(call).await {
                couplet_core::Reply::Complete(done) if list => {
                    let mut result: Value = done.text().parse().unwrap();
                    change(&mut result["skills"]);
                    couplet_core::Reply::Complete(couplet_core::ResultBody::value(&result).cacheable())
                }
                reply => reply,
            }
        }
    };
    (Server::new("s", "1").extension(skills()).middleware(layer).build(), log)
}

async fn connect(server: ServerHandle, version: ProtocolVersion) -> Client {
    Client::new("c", "1").versions([version]).extension(ClientSkills::new()).connect(server).await.unwrap()
}

fn seen(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
}

#[tokio::test]
async fn a_skill_is_listed_loaded_and_read_when_needed() {
    for &version in ProtocolVersion::ALL {
        let (server, log) = server(|_| ());
        let client = connect(server, version).await;
        let all = client.skills().await.unwrap();
        assert_eq!(all.len(), 2, "{version}");
        assert_eq!(seen(&log), ["skills/list"], "{version}: nothing is read ahead");
        assert_eq!(client.skill(&all[0].uri).await.unwrap(), all[0], "{version}");
        seen(&log);

        let skill = client.load_skill(&all[0]).await.unwrap();
        assert_eq!(seen(&log), ["skill://pdf/SKILL.md"], "{version}");
        assert_eq!(skill.instructions(), "\nRead the form first.\n", "{version}");
        assert!(skill.text().starts_with("---\n") && skill.is_verified(), "{version}");
        for path in ["references/FORMS.md", FORMS] {
            assert_eq!(skill.file(path).await.unwrap(), b"# Forms\n", "{version}");
        }
        assert_eq!(skill.file("logo.png").await.unwrap(), [0x89, b'P', b'N', b'G', 0xff], "{version}");
        seen(&log);
        for path in ["nothing.md", "../acme/words/plain/SKILL.md", "skill://acme/words/plain/SKILL.md"] {
            assert_eq!(skill.file(path).await.unwrap_err().kind(), ErrorKind::Config, "{version}");
        }
        assert_eq!(seen(&log), [""; 0], "{version}: what is not listed is not read");
        let folder = client.skill_directory(skill.entry().directory()).all().await.unwrap();
        assert_eq!(folder.len(), 3, "{version}");
    }
}

#[tokio::test]
async fn what_differs_is_named_and_nothing_more_is_read() {
    type Change = fn(&mut Value);
    let wrong: [(Change, MismatchKind, &str); 3] = [
        (|s| s[0]["resources"][0]["size"] = json!(7), MismatchKind::Size, "size"),
        (|s| s[0]["resources"][0]["digest"] = s[0]["resources"][1]["digest"].clone(), MismatchKind::Digest, "digest"),
        (|s| s[0]["frontmatter"]["license"] = json!("GPL"), MismatchKind::Frontmatter("license".into()), "frontmatter"),
    ];
    for &version in ProtocolVersion::ALL {
        for (change, differs, word) in &wrong {
            let (server, log) = server(*change);
            let client = connect(server, version).await;
            let entry = client.skills().await.unwrap().remove(0);
            let error = client.load_skill(&entry).await.unwrap_err();
            let mismatch = Mismatch::of(&error).unwrap();
            assert_eq!((&mismatch.kind, &*mismatch.uri), (differs, "skill://pdf/SKILL.md"), "{version}");
            assert!(error.to_string().contains(word), "{version}: {error}");
            assert_eq!(seen(&log), ["skills/list", "skill://pdf/SKILL.md"], "{version} {word}");
        }
    }
}

#[tokio::test]
async fn after_a_file_that_differs_the_others_are_not_read() {
    let (server, log) = server(|s| {
        let files = s[0]["resources"].as_array_mut().unwrap();
        files.iter_mut().find(|f| f["uri"] == FORMS).unwrap()["size"] = json!(9);
    });
    let client = connect(server, ProtocolVersion::V2026_07_28).await;
    let entry = client.skills().await.unwrap().remove(0);
    let skill = client.load_skill(&entry).await.unwrap();
    assert_eq!(skill.file("logo.png").await.unwrap().len(), 5);
    for path in [FORMS, "logo.png"] {
        let error = skill.file(path).await.unwrap_err();
        assert_eq!(Mismatch::of(&error).unwrap().uri, FORMS, "{path}");
    }
    assert_eq!(seen(&log), ["skills/list", "skill://pdf/SKILL.md", "skill://pdf/logo.png", FORMS]);
}

#[tokio::test]
async fn entries_that_make_no_sense_are_left_out_or_not_loaded() {
    let (server, log) = server(|s| {
        s[0]["resources"][0]["uri"] = json!("skill://acme/words/plain/SKILL.md");
        s[1]["resources"] = json!(17);
    });
    let client = connect(server, ProtocolVersion::V2026_07_28).await;
    let all = client.skills().await.unwrap();
    assert_eq!(all.len(), 1);
    let error = client.load_skill(&all[0]).await.unwrap_err();
    assert!(error.to_string().contains("is not in the directory"), "{error}");
    assert_eq!(seen(&log), ["skills/list"], "nothing is read");
}

/// A skill whose files are not known before can be loaded, and says that nothing was compared.
#[tokio::test]
async fn dynamic_files_are_not_verified() {
    let (server, _) = server(|s| s[0]["resources"] = json!("dynamic"));
    let client = connect(server, ProtocolVersion::V2026_07_28).await;
    let entry = client.skills().await.unwrap().remove(0);
    assert_eq!(entry.files, Files::Dynamic);
    let skill = client.load_skill(&entry).await.unwrap();
    assert!(!skill.is_verified());
    assert_eq!(skill.file("references/FORMS.md").await.unwrap(), b"# Forms\n");
    assert!(skill.file("../acme/words/plain/SKILL.md").await.is_err());
}

#[tokio::test]
async fn both_sides_need_the_extension() {
    let plain = Server::new("s", "1").resource(resource("a://b", || "c")).build();
    let other = Server::new("s", "1").extension(Extension::new("com.example/other")).build();
    for server in [plain, other] {
        let error = connect(server, ProtocolVersion::V2026_07_28).await.skills().await.unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(SKILLS_EXTENSION), "{error}");
    }
    let (server, _) = server(|_| ());
    let without = Client::new("c", "1").connect(server).await.unwrap();
    let entry: Result<Vec<SkillEntry>, _> = without.skills().await;
    assert!(entry.unwrap_err().to_string().contains("client does not have"));
}
