//! Prompts and their arguments.

use serde_json::json;

use crate::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("prompt-name-missing", |d| d.prompts[0]["name"] = json!(null), |d| d.prompts[0]["name"] = json!("p")),
    case(
        "prompt-name-blank",
        |d| d.prompts[0]["name"] = json!("plan day"),
        |d| d.prompts[0]["name"] = json!("plan-day"),
    ),
    case(
        "prompt-duplicate",
        |d| d.prompts.push(d.prompts[0].clone()),
        |d| {
            d.prompts.push(d.prompts[0].clone());
            d.prompts[1]["name"] = json!("plan_week");
        },
    ),
    case(
        "prompt-undescribed",
        |d| d.prompts[0]["description"] = json!(""),
        |d| d.prompts[0]["description"] = json!("Plans."),
    ),
    case(
        "prompt-argument-undescribed",
        |d| d.prompts[0]["arguments"][0] = json!({ "name": "city" }),
        |d| d.prompts[0]["arguments"] = json!([]),
    ),
    case(
        "prompt-argument-name",
        |d| {
            let argument = d.prompts[0]["arguments"][0].clone();
            d.prompts[0]["arguments"] = json!([argument, argument]);
        },
        |d| d.prompts[0]["arguments"][0]["name"] = json!("place"),
    ),
];
