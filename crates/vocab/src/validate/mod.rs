//! Validates files: JSON, JSON lines, recorded logs, and Markdown with JSON blocks.
//!
//! ```
//! use couplet_vocab::validate::{Format, Options, validate};
//!
//! let text = r#"{ "jsonrpc": "2.0", "id": null, "method": "ping" }"#;
//! let report = validate(text.as_bytes(), Format::Json, &Options::default())?;
//! let problem = &report.problems[0];
//! assert_eq!((problem.line, problem.column, problem.finding.pointer.as_str()), (1, 27, "/id"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod memory;
mod place;
mod probe;
mod source;

use std::{
    collections::BTreeSet,
    io::{self, BufRead},
};

use couplet_types::ProtocolVersion;
use serde_json::Value;

pub use source::Format;

use crate::{
    check::{Checker, Finding, ResponseTo, Sender},
    schema,
    table::TABLE,
};
use memory::Memory;
use probe::{Probe, Probes};
use source::{Unit, Values};

/// Options of [`validate`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The revision. Default: the one with the fewest problems, and the latest of several.
    pub revision: Option<ProtocolVersion>,
    /// The definition that each value is checked against. Default: values are JSON-RPC messages.
    pub definition: Option<String>,
}

impl Options {
    /// Sets the revision.
    #[must_use]
    pub fn revision(mut self, revision: impl Into<Option<ProtocolVersion>>) -> Self {
        self.revision = revision.into();
        self
    }

    /// Sets the definition.
    #[must_use]
    pub fn definition(mut self, definition: impl Into<Option<String>>) -> Self {
        self.definition = definition.into();
        self
    }
}

/// The result of validating a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The revision that it was validated against.
    pub revision: ProtocolVersion,
    /// The number of checked values.
    pub checked: u64,
    /// The number of JSON blocks in a Markdown file that are not messages and were not checked, such as fragments with
    /// comments or ellipses.
    pub skipped: u64,
    /// Methods that no revision has, at most [`Report::MAX_METHODS`]: those of extensions, or misspelt ones.
    pub unknown: BTreeSet<String>,
    /// The first problems, at most [`Report::MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// The total number of problems.
    pub count: u64,
}

impl Report {
    /// The maximum number of stored problems.
    pub const MAX_PROBLEMS: usize = 1000;

    /// The maximum number of stored unknown methods.
    pub const MAX_METHODS: usize = 10;
}

/// A problem in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The line, counted from 1.
    pub line: u64,
    /// The column in characters, counted from 1.
    pub column: u64,
    /// The finding; its pointer is relative to the message.
    pub finding: Finding,
    /// The revisions in which there is no such problem.
    pub valid_in: Vec<ProtocolVersion>,
}

/// Validates the values of a reader.
///
/// # Errors
/// If reading fails, or the options name a definition that no revision has, or that the given one does not have.
pub fn validate(reader: impl BufRead, format: Format, options: &Options) -> io::Result<Report> {
    let mut run = Run::new(options)?;
    let values = if options.definition.is_some() { Values::Defined } else { Values::Messages };
    source::each(reader, format, values, &mut |unit| run.unit(&unit))?;
    if format == Format::Json && run.checked == 0 {
        run.everywhere(1, 1, "JSON".to_owned(), Some("nothing".to_owned()));
    }
    Ok(run.report())
}

/// One revision, with its problems so far.
struct Lane {
    checker: Checker,
    problems: Vec<Problem>,
    count: u64,
    probes: Probes,
}

struct Run<'a> {
    definition: Option<&'a str>,
    lanes: Vec<Lane>,
    memory: Memory,
    checked: u64,
    skipped: u64,
    unknown: BTreeSet<String>,
}

impl<'a> Run<'a> {
    fn new(options: &'a Options) -> io::Result<Self> {
        let definition = options.definition.as_deref();
        let has = |version: &ProtocolVersion| match definition {
            Some(name) => schema::revisions(name).any(|v| v == *version),
            None => true,
        };
        let versions = options.revision.map_or(ProtocolVersion::ALL.to_vec(), |version| vec![version]);
        let lane = |version| Lane {
            checker: Checker::new(version),
            problems: Vec::new(),
            count: 0,
            probes: Probes::default(),
        };
        let lanes: Vec<_> = versions.into_iter().filter(has).map(lane).collect();
        if lanes.is_empty() {
            let what = format!("`{}` is not defined there", definition.unwrap_or_default());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Ok(Self { definition, lanes, memory: Memory::default(), checked: 0, skipped: 0, unknown: BTreeSet::new() })
    }

    fn unit(&mut self, unit: &Unit<'_>) {
        let read = serde_json::from_str(unit.text);
        // A document contains other JSON, too: only values with `jsonrpc` have to be messages.
        let is_meant = read.as_ref().map_or(unit.text.contains("\"jsonrpc\""), is_message);
        if unit.is_quoted && self.definition.is_none() && !is_meant {
            self.skipped += 1;
            return;
        }
        self.checked += 1;
        let value: Value = match read {
            Ok(value) => value,
            Err(error) => return self.unreadable(unit, &error),
        };
        if let Some(trouble) = &unit.trouble {
            let expected = "a message, or an entry of a log".to_owned();
            return self.everywhere(unit.line, unit.column + 1, expected, Some(trouble.clone()));
        }
        let asked = self.memory.asked(unit, &value);
        let definition = self.definition;
        let check = |checker: Checker| match definition {
            Some(name) => checker.value(name, &value).unwrap_or_default(),
            None => checker.message(&value, unit.sender, asked.as_asked()),
        };
        for lane in &mut self.lanes {
            let findings = check(lane.checker);
            match probe::elsewhere(lane.checker, &value).filter(|_| definition.is_none()) {
                Some(home) => lane.set_aside(unit, findings, check(home), &check),
                None => lane.add(unit, findings, &check),
            }
            if definition.is_none() && probe::is_handshake(&value) {
                lane.explain(unit);
            }
        }
        self.memory.remember(unit, &value);
        if definition.is_none() {
            self.note_method(&value);
        }
    }

    fn note_method(&mut self, value: &Value) {
        let messages = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for method in messages.iter().filter_map(|message| message.get("method")?.as_str()) {
            if self.unknown.len() < Report::MAX_METHODS && !TABLE.knows(method) {
                self.unknown.insert(method.to_owned());
            }
        }
    }

    /// Reports text that is not JSON, in all revisions.
    fn unreadable(&mut self, unit: &Unit<'_>, error: &serde_json::Error) {
        let line = error.line().saturating_sub(1);
        // The parser counts bytes.
        let bytes = unit.text.lines().nth(line).unwrap_or_default().char_indices();
        let column = bytes.take_while(|(at, _)| at + 1 < error.column()).count() as u64 + 1;
        let expected = format!("valid JSON: {}", source::without_place(error));
        self.everywhere(unit.line + line as u64, column, expected, None);
    }

    /// Reports a problem in all revisions.
    fn everywhere(&mut self, line: u64, column: u64, expected: String, found: Option<String>) {
        let finding = Finding { pointer: String::new(), expected, found };
        let problem = Problem { line, column, finding, valid_in: Vec::new() };
        self.lanes.iter_mut().for_each(|lane| lane.push(problem.clone()));
    }

    fn report(mut self) -> Report {
        self.lanes.iter_mut().for_each(Lane::end);
        // Among equal counts, the latest revision.
        let best = self.lanes.into_iter().rev().min_by_key(|lane| lane.count).expect("there is at least one lane");
        Report {
            revision: best.checker.version(),
            checked: self.checked,
            skipped: self.skipped,
            unknown: self.unknown,
            problems: best.problems,
            count: best.count,
        }
    }
}

impl Lane {
    fn add(&mut self, unit: &Unit<'_>, findings: Vec<Finding>, check: &dyn Fn(Checker) -> Vec<Finding>) {
        let count = self.count + findings.len() as u64;
        // Locating a finding is a pass over the text, so only the stored ones are located.
        let kept = Report::MAX_PROBLEMS - self.problems.len();
        let found = self.placed(unit, findings.into_iter().take(kept).collect(), check);
        self.problems.extend(found);
        self.count = count;
    }

    /// Defers a `server/discover` of a revision without it until it is known whether a handshake follows.
    fn set_aside(
        &mut self,
        unit: &Unit<'_>,
        by_itself: Vec<Finding>,
        before_handshake: Vec<Finding>,
        check: &dyn Fn(Checker) -> Vec<Finding>,
    ) {
        let session = unit.session.clone().unwrap_or_default();
        let by_itself = self.placed(unit, by_itself, check);
        let before_handshake = self.placed(unit, before_handshake, check);
        if let Some(probe) = self.probes.add(Probe { session, by_itself, before_handshake }) {
            probe.by_itself.into_iter().for_each(|problem| self.push(problem));
        }
    }

    /// Decides on the deferred requests of a session whose handshake has come.
    fn explain(&mut self, unit: &Unit<'_>) {
        let probes = self.probes.explained(unit.session.as_deref().unwrap_or_default());
        probes.into_iter().flat_map(|probe| probe.before_handshake).for_each(|problem| self.push(problem));
    }

    /// Decides on the remaining requests, and sorts all problems by place.
    fn end(&mut self) {
        let probes = self.probes.unexplained();
        probes.into_iter().flat_map(|probe| probe.by_itself).for_each(|problem| self.push(problem));
        self.problems.sort_by_key(|problem| problem.line);
    }

    /// Adds to findings their places, and the revisions in which they would not occur.
    fn placed(&self, unit: &Unit<'_>, findings: Vec<Finding>, check: &dyn Fn(Checker) -> Vec<Finding>) -> Vec<Problem> {
        if findings.is_empty() {
            return Vec::new();
        }
        let others: Vec<(ProtocolVersion, Vec<Finding>)> = ProtocolVersion::ALL
            .iter()
            .copied()
            .filter(|v| *v != self.checker.version())
            .map(|v| (v, check(Checker::new(v))))
            .collect();
        let problem = |finding: Finding| {
            let (line, column) = place::of(unit, &finding.pointer);
            let right = |found: &&(ProtocolVersion, Vec<Finding>)| found.1.iter().all(|f| !is_around(f, &finding));
            let valid_in = others.iter().filter(right).map(|(version, _)| *version).collect();
            Problem { line, column, finding, valid_in }
        };
        findings.into_iter().map(problem).collect()
    }

    fn push(&mut self, problem: Problem) {
        self.count += 1;
        if self.problems.len() < Report::MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }
}

/// Whether a finding is at the same place as another one, or at an ancestor. The discriminator of an object (its method
/// or its type) stands for all of it.
fn is_around(outer: &Finding, inner: &Finding) -> bool {
    if outer.found.is_none() {
        return outer.pointer == inner.pointer;
    }
    let tag = ["/method", "/type"].into_iter().find_map(|tag| outer.pointer.strip_suffix(tag));
    let below = inner.pointer.strip_prefix(tag.unwrap_or(&outer.pointer));
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a value in a document is meant to be a whole message.
fn is_message(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.contains_key("jsonrpc"),
        Value::Array(items) => items.first().is_some_and(|first| first.get("jsonrpc").is_some()),
        _ => false,
    }
}

impl Unit<'_> {
    fn requester(&self) -> Sender {
        match self.sender {
            Sender::Client => Sender::Server,
            Sender::Server => Sender::Client,
            Sender::Unknown => Sender::Unknown,
        }
    }
}

/// The request of a response, owned while the response is checked.
enum Known {
    Nothing,
    Method(String),
    Task(String),
}

impl Known {
    fn as_asked(&self) -> ResponseTo<'_> {
        match self {
            Self::Nothing => ResponseTo::Unknown,
            Self::Method(method) => ResponseTo::Method(method),
            Self::Task(method) => ResponseTo::Task(method),
        }
    }
}
