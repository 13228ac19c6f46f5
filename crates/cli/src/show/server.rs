//! Who a server is, and what it can do.

use std::fmt::Write;

use couplet::{
    client::ServerInfo,
    types::{Map, RawJson},
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

/// Everything that is known.
pub(crate) fn about(server: &ServerInfo, paint: Paint) -> String {
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
    row("can", &capabilities(server).join(", "));
    let names =
        |map: &Option<Map<RawJson>>| map.iter().flat_map(Map::keys).map(text::line).collect::<Vec<_>>().join(", ");
    row("extensions", &names(&server.capabilities.extensions));
    row("experimental", &names(&server.capabilities.experimental));
    if let Some(instructions) = &server.instructions {
        let lines = text::visible(instructions.trim()).replace('\n', "\n    ");
        let _ = writeln!(page, "  {}\n    {lines}", paint.faint("instructions"));
    }
    page
}

/// What it serves, in words.
fn capabilities(server: &ServerInfo) -> Vec<&'static str> {
    let can = &server.capabilities;
    let changes = |told: Option<bool>| told == Some(true);
    let mut words = Vec::new();
    if let Some(tools) = &can.tools {
        words.push(if changes(tools.list_changed) { "tools (tells of changes)" } else { "tools" });
    }
    if let Some(resources) = &can.resources {
        words.push(match (changes(resources.list_changed), changes(resources.subscribe)) {
            (true, true) => "resources (tells of changes, can be subscribed to)",
            (true, false) => "resources (tells of changes)",
            (false, true) => "resources (can be subscribed to)",
            (false, false) => "resources",
        });
    }
    if let Some(prompts) = &can.prompts {
        words.push(if changes(prompts.list_changed) { "prompts (tells of changes)" } else { "prompts" });
    }
    let others = [
        ("completions", can.completions.is_some()),
        ("logging", can.logging.is_some()),
        ("tasks", can.tasks.is_some()),
    ];
    words.extend(others.iter().filter(|(_, has)| *has).map(|(word, _)| word));
    words
}
