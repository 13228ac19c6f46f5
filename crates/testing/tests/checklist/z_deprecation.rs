//! Lines 457 and 458: what is on its way out still works, and says so.

use std::{fs, path::Path};

use couplet_testing::types::{CreateMessageResult, LoggingLevel, Root};
use serde_json::json;

use crate::kit::{STATELESS, client, example};

/// Roots, sampling and logging work in the revision that deprecates them; new code does not use them.
#[tokio::test]
async fn line_457_deprecated_and_working() {
    let (told, mut heard) = tokio::sync::mpsc::channel(8);
    let client = client(STATELESS)
        .roots([Root::new("file:///project")])
        .on_sample(|_| async { Ok(CreateMessageResult::new("a-model", "an answer")) })
        .log_level(LoggingLevel::Info)
        .on_log(move |log| drop(told.try_send(log.data.to_string())))
        .connect(example().build())
        .await
        .unwrap();
    assert_eq!(client.call("roots", ()).await.unwrap().text(), "1");
    assert_eq!(client.call("sample", ()).await.unwrap().text(), "a-model");
    assert_eq!(client.call("talk", ()).await.unwrap().text(), "said");
    assert_eq!(heard.recv().await.unwrap(), json!("step 1").to_string());

    // Examples that are about them say first that they are on their way out.
    let says_so = |text: &str| text.lines().take(3).any(|line| line.contains("eprecated since 2026-07-28"));
    for (path, text) in sources("../../examples").into_iter().filter(|(_, text)| !says_so(text)) {
        for word in [".sample(", ".roots(", ".on_sample(", ".log_level(", ".http_sse(", "IncludeContext"] {
            assert!(!text.contains(word), "{path}: `{word}` is not for new code");
        }
    }
}

/// Every public item of a deprecated feature names the revision, the proposal and how long it stays at least.
#[test]
fn line_458_deprecated_and_saying_so() {
    let items = [
        ("../types/src/roots.rs", vec!["pub struct Root ", "pub struct ListRootsResult "]),
        ("../types/src/sampling.rs", vec!["pub struct CreateMessageParams ", "pub struct CreateMessageResult "]),
        ("../types/src/sampling.rs", vec!["    ThisServer,", "    AllServers,"]),
        ("../types/src/log.rs", vec!["pub enum LoggingLevel ", "pub struct LogParams ", "pub struct SetLevelParams "]),
        ("../types/src/capability.rs", vec!["pub roots:", "pub sampling:", "pub logging:"]),
        (
            "../types/src/method.rs",
            vec!["SetLevel =", "CreateMessage =", "ListRoots =", "LogMessage =", "RootsListChanged ="],
        ),
        (
            "../server/src/ctx.rs",
            vec!["fn sample(", "fn roots(", "fn log<", "fn debug(", "fn info(", "fn warn(", "fn error("],
        ),
        (
            "../client/src/builder.rs",
            vec!["fn on_sample<", "fn sampling_tools(", "fn roots(", "fn log_level(", "fn on_log("],
        ),
        ("../client/src/client.rs", vec!["fn set_log_level(", "fn set_roots("]),
        ("../http/src/server/endpoint.rs", vec!["fn http_sse("]),
    ];
    for (file, names) in items {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for name in names {
            let at = lines.iter().position(|line| line.contains(name)).unwrap_or_else(|| panic!("{file}: no `{name}`"));
            let above = lines[..at].iter().rev().map(|line| line.trim());
            let docs: Vec<&str> = above.take_while(|l| l.starts_with("///") || l.starts_with("#[")).collect();
            let docs = docs.into_iter().rev().collect::<String>();
            let said = docs.contains("Deprecated since 20") && docs.contains("(SEP-2") && docs.contains("removed");
            assert!(said, "{file}: `{name}` does not say that it is deprecated");
        }
    }
}

/// The sources below a folder, with their paths.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut all = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
        } else if path.extension().is_some_and(|end| end == "rs") {
            all.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(!all.is_empty());
    all
}
