//! Descriptions of tools: what the document says, and how to page.

use serde_json::Value;

use super::parameter::{Parameter, Place};
use crate::text;

const LONGEST: usize = 1_000;
const LONGEST_TITLE: usize = 80;

/// Names of query parameters that select a page, in lower case without separators.
const PAGES: [&str; 28] = [
    "page",
    "pagenumber",
    "pagenum",
    "pageindex",
    "cursor",
    "pagecursor",
    "nextcursor",
    "startcursor",
    "after",
    "before",
    "startingafter",
    "endingbefore",
    "pagetoken",
    "nextpagetoken",
    "nexttoken",
    "continuationtoken",
    "continue",
    "marker",
    "offset",
    "skip",
    "start",
    "startat",
    "startindex",
    "$skip",
    "$skiptoken",
    "since",
    "sinceid",
    "usemarker",
];

/// Names of query parameters that set the size of a page.
const SIZES: [&str; 12] = [
    "limit",
    "perpage",
    "pagesize",
    "maxresults",
    "maxitems",
    "size",
    "count",
    "top",
    "$top",
    "first",
    "results",
    "maxentries",
];

pub(super) fn title(operation: &Value) -> Option<String> {
    let summary = text::clean(operation["summary"].as_str().unwrap_or_default(), LONGEST_TITLE);
    (!summary.is_empty()).then(|| summary.replace('\n', " "))
}

pub(super) fn description(operation: &Value, item: &Value, request: &str, parameters: &[Parameter]) -> String {
    let said = |value: &Value| text::clean(value.as_str().unwrap_or_default(), LONGEST);
    let (summary, long) = (said(&operation["summary"]), said(&operation["description"]));
    let mut lines: Vec<String> = Vec::new();
    match (summary.as_str(), long.as_str()) {
        ("", "") => match said(&item["summary"]) {
            text if text.is_empty() => lines.push(format!("Sends {request}.")),
            text => lines.push(text),
        },
        (summary, long) if long.starts_with(summary) => lines.push(long.to_owned()),
        (summary, "") => lines.push(summary.to_owned()),
        (summary, long) => lines.extend([summary.to_owned(), long.to_owned()]),
    }
    // On the line that lists show.
    let deprecated = if operation["deprecated"] == true { "Deprecated. " } else { "" };
    let text = text::truncated(&format!("{deprecated}{}", lines.join("\n\n")), LONGEST);
    match pages(parameters) {
        Some(hint) => format!("{text}\n\n{hint}"),
        None => text,
    }
}

/// Explains how to get further pages, if there are any.
fn pages(parameters: &[Parameter]) -> Option<String> {
    let named = |list: &[&str]| {
        let plain = |name: &str| name.to_ascii_lowercase().replace(['_', '-', '.', '[', ']'], "");
        let found = parameters.iter().filter(|p| p.place == Place::Query && list.contains(&plain(&p.name).as_str()));
        let names: Vec<String> = found.map(|p| format!("`{}`", p.argument)).collect();
        (!names.is_empty()).then(|| names.join(" or "))
    };
    let page = named(&PAGES)?;
    Some(match named(&SIZES) {
        Some(size) => format!("Returns one page: {size} sets its size, {page} selects the next one."),
        None => format!("Returns one page: {page} selects the next one."),
    })
}
