//! How much there is of everything.

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
        about "the server has more tools than some hosts show to the model"
        why "Cursor took the first 40 of all servers together (bun913/mcp-testrail#6), Windsurf 50 (Zhwt/go-mcp-mysql#3), and models choose worse among many."
        fix "Put tools together, or let people choose groups of them when the server starts."
    TOO_MANY = "tools-too-many" Error
        about "the server has more tools than hosts take"
        why "VS Code refuses to send more than 128, of all servers together (microsoft/vscode-copilot-release#11653)."
        fix "Put tools together, or let people choose groups of them when the server starts."
    LIST = "list-large" Warning
        about "the tools take much of the model's context"
        why "They are sent with every request; above a tenth of the context Claude Code loads them only when it looks for them (anthropics/claude-code#39106)."
        fix "Shorten descriptions and schemas, or put tools together."
    TOOL = "tool-large" Note
        about "one tool takes much of the model's context"
        why "It is sent with every request, whether it is used or not."
        fix "Shorten its description and its schema."
    PAGES = "list-pages" Warning
        about "the list of tools has several pages"
        why "Copilot CLI (github/copilot-cli#4006), Kiro (kirodotdev/Kiro#9935) and Droid (Factory-AI/factory#7) read the first page only, as does Vercel's AI SDK (vercel/ai#19240)."
        fix "Send all tools in one page."
    STUCK = "list-stuck" Error
        about "the pages of a list do not come to an end"
        why "Clients read on, and take every tool many times (DeusData/codebase-memory-mcp#1247)."
        fix "Leave `nextCursor` out of the last page."
    ICON_LARGE = "icon-large" Warning
        about "an icon is large, and sent with the list"
        why "It is sent again with every list; clients limit what they take."
        fix "Make it smaller, or give an `https:` address at the server's own origin."
    ICON_UNSAFE = "icon-unsafe" Error
        about "an icon is somewhere where clients must not look"
        why "The specification tells clients to take nothing but `https:` addresses and pictures as `data:`."
        fix "Use an `https:` address or a `data:image/…` URI."
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

/// What a text costs, roughly: four bytes each.
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
