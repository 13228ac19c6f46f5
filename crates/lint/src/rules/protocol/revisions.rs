//! Supported revisions and deprecated features.

use std::collections::BTreeSet;

use couplet_core::{Project, Revision};
use couplet_types::ClientCapabilities;
use serde_json::{Value, json};

use super::names;
use crate::{
    Place, Subject, Surface,
    report::Report,
    rule::table,
    surface::{Answer, Kind, Said},
};

table! { Protocol:
    SILENT = "no-answer" Error
        about "the server supports none of the requested revisions"
        why "No client can use it."
        fix "Answer `initialize` and `server/discover`."
    NO_HANDSHAKE = "revision-no-handshake" Error
        about "the server supports no revision with sessions (`initialize`)"
        why "claude.ai, Claude Desktop and ChatGPT start with `initialize` (laravel/mcp#341), and so does Claude Code over stdio (lossless-claude/lcm#428)."
        fix "Support `initialize` too."
    NO_STATELESS = "revision-no-stateless" Note
        about "the server does not support the stateless protocol (`server/discover`)"
        why "Clients that only know the stateless protocol cannot use it, and others need an extra round trip to find out."
        fix "Support `server/discover` and stateless requests too."
    OLD = "revision-old" Warning
        about "the server supports only the oldest revisions"
        why "Strict clients refuse to connect: Codex does over HTTP (pgEdge/pgedge-postgres-mcp#282)."
        fix "Support a revision with structured output, or newer."
    UNKNOWN = "revision-unknown" Error
        about "the server answers with a revision that does not exist"
        why "Clients have to disconnect if they do not support the revision of the answer."
        fix "Answer with the requested revision if it is supported, or else with one that is."
    UNLISTED = "revision-unlisted" Error
        about "the server answers in a revision that it does not list"
        why "Clients choose from `supportedVersions`."
        fix "List every supported revision."
    DIFFERENT = "revision-tools-differ" Warning
        about "a tool is listed in some revisions only, though the client has the same capabilities in the others"
        why "The available tools then depend on the revision of the host."
        fix "Offer the same tools in every revision to clients with the same capabilities."
    LOGGING = "deprecated-logging" Note
        about "the server declares `logging`, which is deprecated"
        why "The stateless protocol has deprecated it, and a later revision will remove it."
        fix "Write to standard error, or use OpenTelemetry, and declare it only for older revisions."
    TRANSPORT = "deprecated-transport" Warning
        about "the server was reached over HTTP+SSE, which is deprecated"
        why "Streamable HTTP replaced it, and hosts drop it."
        fix "Serve Streamable HTTP at the same address, or beside it."
}

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    let server = || Place::new(Subject::Server);
    if surface.said.is_empty() {
        return report.add(&SILENT, server(), refusal(surface));
    }
    spoken(surface, report);
    for said in &surface.said {
        let place = || Place::new(Subject::Revision(said.version()));
        if said.revision.has_sessions() {
            match said.hello("protocolVersion") {
                Some(Value::String(text)) if text == said.version().as_str() => {}
                Some(other) => {
                    report.add(&UNKNOWN, place().at("/protocolVersion"), format!("`protocolVersion` is `{other}`"));
                }
                // A missing member is reported by another rule.
                None => {}
            }
        } else {
            let listed = said.hello("supportedVersions").and_then(Value::as_array);
            let is_listed = |listed: &Vec<Value>| listed.iter().any(|v| v.as_str() == Some(said.version().as_str()));
            if listed.is_some_and(|listed| !is_listed(listed)) {
                report.add(&UNLISTED, place().at("/supportedVersions"), format!("`{}` is missing", said.version()));
            }
            if said.hello("capabilities").and_then(|all| all.get("logging")).is_some() {
                report.add(&LOGGING, place().at("/capabilities/logging"), "`logging` is declared");
            }
        }
    }
    if let Some(said) = surface.said.iter().find(|said| said.old_transport) {
        report.add(&TRANSPORT, Place::new(Subject::Revision(said.version())), "it answers over HTTP+SSE");
    }
    differences(surface, report);
}

fn refusal(surface: &Surface) -> String {
    let told = surface.refused.iter().map(|(version, answer)| match answer {
        Answer::Error(error) => format!("{version}: error {}, {}", error.code, error.message),
        Answer::Unreadable(what) => format!("{version}: {what}"),
        Answer::Result(_) => format!("{version}: the answer is not an object"),
    });
    let told: Vec<_> = told.collect();
    if told.is_empty() { "no request was made".to_owned() } else { told.join("; ") }
}

fn spoken(surface: &Surface, report: &mut Report<'_>) {
    let server = || Place::new(Subject::Server);
    let versions: Vec<_> = surface.said.iter().map(Said::version).collect();
    let what = format!("it supports {}", names(&versions));
    let asked = |sessions: bool| surface.asked.iter().any(|revision| revision.has_sessions() == sessions);
    let speaks = |sessions: bool| surface.said.iter().any(|said| said.revision.has_sessions() == sessions);
    if asked(true) && !speaks(true) {
        report.add(&NO_HANDSHAKE, server(), &what);
    }
    if asked(false) && !speaks(false) {
        report.add(&NO_STATELESS, server(), &what);
    }
    let asked_newer = surface.asked.iter().any(|revision| revision.has_structured_output());
    if asked_newer && surface.said.iter().all(|said| !said.revision.has_structured_output()) {
        report.add(&OLD, server(), &what);
    }
}

/// Tools that a client gets in one revision, and not in another one in which it has at least the same capabilities.
fn differences(surface: &Surface, report: &mut Report<'_>) {
    let tools = |said: &Said| -> Option<BTreeSet<String>> {
        let list = said.lists.get(&Kind::Tools).filter(|list| list.errors.is_empty() && list.broken.is_empty())?;
        Some(list.items.iter().map(|tool| tool.name().to_owned()).collect())
    };
    let offers: Vec<_> = surface.said.iter().filter_map(|said| Some((said.revision, tools(said)?))).collect();
    let all: BTreeSet<_> = offers.iter().flat_map(|(_, tools)| tools).collect();
    for name in all {
        let (has, lacks): (Vec<_>, Vec<_>) = offers.iter().partition(|(_, tools)| tools.contains(name));
        let is_unexplained =
            |has: Revision| lacks.iter().any(|(lacks, _)| is_within(&abilities(has), &abilities(*lacks)));
        if has.iter().any(|(revision, _)| is_unexplained(*revision)) {
            let versions = |offers: &[&(Revision, _)]| {
                names(&offers.iter().map(|(revision, _)| revision.version()).collect::<Vec<_>>())
            };
            let what = format!("it is listed in {}, but not in {}", versions(&has), versions(&lacks));
            report.add(&DIFFERENT, Place::new(Subject::Tool(name.clone())), what);
        }
    }
}

/// The capabilities that a client of a revision can declare. Servers offer tools by them: a tool that elicits input
/// only to clients that support elicitation.
fn abilities(revision: Revision) -> Value {
    let everything = json!({
        "elicitation": { "form": {}, "url": {} },
        "roots": {},
        "sampling": { "context": {}, "tools": {} },
        "tasks": { "requests": { "elicitation": { "create": {} }, "sampling": { "createMessage": {} } } },
    });
    let mut client: ClientCapabilities = serde_json::from_value(everything).unwrap_or_default();
    client.project(revision);
    serde_json::to_value(client).unwrap_or_default()
}

/// Whether all members of an object are in the other one, too.
fn is_within(less: &Value, more: &Value) -> bool {
    let members = less.as_object().into_iter().flatten();
    members.into_iter().all(|(name, value)| more.get(name).is_some_and(|other| is_within(value, other)))
}
