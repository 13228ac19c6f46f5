//! The name and capabilities of a server.

use std::fmt::Write;

use couplet::{
    client::ServerInfo,
    types::{Map, RawJson, ServerCapabilities},
};

use crate::{
    output::{Paint, text},
    target::Target,
};

/// Formats the server's name, its revision and the target on one line.
pub(crate) fn heading(server: &ServerInfo, target: &Target, paint: Paint) -> String {
    let name = match &server.info {
        Some(info) => format!("{} {}", paint.strong(text::line(info.display_name())), text::line(&info.version)),
        None => paint.strong("unnamed server"),
    };
    let place = match &target.host {
        Some(host) => format!("{} (configured in {host})", text::line(&target.to_string())),
        None => text::line(&target.to_string()),
    };
    format!("{name} {} {} {} {}", paint.faint("·"), server.version, paint.faint("·"), paint.faint(place))
}

/// Describes the server, with the revisions that it supports.
pub(crate) fn about(server: &ServerInfo, supported: &[String], paint: Paint) -> String {
    let mut page = String::new();
    let mut row = |label: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(page, "  {}{value}", paint.faint(text::pad(label, 14)));
        }
    };
    if let Some(info) = &server.info {
        row("name", &text::line(&info.name));
        row("description", &info.description.as_deref().map(text::line).unwrap_or_default());
        row("website", &info.website_url.as_deref().map(text::line).unwrap_or_default());
    }
    row("revision", server.version.as_str());
    row("supports", &supported.iter().map(|version| text::line(version)).collect::<Vec<_>>().join(", "));
    row("capabilities", &capabilities(&server.capabilities));
    row("notifies of", &changes(&server.capabilities));
    let names =
        |map: &Option<Map<RawJson>>| map.iter().flat_map(Map::keys).map(text::line).collect::<Vec<_>>().join(", ");
    row("extensions", &names(&server.capabilities.extensions));
    row("experimental", &names(&server.capabilities.experimental));
    if let Some(instructions) = &server.instructions {
        let _ = writeln!(page, "  {}\n{}", paint.faint("instructions"), text::indented(instructions, 4));
    }
    page
}

/// Lists the capabilities.
fn capabilities(can: &ServerCapabilities) -> String {
    let all = [
        ("tools", can.tools.is_some()),
        ("resources", can.resources.is_some()),
        ("prompts", can.prompts.is_some()),
        ("completions", can.completions.is_some()),
        ("logging", can.logging.is_some()),
        ("tasks", can.tasks.is_some()),
    ];
    chosen(&all)
}

/// Lists the changes that the server sends notifications for.
fn changes(can: &ServerCapabilities) -> String {
    let resources = can.resources.clone().unwrap_or_default();
    let all = [
        ("tools", can.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true))),
        ("resources", resources.list_changed == Some(true)),
        ("prompts", can.prompts.as_ref().is_some_and(|prompts| prompts.list_changed == Some(true))),
        ("subscribed resources", resources.subscribe == Some(true)),
    ];
    chosen(&all)
}

fn chosen(all: &[(&str, bool)]) -> String {
    all.iter().filter(|(_, has)| *has).map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
}
