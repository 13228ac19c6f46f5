//! Checks of a running server.

use std::{sync::Arc, time::Instant};

use couplet_hosts::doctor::{Finding, Severity};

use super::reasons;
use crate::{
    commands::list::Offer,
    exit::{Exit, Failure},
    output::{Output, text},
    target::{ConnectionArgs, Opening, Place, Session, Target},
};

/// Connects, requests the lists, and returns the findings.
pub(super) async fn look(target: Target, connection: ConnectionArgs) -> Vec<Finding> {
    let place = target.place.clone();
    let began = Instant::now();
    let opening = Opening::to(target, connection);
    let met = Session::with(opening, &Arc::new(Output::silent()), async |session: &Session| {
        let took = began.elapsed();
        let offer = Offer::of(session, None).await?;
        let server = session.client.server();
        let name = server.info.as_ref().map_or("an unnamed server", |info| info.display_name());
        let parts = [
            text::count(offer.tools.len(), "tool", "tools"),
            text::count(offer.resources.len() + offer.templates.len(), "resource", "resources"),
            text::count(offer.prompts.len(), "prompt", "prompts"),
        ];
        let what = format!(
            "{} responds in {}, after {} ms: {}",
            text::line(name),
            server.version,
            took.as_millis(),
            parts.join(", ")
        );
        let mut findings = vec![Finding::new(Severity::Note, "answers", what)];
        for (method, failure) in &offer.failed {
            let what = format!("`{method}` fails: {}", failure.message);
            let fix = "return an empty list, or do not declare the capability";
            findings.push(Finding::new(Severity::Warning, "list-fails", what).fix(fix));
        }
        if session.strays() > 0 {
            let lines = text::count(session.strays(), "line that is not a message", "lines that are not messages");
            let what = format!("it writes {lines} to standard output, which makes some hosts disconnect");
            let fix = "write logs to standard error";
            findings.push(Finding::new(Severity::Warning, "noise", what).fix(fix));
        }
        Ok(findings)
    })
    .await;
    met.unwrap_or_else(|failure| vec![finding(&failure, &place)])
}

/// Converts an error to a finding with a fix.
fn finding(failure: &Failure, place: &Place) -> Finding {
    let is_remote = matches!(place, Place::Url { .. });
    let (severity, code, fix) = match failure.exit {
        Exit::Unauthorized => (
            Severity::Warning,
            "login-needed",
            Some("log in from the host; for this program, run `couplet login` with the URL".to_owned()),
        ),
        Exit::Timeout => (Severity::Error, "no-answer", None),
        Exit::Unreachable if is_remote => (Severity::Error, "not-reachable", None),
        Exit::Unreachable => (Severity::Error, "does-not-start", None),
        Exit::Protocol => (Severity::Error, "not-understood", None),
        _ => (Severity::Error, "fails", None),
    };
    let words = std::iter::once(&failure.message).chain(&failure.details).cloned().collect::<Vec<_>>().join("\n");
    let fix = reasons::fix(&words).map(str::to_owned).or(fix).or_else(|| failure.hint.clone());
    let fix = fix.unwrap_or_else(|| "run the command in a terminal and check its output".to_owned());
    Finding::new(severity, code, failure.message.clone()).details(failure.details.iter().cloned()).fix(fix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{LoginWay, TlsArgs};

    #[track_caller]
    fn check(exit: Exit, message: &str, detail: &str, url: bool, expected: (&str, &str)) {
        let place = match url {
            true => Place::Url {
                url: "https://example.com/mcp".to_owned(),
                headers: Vec::new(),
                tls: TlsArgs::default(),
                login: LoginWay::Browser,
            },
            false => Place::Program { words: Vec::new(), env: Vec::new(), cwd: None },
        };
        let found = finding(&Failure::new(exit, message).detail(detail), &place);
        assert_eq!((found.code, found.fix.as_deref().unwrap_or_default()), expected);
    }

    #[test]
    fn a_failure_has_a_code_and_a_fix() {
        let by_hand = "run the command in a terminal and check its output";
        check(Exit::Unreachable, "exited with status 1", "| no", false, ("does-not-start", by_hand));
        check(Exit::Unreachable, "refused", "", true, ("not-reachable", by_hand));
        let install = "install its dependencies, in the directory or environment that it is started in";
        let python = "| ModuleNotFoundError: No module named 'mcp'";
        check(Exit::Unreachable, "exited with status 1", python, false, ("does-not-start", install));
        let login = "log in from the host; for this program, run `couplet login` with the URL";
        check(Exit::Unauthorized, "authentication required", "", true, ("login-needed", login));
    }
}
