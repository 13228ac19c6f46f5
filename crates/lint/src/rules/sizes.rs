//! Numbers and sizes of tools, pages and icons.

use couplet_types::Icon;
use serde_json::Value;

use crate::{
    Place, Subject, Surface,
    report::Report,
    rule::table,
    surface::{Kind, Listing},
};

table! { Sizes:
    MANY = "tools-many" Warning
        about "the server has more tools than some hosts pass to the model"
        why "Cursor used the first 40 of all servers together (bun913/mcp-testrail#6), Windsurf 50 (Zhwt/go-mcp-mysql#3), and models choose worse among many."
        fix "Combine tools, or let users select groups of tools when the server starts."
    TOO_MANY = "tools-too-many" Warning
        about "the server has more tools than some hosts accept"
        why "VS Code refuses to send more than 128, of all servers together (microsoft/vscode-copilot-release#11653); hosts that load tools on demand accept more."
        fix "Combine tools, let users select groups of tools when the server starts, or offer a search for tools."
    LIST = "list-large" Warning
        about "the tools take much of the model's context"
        why "They are sent with every request; above a tenth of the context Claude Code loads them only on demand (anthropics/claude-code#39106)."
        fix "Shorten descriptions and schemas, or combine tools."
    TOOL = "tool-large" Note
        about "one tool takes much of the model's context"
        why "It is sent with every request, whether it is used or not."
        fix "Shorten its description and its schema."
    PAGES = "list-pages" Warning
        about "the list of tools has several pages"
        why "Copilot CLI (github/copilot-cli#4006), Kiro (kirodotdev/Kiro#9935) and Droid (Factory-AI/factory#7) read the first page only, as does Vercel's AI SDK (vercel/ai#19240)."
        fix "Send all tools in one page."
    STUCK = "list-stuck" Error
        about "the pagination of a list does not end"
        why "Clients fetch pages forever, and list every tool many times (DeusData/codebase-memory-mcp#1247)."
        fix "Omit `nextCursor` on the last page."
    ICON_LARGE = "icon-large" Warning
        about "an icon embedded in a list is large"
        why "It is sent again with every list; clients limit its size."
        fix "Make it smaller, or use an `https:` URL at the server's own origin."
    ICON_UNSAFE = "icon-unsafe" Error
        about "an icon has a URI that clients must not fetch"
        why "The specification tells clients to accept only `https:` URLs and `data:` images."
        fix "Use an `https:` URL or a `data:image/…` URI."
}

const MOST_FOR_SOME: usize = 40;
const MOST: usize = 128;
/// A tenth of a context of 200,000 tokens.
const LIST_TOKENS: usize = 20_000;
const TOOL_TOKENS: usize = 2_500;
const ICON_BYTES: usize = 16 << 10;

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    let Some(said) = surface.newest() else { return };
    let server = || Place::new(Subject::Server);
    if let Some(tools) = said.lists.get(&Kind::Tools) {
        number(tools, report);
        if tools.pages.len() > 1 {
            report.add(&PAGES, server(), format!("there are {} pages of tools", tools.pages.len()));
        }
    }
    for kind in Kind::ALL {
        if said.lists.get(&kind).is_some_and(is_stuck) {
            report.add(&STUCK, server(), format!("`{}` gives the same `nextCursor` twice", kind.method()));
        }
    }
    let info = serde_json::to_value(&said.info).unwrap_or_default();
    icons(&info, &server(), report);
    for item in Kind::ALL.into_iter().flat_map(|kind| surface.items(kind)) {
        icons(&item.value, &item.place(), report);
    }
}

fn number(tools: &Listing, report: &mut Report<'_>) {
    let server = || Place::new(Subject::Server);
    match tools.count {
        0..=MOST_FOR_SOME => {}
        count if count > MOST => report.add(&TOO_MANY, server(), format!("there are {count} tools")),
        count => report.add(&MANY, server(), format!("there are {count} tools")),
    }
    if tokens(tools.bytes) > LIST_TOKENS {
        let largest = tools.items.iter().max_by_key(|tool| tool.bytes);
        let largest = largest.map_or(String::new(), |tool| {
            format!("; the largest is `{}`, with about {}", tool.name(), tokens(tool.bytes))
        });
        report.add(&LIST, server(), format!("they have about {} tokens{largest}", tokens(tools.bytes)));
    }
    for tool in tools.items.iter().filter(|tool| tokens(tool.bytes) > TOOL_TOKENS) {
        report.add(&TOOL, tool.place(), format!("it has about {} tokens", tokens(tool.bytes)));
    }
}

/// Estimates the tokens of a text: four bytes each.
fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

fn is_stuck(list: &Listing) -> bool {
    let cursors: Vec<_> = list.pages.iter().filter_map(|page| page.value.get("nextCursor")).collect();
    cursors.windows(2).any(|two| two[0] == two[1])
}

fn icons(value: &Value, place: &Place, report: &mut Report<'_>) {
    let sources = value.get("icons").and_then(Value::as_array).into_iter().flatten().enumerate();
    for (at, src) in sources.filter_map(|(at, icon)| Some((at, icon.get("src")?.as_str()?))) {
        let place = || place.clone().at(format!("/icons/{at}/src"));
        if !Icon::new(src).is_safe() {
            let start: String = src.chars().take(60).collect();
            report.add(&ICON_UNSAFE, place(), format!("it is at `{start}`"));
        } else if src.len() > ICON_BYTES && src.starts_with("data:") {
            report.add(&ICON_LARGE, place(), format!("it has {} bytes", src.len()));
        }
    }
}
