//! `schema`, `validate` and `rdf`.

use std::fs;

use crate::kit::{Folder, couplet, golden, run, run_with, show};

const GOOD: &str = r#"{ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "add", "arguments": { "a": 1 } } }
"#;

const PAGE: &str = r#"# A page

```json
{ "jsonrpc": "2.0", "id": null, "method": "ping" }
```

```json
{ "jsonrpc": "2.0", "id": 1, "result": {}, "error": { "code": 1, "message": "no" } }
```
"#;

#[test]
fn documents_are_validated_and_told_apart() {
    let folder = Folder::new("vocabulary");
    for (name, text) in [("good.json", GOOD), ("page.md", PAGE), ("broken.json", "{ oops"), ("odd.json", "{\"x\": 1}")]
    {
        fs::write(folder.file(name), text).unwrap();
    }
    let in_folder = |args: &[&str]| show(args, &couplet().args(args).current_dir(folder.file("")).output().unwrap());
    let text = [
        in_folder(&["validate", "good.json"]),
        in_folder(&["validate", "page.md", "--revision", "2024-11-05"]),
        in_folder(&["validate", "good.json", "page.md", "--json"]),
        in_folder(&["validate", "broken.json"]),
        in_folder(&["validate", "odd.json", "--type", "Tol"]),
        in_folder(&["validate", "odd.json", "--type", "Tool"]),
        in_folder(&["validate", "missing.json"]),
        in_folder(&["rdf", "good.json"]),
        in_folder(&["rdf", "good.json", "--format", "nt"]),
        in_folder(&["rdf", "good.json", "--format", "jsonld"]),
        in_folder(&["rdf", "broken.json"]),
        in_folder(&["schema", "--revision", "2025-06-18", "--type", "ResourceTemplate"]),
        in_folder(&["schema", "--type", "Tol"]),
        run_with(&["validate", "-"], GOOD),
    ];
    golden("vocabulary", &text.join("\n"));
}

#[test]
fn the_whole_schema_is_one() {
    let text = run(&["schema", "--revision", "2026-07-28"]);
    assert!(text.contains("\"CallToolResult\"") && text.ends_with("[exit 0]\n"), "{text}");
}

#[cfg(unix)]
#[test]
fn on_a_terminal() {
    let folder = Folder::new("vocabulary-terminal");
    let page = folder.file("page.md");
    fs::write(&page, PAGE).unwrap();
    let mut terminal = crate::terminal::Terminal::start_with(&["validate", &page, "--revision", "2024-11-05"], &[]);
    let seen = terminal.end();
    let plain = |text: &str| text.replace(&page, "page.md");
    golden("terminal-vocabulary", &format!("{}\n{}\n", plain(&seen), plain(&terminal.painted())));
}
