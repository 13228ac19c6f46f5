//! Who a server is, and what it can do.

use std::fmt::Write;

use couplet::{
    client::ServerInfo,
    types::{Map, RawJson, ServerCapabilities},
};

use crate::{
    output::{Paint, text},
    target::Target,
};

/// One line: who, in which revision, where.
pub(crate) fn heading(server: &ServerInfo, target: &Target, paint: Paint) -> String {
    let name = match &server.info {
        Some(info) => format!("{} {}", paint.strong(text::line(info.display_name())), text::line(&info.version)),
        None => paint.strong("a server without a name"),
    };
    let place = match &target.host {
        Some(host) => format!("{} (configured in {host})", text::line(&target.to_string())),
        None => text::line(&target.to_string()),
    };
    format!("{name} {} {} {} {}", paint.faint("·"), server.version, paint.faint("·"), paint.faint(place))
}

/// Everything that is known, with the revisions that it says it speaks.
pub(crate) fn about(server: &ServerInfo, speaks: &[String], paint: Paint) -> String {
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
    row("speaks", &speaks.iter().map(|version| text::line(version)).collect::<Vec<_>>().join(", "));
    row("has", &capabilities(&server.capabilities));
    row("tells of", &changes(&server.capabilities));
    let names =
        |map: &Option<Map<RawJson>>| map.iter().flat_map(Map::keys).map(text::line).collect::<Vec<_>>().join(", ");
    row("extensions", &names(&server.capabilities.extensions));
    row("experimental", &names(&server.capabilities.experimental));
    if let Some(instructions) = &server.instructions {
        let _ = writeln!(page, "  {}\n{}", paint.faint("instructions"), text::indented(instructions, 4));
    }
    page
}

/// What it serves, in words.
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

/// Which changes it tells of.
fn changes(can: &ServerCapabilities) -> String {
    let resources = can.resources.clone().unwrap_or_default();
    let all = [
        ("tools", can.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true))),
        ("resources", resources.list_changed == Some(true)),
        ("prompts", can.prompts.as_ref().is_some_and(|prompts| prompts.list_changed == Some(true))),
        ("single resources", resources.subscribe == Some(true)),
    ];
    chosen(&all)
}

fn chosen(all: &[(&str, bool)]) -> String {
    all.iter().filter(|(_, has)| *has).map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
}
