//! What is told to the model, and to people.

use serde_json::{Value, json};

use crate::{Case, case, draft::Draft};

fn drop(value: &mut Value, member: &str) {
    value.as_object_mut().unwrap().remove(member);
}

fn describe(draft: &mut Draft, text: &str) {
    draft.tool()["description"] = json!(text);
}

pub(crate) const CASES: &[Case] = &[
    case("description-missing", |d| drop(d.tool(), "description"), |d| describe(d, "Tells the weather.")),
    case("description-empty", |d| describe(d, " \n"), |d| describe(d, "Tells the weather.")),
    case("description-short", |d| describe(d, "Get forecast."), |d| describe(d, "Get a forecast.")),
    case("description-long", |d| describe(d, &"word ".repeat(205)), |d| describe(d, &"word ".repeat(204))),
    case(
        "description-same",
        |d| {
            d.another("get_past");
            let text = d.tools[0]["description"].as_str().unwrap().to_uppercase();
            d.tools[2]["description"] = json!(text);
        },
        |d| d.another("get_past"),
    ),
    case(
        "argument-undescribed",
        |d| drop(&mut d.schema()["properties"]["city"], "description"),
        |d| d.schema()["properties"]["city"]["description"] = json!("Where."),
    ),
    case(
        "title-missing",
        |d| drop(d.tool(), "title"),
        |d| {
            drop(d.tool(), "title");
            d.tool()["annotations"]["title"] = json!("Forecast");
        },
    ),
    case("instructions-missing", |d| d.instructions = json!(""), |d| d.instructions = json!("Weather.")),
    case(
        "instructions-long",
        |d| d.instructions = json!("a".repeat(2049)),
        |d| d.instructions = json!("ä".repeat(2048)),
    ),
];
