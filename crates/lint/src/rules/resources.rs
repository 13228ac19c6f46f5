//! Resources and their templates.

use couplet_types::UriTemplate;

use super::words::doubles;
use crate::{
    Surface,
    report::Report,
    rule::table,
    surface::{Item, Kind},
};

table! { Resources:
    URI = "resource-uri" Error
        about "the URI of a resource is invalid"
        why "The specification requires RFC 3986; clients with the Python SDK before 2.0 reject the list (modelcontextprotocol/python-sdk#1574, PrefectHQ/fastmcp#335)."
        fix "Begin with a scheme of letters, digits, `+`, `-` and `.`, and percent-encode other characters."
    NAME = "resource-name-missing" Error
        about "a resource or a template has no name"
        why "The specification requires one, and clients built on the official SDKs reject the whole list."
        fix "Give it a name."
    DUPLICATE = "resource-duplicate" Error
        about "two resources have the same URI, or two templates the same URI template"
        why "Which of the two `resources/read` returns is undefined."
        fix "Remove one, or give it another URI."
    MIME = "resource-mime-missing" Note
        about "a resource has no media type"
        why "Hosts decide by it whether and how to show it, before they read it."
        fix "Add `mimeType`."
    BAD_MIME = "resource-mime" Warning
        about "the media type of a resource is invalid"
        why "Hosts decide by it whether and how to show it."
        fix "Write a type and a subtype, such as `text/markdown`."
    UNDESCRIBED = "resource-undescribed" Note
        about "a resource or a template has no description"
        why "Models and users choose by it what to read."
        fix "Say what is in it, and for a template what its variables are."
    TEMPLATE = "template-syntax" Error
        about "a template is not a URI template"
        why "The specification requires RFC 6570; clients cannot expand it."
        fix "Correct it: `notes://{id}`."
    AMBIGUOUS = "template-ambiguous" Warning
        about "a template has adjacent variables without a separator"
        why "The values cannot be extracted from a URI, which servers and clients need to do."
        fix "Put text between the variables."
    LITERAL = "template-literal" Warning
        about "a template has no variables"
        why "It is the URI of one resource, and hosts show resources elsewhere."
        fix "List it as a resource."
}

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    for resource in surface.items(Kind::Resources) {
        let uri = resource.text("uri").unwrap_or_default();
        if let Some(what) = wrong(uri) {
            report.add(&URI, resource.at("/uri"), what);
        }
        both(resource, report);
        if resource.get("mimeType").is_none() {
            report.add(&MIME, resource.place(), "there is no `mimeType`");
        }
    }
    for template in surface.items(Kind::Templates) {
        syntax(template, report);
        both(template, report);
    }
    for (kind, member) in [(Kind::Resources, "uri"), (Kind::Templates, "uriTemplate")] {
        for (item, _) in doubles(surface.items(kind), |item| item.text(member).map(str::to_owned)) {
            report.add(&DUPLICATE, item.at(format!("/{member}")), format!("there are two with this `{member}`"));
        }
    }
}

fn both(item: &Item, report: &mut Report<'_>) {
    if item.name().is_empty() {
        report.add(&NAME, item.at("/name"), "`name` is missing, empty or not a string");
    }
    if item.text("description").is_none_or(|text| text.trim().is_empty()) {
        report.add(&UNDESCRIBED, item.place(), "there is no `description`");
    }
    if let Some(mime) = item.text("mimeType").filter(|mime| !is_media_type(mime)) {
        report.add(&BAD_MIME, item.at("/mimeType"), format!("`mimeType` is `{mime}`"));
    }
}

fn syntax(template: &Item, report: &mut Report<'_>) {
    let text = template.text("uriTemplate").unwrap_or_default();
    let place = template.at("/uriTemplate");
    match UriTemplate::parse(text) {
        Err(error) => report.add(&TEMPLATE, place, error.to_string()),
        Ok(parsed) if parsed.is_literal() => report.add(&LITERAL, place, "there is no variable"),
        Ok(_) => {
            if let Err(error) = UriTemplate::parse_for_matching(text) {
                report.add(&AMBIGUOUS, place, error.to_string());
            }
        }
    }
}

/// The reason why a string is not an absolute URI.
fn wrong(uri: &str) -> Option<String> {
    if uri.is_empty() {
        return Some("`uri` is missing, empty or not a string".to_owned());
    }
    let Some((scheme, rest)) = uri.split_once(':') else { return Some("it has no scheme".to_owned()) };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if !is_scheme {
        return Some(format!("`{scheme}` is not a scheme"));
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    if let Some(c) = rest.chars().find(|c| !allowed(*c)) {
        return Some(format!("{c:?} has to be percent-encoded"));
    }
    let is_encoded =
        |at: usize| rest.as_bytes().get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let stray = rest.match_indices('%').any(|(at, _)| !is_encoded(at));
    stray.then(|| "a `%` is not followed by two digits".to_owned())
}

fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is_token =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "!#$&^_.+-".contains(c));
    essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}
