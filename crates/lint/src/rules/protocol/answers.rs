//! The required members of answers.

use couplet_core::Revision;
use couplet_types::{EmptyResult, code, from_json};
use serde_json::Value;

use super::Together;
use crate::{
    Surface,
    report::Report,
    rule::table,
    surface::{Page, Said},
};

table! { Protocol:
    GREETING = "hello-incomplete" Error
        about "the answer to `initialize` or `server/discover` lacks a required member"
        why "The specification requires it; clients built on the official SDKs do not connect."
        fix "Add the missing member."
    ANONYMOUS = "server-info-missing" Warning
        about "the server does not identify itself"
        why "In the stateless protocol every result should identify the server in `_meta`; hosts and logs have no other name to show."
        fix "Add the name and version of the server to the `_meta` of results."
    KIND = "result-kind-missing" Error
        about "a result does not name its kind"
        why "In the stateless protocol the specification requires it in every result."
        fix "Mark ordinary results as complete."
    NO_HINTS = "cache-hints-missing" Error
        about "a result has no caching hints"
        why "In the stateless protocol lists must have them; otherwise Claude Code ignores all tools (anthropics/claude-code#88128)."
        fix "Add `ttlMs`, which may be 0, and `cacheScope`."
    BAD_HINTS = "cache-hints-invalid" Error
        about "a result has invalid caching hints"
        why "`ttlMs` is a number of milliseconds, `cacheScope` is `public` or `private`; the Python SDK drops all tools for an empty scope (NousResearch/hermes-agent#94992)."
        fix "Correct the two members, and use the same scope on all pages."
    FAILED = "list-failed" Error
        about "a list could not be fetched"
        why "Clients that list everything when they connect give up."
        fix "Find out why; see the server's log."
    UNREADABLE = "answer-unreadable" Error
        about "an answer could not be read"
        why "Clients drop it, or close the connection."
        fix "Send JSON in the format of the specification."
}

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    let mut together = Together::default();
    for said in &surface.said {
        greeting(said, &mut together);
        let version = said.version();
        if !said.revision.has_sessions() {
            page(said.revision, "server/discover", &said.hello, &mut together);
        }
        for (kind, list) in &said.lists {
            if !said.revision.has_sessions() {
                for answer in &list.pages {
                    page(said.revision, kind.method(), answer, &mut together);
                }
                let scopes: Vec<_> = list.pages.iter().map(|page| page.value.get("cacheScope")).collect();
                if scopes.windows(2).any(|two| two[0] != two[1]) {
                    let what = format!("pages of `{}` have different scopes", kind.method());
                    together.add(&BAD_HINTS, version, "", what);
                }
            }
            for what in &list.broken {
                together.add(&UNREADABLE, version, "", format!("`{}`: {what}", kind.method()));
            }
            // A missing method is reported against the declared capabilities.
            for error in list.errors.iter().filter(|error| error.code != code::METHOD_NOT_FOUND) {
                let what = format!("`{}` fails with {}: {}", kind.method(), error.code, error.message);
                together.add(&FAILED, version, "", what);
            }
        }
    }
    together.tell(report);
}

fn greeting(said: &Said, together: &mut Together) {
    let mut missing = |pointer: &str, what: &str| together.add(&GREETING, said.version(), pointer, what.to_owned());
    if !said.hello("capabilities").is_some_and(Value::is_object) {
        missing("/capabilities", "`capabilities` is missing, or not an object");
    }
    if said.revision.has_sessions() {
        if !said.hello("protocolVersion").is_some_and(Value::is_string) {
            missing("/protocolVersion", "`protocolVersion` is missing, or not a string");
        }
        if said.info.is_none() {
            missing("/serverInfo", "`serverInfo` is missing, or has no `name` or `version`");
        }
        return;
    }
    if !said.hello("supportedVersions").is_some_and(Value::is_array) {
        missing("/supportedVersions", "`supportedVersions` is missing, or not an array");
    }
    if said.info.is_none() {
        together.add(&ANONYMOUS, said.version(), "/_meta", "`server/discover` has no name and version".to_owned());
    }
}

/// Checks the members that results need in the stateless protocol.
fn page(revision: Revision, method: &str, page: &Page, together: &mut Together) {
    let version = revision.version();
    let kind = from_json::<EmptyResult>(page.text.get()).ok().and_then(|result| result.result_type);
    if kind.is_none() {
        together.add(&KIND, version, "", format!("`{method}` does not name it"));
    }
    let (ttl, scope) = (page.value.get("ttlMs"), page.value.get("cacheScope"));
    let missing: Vec<_> = [("ttlMs", ttl), ("cacheScope", scope)].into_iter().filter(|(_, v)| v.is_none()).collect();
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|(name, _)| format!("`{name}`")).collect();
        together.add(&NO_HINTS, version, "", format!("`{method}` has no {}", names.join(" and no ")));
    }
    if let Some(ttl) = ttl.filter(|ttl| !ttl.is_u64()) {
        together.add(&BAD_HINTS, version, "/ttlMs", format!("`ttlMs` of `{method}` is `{ttl}`"));
    }
    if let Some(scope) = scope.filter(|scope| !matches!(scope.as_str(), Some("public" | "private"))) {
        together.add(&BAD_HINTS, version, "/cacheScope", format!("`cacheScope` of `{method}` is `{scope}`"));
    }
}
