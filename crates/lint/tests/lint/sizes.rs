//! How much there is of everything.

use serde_json::json;

use crate::{Case, case, draft::Draft};

fn tools(draft: &mut Draft, count: usize) {
    while draft.tools.len() < count {
        draft.another(&format!("get_past_of_{}", draft.tools.len()));
    }
}

fn icon(draft: &mut Draft, src: String) {
    draft.tool()["icons"] = json!([{ "src": "https://example.com/a.png" }, { "src": src }]);
}

pub(crate) const CASES: &[Case] = &[
    case("tools-many", |d| tools(d, 41), |d| tools(d, 40)),
    case("tools-too-many", |d| tools(d, 129), |d| tools(d, 40)),
    case(
        "list-large",
        |d| {
            tools(d, 40);
            for tool in &mut d.tools {
                tool["_meta"] = json!({ "note": "a".repeat(2_000) });
            }
        },
        |d| tools(d, 40),
    ),
    case(
        "tool-large",
        |d| d.tool()["_meta"] = json!({ "note": "a".repeat(10_000) }),
        |d| d.tool()["_meta"] = json!({ "note": "a".repeat(9_000) }),
    ),
    case(
        "list-pages",
        |d| {
            d.edit = |_, method, answer| {
                let mut first = answer.clone();
                match method {
                    "tools/list" => {
                        first["tools"] = json!([first["tools"][0]]);
                        first["nextCursor"] = json!("2");
                        let mut second = answer;
                        second["tools"].as_array_mut().unwrap().remove(0);
                        vec![first.into(), second.into()]
                    }
                    _ => vec![first.into()],
                }
            };
        },
        // Pages of other lists are read.
        |d| {
            d.edit = |_, method, answer| match method {
                "resources/list" => {
                    let mut first = answer.clone();
                    first["nextCursor"] = json!("2");
                    let mut second = answer;
                    second["resources"] = json!([]);
                    vec![first.into(), second.into()]
                }
                _ => vec![answer.into()],
            };
        },
    ),
    case(
        "list-stuck",
        |d| {
            d.edit = |_, method, mut answer| match method {
                "prompts/list" => {
                    answer["nextCursor"] = json!("again");
                    let mut second = answer.clone();
                    second["prompts"] = json!([]);
                    vec![answer.into(), second.into()]
                }
                _ => vec![answer.into()],
            };
        },
        |d| {
            d.edit = |_, method, mut answer| match method {
                "prompts/list" => {
                    answer["nextCursor"] = json!("2");
                    let mut second = answer.clone();
                    second["prompts"] = json!([]);
                    second["nextCursor"] = json!("3");
                    vec![answer.into(), second.into()]
                }
                _ => vec![answer.into()],
            };
        },
    ),
    case(
        "icon-large",
        |d| icon(d, format!("data:image/png;base64,{}", "A".repeat(16 << 10))),
        |d| icon(d, format!("data:image/png;base64,{}", "A".repeat(16_000))),
    )
    .also(&["tool-large"]),
    case(
        "icon-unsafe",
        |d| icon(d, "http://example.com/a.png".to_owned()),
        |d| icon(d, "https://example.com/b.png".to_owned()),
    ),
];
