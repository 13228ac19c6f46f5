//! Revisions, capabilities and the shape of answers.

use couplet_lint::Answer;
use couplet_types::{ProtocolVersion, RpcError};
use serde_json::json;

use crate::{Case, case};

const STATELESS: ProtocolVersion = ProtocolVersion::V2026_07_28;

pub(crate) const CASES: &[Case] = &[
    case(
        "no-answer",
        |d| d.edit = |_, _, _| vec![RpcError::new(-32603, "out of order").into()],
        |d| d.revisions.truncate(4),
    ),
    case(
        "revision-no-handshake",
        |d| {
            d.edit = |_, method, answer| match method {
                "initialize" => vec![RpcError::method_not_found("initialize").into()],
                _ => vec![answer.into()],
            };
        },
        // No request was made.
        |d| d.revisions = vec![STATELESS],
    ),
    case(
        "revision-no-stateless",
        |d| {
            d.edit = |_, method, answer| match method {
                "server/discover" => vec![RpcError::method_not_found(method).into()],
                _ => vec![answer.into()],
            };
        },
        |d| d.revisions.truncate(4),
    ),
    case(
        "revision-old",
        |d| {
            d.revisions.truncate(4);
            d.edit = |_, method, mut answer| {
                if method == "initialize" {
                    answer["protocolVersion"] = json!("2024-11-05");
                }
                vec![answer.into()]
            };
        },
        |d| {
            d.revisions.truncate(4);
            d.edit = |_, method, mut answer| {
                if method == "initialize" {
                    answer["protocolVersion"] = json!("2025-06-18");
                }
                vec![answer.into()]
            };
        },
    ),
    case(
        "revision-unknown",
        |d| {
            d.edit = |version, method, mut answer| {
                if method == "initialize" && version == ProtocolVersion::V2025_11_25 {
                    answer["protocolVersion"] = json!("2025-12-01");
                }
                vec![answer.into()]
            };
        },
        |d| {
            d.edit = |version, method, mut answer| {
                if method == "initialize" && version == ProtocolVersion::V2025_11_25 {
                    answer["protocolVersion"] = json!("2025-06-18");
                }
                vec![answer.into()]
            };
        },
    ),
    case(
        "revision-unlisted",
        |d| {
            d.edit = |_, method, mut answer| {
                if method == "server/discover" {
                    answer["supportedVersions"] = json!(["2025-11-25"]);
                }
                vec![answer.into()]
            };
        },
        |d| {
            d.edit = |_, method, mut answer| {
                if method == "server/discover" {
                    answer["supportedVersions"] = json!(["2026-07-28", "2099-01-01"]);
                }
                vec![answer.into()]
            };
        },
    ),
    case(
        "revision-tools-differ",
        |d| {
            d.edit = |version, method, mut answer| {
                if method == "tools/list" && version == ProtocolVersion::V2025_06_18 {
                    answer["tools"].as_array_mut().unwrap().pop();
                }
                vec![answer.into()]
            };
        },
        |d| {
            d.edit = |version, method, mut answer| {
                if method == "tools/list" && version == ProtocolVersion::V2025_06_18 {
                    answer["tools"].as_array_mut().unwrap().reverse();
                }
                vec![answer.into()]
            };
        },
    ),
    // A tool that asks the person is there for clients that let it: older revisions have no way to say so.
    case(
        "revision-tools-differ",
        |d| {
            d.edit = |version, method, mut answer| {
                if method == "tools/list" && version == STATELESS {
                    answer["tools"].as_array_mut().unwrap().pop();
                }
                vec![answer.into()]
            };
        },
        |d| {
            d.edit = |version, method, mut answer| {
                let asks = [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25, STATELESS].contains(&version);
                if method == "tools/list" && !asks {
                    answer["tools"].as_array_mut().unwrap().pop();
                }
                vec![answer.into()]
            };
        },
    ),
    // Some take another way of asking, or of answering later.
    case(
        "revision-tools-differ",
        |d| {
            d.edit = |version, method, mut answer| {
                if method == "tools/list" && version != STATELESS {
                    answer["tools"].as_array_mut().unwrap().pop();
                }
                vec![answer.into()]
            };
        },
        |d| {
            d.edit = |version, method, mut answer| {
                if method == "tools/list" && version != ProtocolVersion::V2025_11_25 {
                    answer["tools"].as_array_mut().unwrap().pop();
                }
                vec![answer.into()]
            };
        },
    ),
    case(
        "deprecated-logging",
        |d| d.capabilities["logging"] = json!({}),
        |d| {
            d.capabilities["logging"] = json!({});
            d.revisions.truncate(4);
        },
    ),
    case("deprecated-transport", |d| d.old_transport = true, |_| {}),
    case(
        "hello-incomplete",
        |d| {
            d.edit = |_, method, mut answer| {
                if method == "initialize" {
                    answer["serverInfo"] = json!({ "name": "weather" });
                }
                vec![answer.into()]
            };
        },
        |d| d.info = json!({ "name": "weather", "version": "" }),
    ),
    case(
        "server-info-missing",
        |d| {
            d.edit = |_, method, mut answer| {
                if method == "server/discover" {
                    answer.as_object_mut().unwrap().remove("_meta");
                }
                vec![answer.into()]
            };
        },
        |d| {
            d.edit = |_, method, mut answer| {
                if method == "tools/list" {
                    answer.as_object_mut().unwrap().remove("_meta");
                }
                vec![answer.into()]
            };
        },
    ),
    case(
        "result-kind-missing",
        |d| {
            d.edit = |_, _, mut answer| {
                answer.as_object_mut().unwrap().remove("resultType");
                vec![answer.into()]
            };
        },
        |d| {
            d.edit = |version, _, mut answer| {
                if version != STATELESS {
                    answer.as_object_mut().unwrap().remove("resultType");
                }
                vec![answer.into()]
            };
        },
    ),
    case(
        "cache-hints-missing",
        |d| {
            d.edit = |_, method, mut answer| {
                if method == "tools/list" {
                    answer.as_object_mut().unwrap().remove("ttlMs");
                }
                vec![answer.into()]
            };
        },
        |d| {
            d.edit = |version, _, mut answer| {
                if version == STATELESS {
                    answer["ttlMs"] = json!(0);
                }
                vec![answer.into()]
            };
        },
    ),
    case(
        "cache-hints-invalid",
        |d| {
            d.edit = |version, _, mut answer| {
                if version == STATELESS {
                    answer["cacheScope"] = json!("");
                }
                vec![answer.into()]
            };
        },
        |d| {
            d.edit = |version, _, mut answer| {
                if version == STATELESS {
                    answer["cacheScope"] = json!("public");
                }
                vec![answer.into()]
            };
        },
    ),
    case(
        "list-failed",
        |d| {
            d.edit = |_, method, answer| match method {
                "prompts/list" => vec![RpcError::internal("no disk").into()],
                _ => vec![answer.into()],
            };
        },
        |d| {
            d.capabilities.as_object_mut().unwrap().remove("prompts");
            d.edit = |_, method, answer| match method {
                "prompts/list" => vec![RpcError::method_not_found(method).into()],
                _ => vec![answer.into()],
            };
        },
    ),
    case(
        "answer-unreadable",
        |d| {
            d.edit = |_, method, answer| match method {
                "prompts/list" => vec![Answer::text("{\"prompts\":")],
                _ => vec![answer.into()],
            };
        },
        |d| {
            d.edit = |_, method, answer| match method {
                "prompts/list" => vec![Answer::text(format!(" {answer} "))],
                _ => vec![answer.into()],
            };
        },
    ),
    case(
        "capability-undeclared",
        |d| {
            d.capabilities.as_object_mut().unwrap().remove("prompts");
        },
        |d| {
            d.capabilities.as_object_mut().unwrap().remove("prompts");
            d.prompts.clear();
        },
    ),
    case(
        "capability-unanswered",
        |d| {
            d.edit = |_, method, answer| match method {
                "resources/list" => vec![RpcError::method_not_found(method).into()],
                _ => vec![answer.into()],
            };
        },
        |d| d.resources.clear(),
    ),
    case("capability-empty", |d| d.prompts.clear(), |d| d.resources.clear()),
    case("capability-shape", |d| d.capabilities["tools"] = json!(true), |d| d.capabilities["tools"] = json!({})),
    case(
        "capability-shape",
        |d| d.capabilities["tools"]["listChanged"] = json!("yes"),
        |d| d.capabilities["tools"]["listChanged"] = json!(false),
    ),
    case(
        "capability-removed",
        |d| d.capabilities["tasks"] = json!({}),
        |d| {
            d.capabilities["tasks"] = json!({});
            d.revisions = vec![ProtocolVersion::V2025_11_25];
        },
    ),
    case(
        "extension-name",
        |d| d.capabilities["extensions"] = json!({ "charts": {} }),
        |d| d.capabilities["extensions"] = json!({ "com.example/charts": {} }),
    ),
    case("member-null", |d| d.tool()["icons"] = json!(null), |d| d.tool()["icons"] = json!([])),
    case(
        "member-null",
        |d| d.tools[1]["annotations"]["title"] = json!(null),
        |d| d.tools[1]["annotations"]["title"] = json!("Delete"),
    ),
    case("member-type", |d| d.resources[0]["size"] = json!("12"), |d| d.resources[0]["size"] = json!(12)),
    case(
        "member-type",
        |d| d.prompts[0]["arguments"][0]["required"] = json!("yes"),
        |d| d.prompts[0]["arguments"][0]["required"] = json!(false),
    ),
    case(
        "member-double",
        |d| {
            d.edit = |_, method, answer| match method {
                "prompts/list" => {
                    vec![Answer::text(
                        answer.to_string().replace("\"name\":\"plan_day\"", "\"name\":\"x\",\"name\":\"plan_day\""),
                    )]
                }
                _ => vec![answer.into()],
            };
        },
        |d| d.prompts[0]["arguments"][0]["name"] = json!("plan_day"),
    ),
    case(
        "meta-key",
        |d| d.tool()["_meta"] = json!({ "com..example/a": 1 }),
        |d| {
            d.tool()["_meta"] = json!({ "com.example/a": 1, "note": 2 });
        },
    ),
];

#[test]
fn a_tool_that_differs_is_told_once() {
    let mut draft = crate::draft::Draft::clean();
    draft.edit = |version, method, mut answer| {
        let lacks = [ProtocolVersion::V2025_03_26, STATELESS].contains(&version);
        if method == "tools/list" && lacks {
            answer["tools"].as_array_mut().unwrap().pop();
        }
        vec![answer.into()]
    };
    let found = couplet_lint::lint(&draft.surface(), &couplet_lint::Config::new());
    let told: Vec<_> = found.iter().map(|f| (f.rule.id, f.what.as_str())).collect();
    let message = "it is listed in 2024-11-05, 2025-06-18, 2025-11-25, but not in 2025-03-26, 2026-07-28";
    assert_eq!(told, [("revision-tools-differ", message)]);
}
