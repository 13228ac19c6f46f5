//! Resources and their templates.

use serde_json::json;

use crate::{Case, case, draft::Draft};

fn template(draft: &mut Draft, text: &str) {
    draft.templates[0]["uriTemplate"] = json!(text);
}

pub(crate) const CASES: &[Case] = &[
    case("resource-uri", |d| d.resources[0]["uri"] = json!("stations/all"), |d| d.resources[0]["uri"] = json!("a:b")),
    case(
        "resource-uri",
        |d| d.resources[0]["uri"] = json!("my_notes://a"),
        |d| d.resources[0]["uri"] = json!("my-notes://a"),
    ),
    case(
        "resource-uri",
        |d| d.resources[0]["uri"] = json!("notes://a b"),
        |d| d.resources[0]["uri"] = json!("notes://a%20b?c=[d]#e"),
    ),
    case(
        "resource-uri",
        |d| d.resources[0]["uri"] = json!("notes://100%"),
        |d| d.resources[0]["uri"] = json!("notes:%41"),
    ),
    case(
        "resource-name-missing",
        |d| d.templates[0]["name"] = json!(""),
        |d| d.templates[0]["name"] = json!("all of them"),
    ),
    case(
        "resource-duplicate",
        |d| d.resources.push(d.resources[0].clone()),
        |d| {
            d.resources.push(d.resources[0].clone());
            d.resources[1]["uri"] = json!("weather://stations/");
        },
    ),
    case(
        "resource-mime-missing",
        |d| {
            d.resources[0].as_object_mut().unwrap().remove("mimeType");
        },
        // A template's resources may differ.
        |d| {
            d.templates[0].as_object_mut().unwrap().remove("mimeType");
        },
    ),
    case(
        "resource-mime",
        |d| d.resources[0]["mimeType"] = json!("json"),
        |d| d.resources[0]["mimeType"] = json!("application/vnd.a+json; charset=utf-8"),
    ),
    case(
        "resource-undescribed",
        |d| d.templates[0]["description"] = json!(""),
        |d| d.templates[0]["description"] = json!("One."),
    ),
    case("template-syntax", |d| template(d, "weather://{id"), |d| template(d, "weather://{+id}")),
    case("template-ambiguous", |d| template(d, "weather://{a}{b}"), |d| template(d, "weather://{a}{?b}")),
    case("template-literal", |d| template(d, "weather://all"), |d| template(d, "weather://all{?day}")),
];
