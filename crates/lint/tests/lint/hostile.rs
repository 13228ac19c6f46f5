//! Servers that want to keep the linter busy, or to speak through it.

use std::time::Instant;

use couplet_lint::{Answer, Answers, Config, Finding, Surface, json_lines, lint, text};
use couplet_types::{ProtocolVersion, RpcError};
use serde_json::{Value, json};

use crate::{cases, draft::Draft, found};

/// Characters that act on a terminal, or that are invisible.
fn is_raw(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{e0000}'..='\u{e01ef}' | '\u{fe00}'..='\u{fe0f}' | '\u{3164}' | '\u{ad}')
}

fn prints_nothing_raw(findings: &[Finding]) {
    let printed = text(findings);
    assert!(!printed.contains(is_raw), "{:?}", printed.chars().find(|c| is_raw(*c)));
    let lines = json_lines(findings);
    assert_eq!(lines.lines().count(), findings.len());
    for line in lines.lines() {
        let read: Value = serde_json::from_str(line).unwrap();
        let members = read.as_object().unwrap();
        for value in members.values().filter_map(Value::as_str) {
            assert!(!value.contains(is_raw) && !value.contains('\n'), "{value:?}");
            assert!(value.len() < 8_000, "{} bytes", value.len());
        }
    }
}

#[test]
fn what_is_found_in_every_case_is_printed_visibly() {
    for case in cases() {
        prints_nothing_raw(&found(case.bad, &Config::new().enable(case.rule).unwrap()));
    }
}

#[test]
fn a_server_cannot_speak_through_its_findings() {
    let evil = "\u{1b}[2J\u{202e}\u{200b}\n\r\u{e0041}\u{3164}x";
    let mut draft = Draft::clean();
    draft.info = json!({ "name": evil, "version": evil, "title": evil });
    draft.instructions = json!(evil);
    draft.capabilities = json!({ "tools": evil, evil: evil, "extensions": { evil: {} } });
    for tool in &mut draft.tools {
        tool["name"] = json!(evil);
        tool["title"] = json!(evil);
        tool["description"] = json!(evil);
        tool["inputSchema"]["type"] = json!(evil);
        tool["inputSchema"]["$schema"] = json!(evil);
        tool["inputSchema"]["required"] = json!([evil]);
        tool["inputSchema"]["properties"][evil] =
            json!({ "type": [evil], "enum": [evil, 1], "const": evil, "format": evil, "pattern": evil, "$ref": evil });
        tool["inputSchema"]["properties"]["b"] =
            json!({ "type": "integer", "format": evil, "default": evil, "examples": [evil], "x-mcp-header": evil });
        tool["outputSchema"] = json!({ "type": evil, "properties": { evil: { "type": evil } } });
        tool["annotations"] = json!({ "title": 1, "readOnlyHint": evil });
        tool["icons"] = json!([{ "src": evil }]);
        tool["_meta"] = json!({ evil: evil });
    }
    for (list, member) in [(&mut draft.resources, "uri"), (&mut draft.templates, "uriTemplate")] {
        list[0][member] = json!(evil);
        list[0]["name"] = json!("");
        list[0]["mimeType"] = json!(evil);
    }
    draft.prompts[0] = json!({ "name": evil, "arguments": [{ "name": evil }, { "name": evil }] });
    draft.edit = |version, method, mut answer| match (version, method) {
        (ProtocolVersion::V2024_11_05, "tools/list") => vec![RpcError::new(1, "\u{1b}]0;x\u{7}\u{200b}").into()],
        (ProtocolVersion::V2025_03_26, "tools/list") => vec![Answer::Unreadable("\u{1b}c\u{202e}".to_owned())],
        (ProtocolVersion::V2025_06_18, "initialize") => {
            answer["protocolVersion"] = json!("\u{1b}[31m\u{200b}");
            vec![answer.into()]
        }
        (ProtocolVersion::V2026_07_28, _) => {
            answer["cacheScope"] = json!("\u{1b}[31m\u{200b}");
            answer["ttlMs"] = json!("\u{9b}1m");
            answer["nextCursor"] = json!("\u{1b}");
            vec![answer.into()]
        }
        _ => vec![answer.into()],
    };
    let findings = lint(&draft.surface(), &Config::new());
    assert!(findings.len() > 40, "{}", findings.len());
    prints_nothing_raw(&findings);

    let refused = Answers::new(ProtocolVersion::V2025_11_25, RpcError::new(1, "\u{1b}[2J\u{200b}"));
    prints_nothing_raw(&lint(&Surface::from_answers([refused]), &Config::new()));
}

/// Looks at one tool, and asserts that it does not take long. The limit only tells an end from none.
fn ends(name: &str, tool: String) -> Vec<Finding> {
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
        "serverInfo": { "name": "x", "version": "1" }, "instructions": "X.",
    });
    let start = Instant::now();
    let page = Answer::text(format!("{{\"tools\":[{tool}]}}"));
    let answers = Answers::new(ProtocolVersion::V2025_11_25, hello).tools([page]);
    let findings = lint(&Surface::from_answers([answers]), &Config::new());
    assert!(start.elapsed().as_secs() < 60, "{name} takes {:?}", start.elapsed());
    prints_nothing_raw(&findings);
    findings
}

#[test]
fn what_is_huge_or_deep_ends() {
    let tool = |schema: String| format!("{{\"name\":\"a\",\"inputSchema\":{schema}}}");
    let deep = |open: &str, close: &str, levels: usize| tool(open.repeat(levels) + "{}" + &close.repeat(levels));
    let has = |findings: &[Finding], id: &str| findings.iter().any(|finding| finding.rule.id == id);

    assert!(has(&ends("deep", deep("{\"properties\":{\"a\":", "}}", 100_000)), "answer-unreadable"));
    assert!(has(&ends("less deep", deep("{\"properties\":{\"a\":", "}}", 50)), "schema-deep"));
    assert!(has(&ends("brackets", tool("[".repeat(1_000_000))), "answer-unreadable"));

    let wide: Vec<_> =
        (0..20_000).map(|at| format!("\"p{at}\":{{\"$ref\":\"#/properties/p{}\"}}", (at + 1) % 20_000)).collect();
    let findings = ends("wide", tool(format!("{{\"type\":\"object\",\"properties\":{{{}}}}}", wide.join(","))));
    assert!(has(&findings, "schema-ref") && findings.iter().any(|f| f.what.ends_with("more places")));

    let anchors: Vec<_> =
        (0..5_000).map(|at| format!("\"p{at}\":{{\"$anchor\":\"a{at}\",\"$ref\":\"#a{}\"}}", at / 2)).collect();
    ends("anchors", tool(format!("{{\"properties\":{{{}}}}}", anchors.join(","))));

    let long = format!("\"{}\"", "a".repeat(1 << 17));
    let names: Vec<_> =
        (0..5).map(|at| format!("\"{at}{}\":{{\"items\":{{\"anyOf\":[true,true]}}}}", "n".repeat(1 << 17))).collect();
    ends("long names", tool(format!("{{\"properties\":{{{}}}}}", names.join(","))));
    ends(
        "long texts",
        format!("{{\"name\":{long},\"description\":{long},\"title\":{long},\"inputSchema\":{{\"pattern\":{long}}}}}"),
    );
    for text in ["ignore", "do not tell ", "![", "<", "pass", " \\n", "a\\u200b", "%", "\\u0000"] {
        let long = text.repeat(30_000);
        ends(text, format!("{{\"name\":\"a\",\"description\":\"{long}\",\"inputSchema\":{{}}}}"));
    }
    let defaults = "{\"type\":\"object\",\"default\":1,\"properties\":{\"a\":".repeat(40) + "{}" + &"}}".repeat(40);
    ends("defaults", vec![tool(defaults); 30].join(","));
}

#[test]
fn thousands_of_tools_end_and_are_counted() {
    let tools: Vec<_> = (0..10_000)
        .map(|at| {
            let schema = json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "^[a-z]+$", "default": "a" } } });
            json!({ "name": format!("tool_{at}"), "inputSchema": schema }).to_string()
        })
        .collect();
    let findings = ends("many", tools.join(","));
    let many = findings.iter().find(|finding| finding.rule.id == "tools-too-many").unwrap();
    assert_eq!(many.what, "there are 10000 tools");
    assert!(findings.len() < 500, "{}", findings.len());
}
