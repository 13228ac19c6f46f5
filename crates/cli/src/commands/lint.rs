//! `couplet lint`: checks a server for what hosts and model APIs reject.

use std::sync::Arc;

use couplet::{
    ProtocolVersion,
    types::{Discover, Initialize, ListPrompts, ListResourceTemplates, ListResources, ListTools, Request},
};
use couplet_lint::{
    Answer, Answers, Config, Severity, Surface, UnknownRule, json_lines, lint, rules, rules_text, text,
};

use super::{list::Offer, written};
use crate::{
    arguments::nearest,
    exit::{Exit, Failure},
    output::Output,
    target::{ConnectionArgs, Opening, Recorder, Session, Target, TargetArgs},
};

/// The arguments of `couplet lint`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// URL, command (as one argument), file (server.py, mcp.json), or name of a configured server
    #[arg(required_unless_present = "rules")]
    target: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// List all rules
    #[arg(long)]
    rules: bool,
    /// Enable a rule or family of rules that is off by default
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    with: Vec<String>,
    /// Disable a rule or family of rules
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    without: Vec<String>,
    /// Minimum severity to report: note, warning or error
    #[arg(long, value_name = "LEVEL", default_value = "note", value_parser = severity)]
    least: Severity,
    /// Minimum severity to fail for: note, warning or error
    #[arg(long, value_name = "LEVEL", default_value = "error", value_parser = severity)]
    fail_on: Severity,
    /// Name of the server in hosts, which some prefix to tool names
    #[arg(long)]
    name: Option<String>,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let Some(target) = args.target else { return written::print(output, rules_text().as_bytes()) };
    let mut config = Config::new();
    for rule in &args.with {
        config = config.enable(rule).map_err(|e| unknown(rule, &e))?;
    }
    for rule in &args.without {
        config = config.disable(rule).map_err(|e| unknown(rule, &e))?;
    }
    (config.name, config.min_severity) = (args.name, args.least);
    let target = TargetArgs { target, connection: args.connection };
    let surface = surface(&target.find()?, &target.connection, output).await?;
    let findings = lint(&surface, &config);
    match output.json {
        true => output.print(&json_lines(&findings))?,
        false => written::print(output, text(&findings).as_bytes())?,
    }
    match findings.iter().any(|finding| finding.rule.severity >= args.fail_on) {
        true => Err(Failure::silent(Exit::Refused)),
        false => Ok(()),
    }
}

fn unknown(name: &str, error: &UnknownRule) -> Failure {
    let names = rules().map(|rule| rule.id).chain(rules().map(|rule| rule.family.id()));
    Failure::usage(error.to_string()).hint(match nearest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`couplet lint --rules` lists all rules".to_owned(),
    })
}

/// Requests the lists in every revision, or in the selected one, each on a connection of its own.
pub(crate) async fn surface(
    target: &Target,
    connection: &ConnectionArgs,
    output: &Arc<Output>,
) -> Result<Surface, Failure> {
    let revisions = connection.revision.map_or(ProtocolVersion::ALL.to_vec(), |one| vec![one]);
    let mut all = Vec::new();
    for revision in revisions {
        let connection = ConnectionArgs { revision: Some(revision), ..connection.clone() };
        let recorder = Recorder::default();
        let opening = Opening { recorder: Some(recorder.clone()), ..Opening::to(target.clone(), connection) };
        let outcome = Session::with(opening, output, async |session: &Session| {
            // Responses that cannot be parsed are recorded too, and reported by the rules.
            let _ = Offer::of(session, None).await;
            Ok(())
        })
        .await;
        match outcome {
            Err(failure) if !matches!(failure.exit, Exit::Protocol | Exit::Refused) => return Err(failure),
            outcome => all.push(answers(revision, &recorder, outcome)),
        }
    }
    Ok(Surface::from_answers(all))
}

fn answers(revision: ProtocolVersion, recorder: &Recorder, outcome: Result<(), Failure>) -> Answers {
    let mut hello = [Initialize::METHOD, Discover::METHOD].map(|method| recorder.take(method)).concat();
    let silence = outcome.err().map_or_else(|| "the handshake did not complete".to_owned(), |failure| failure.message);
    let answers = Answers::new(revision, hello.pop().unwrap_or(Answer::Unreadable(silence)));
    let lists = [
        (ListTools::METHOD, Answers::tools as fn(Answers, Vec<Answer>) -> Answers),
        (ListResources::METHOD, Answers::resources),
        (ListResourceTemplates::METHOD, Answers::resource_templates),
        (ListPrompts::METHOD, Answers::prompts),
    ];
    lists.into_iter().fold(answers, |answers, (method, add)| match recorder.take(method) {
        pages if pages.is_empty() => answers,
        pages => add(answers, pages),
    })
}

fn severity(name: &str) -> Result<Severity, String> {
    [Severity::Note, Severity::Warning, Severity::Error]
        .into_iter()
        .find(|severity| severity.id() == name)
        .ok_or_else(|| "expected note, warning or error".to_owned())
}
