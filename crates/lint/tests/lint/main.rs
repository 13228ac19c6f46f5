//! Every rule finds what it is about, and not what is close to it.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod annotations;
mod descriptions;
mod draft;
mod hostile;
mod names;
mod printing;
mod prompts;
mod protocol;
mod resources;
mod schemas;
mod sizes;
mod text;
mod whole;

use std::collections::BTreeSet;

use couplet_lint::{Config, Finding, lint, rules};
use draft::Draft;

/// A rule, a server that breaks it, and one that comes close.
struct Case {
    rule: &'static str,
    bad: fn(&mut Draft),
    near: fn(&mut Draft),
    /// What else is found, because one thing cannot be wrong without the other.
    also: &'static [&'static str],
}

const fn case(rule: &'static str, bad: fn(&mut Draft), near: fn(&mut Draft)) -> Case {
    Case { rule, bad, near, also: &[] }
}

impl Case {
    const fn also(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }
}

const TABLES: &[&[Case]] = &[
    names::CASES,
    descriptions::CASES,
    schemas::CASES,
    schemas::MORE_CASES,
    annotations::CASES,
    sizes::CASES,
    text::CASES,
    protocol::CASES,
    resources::CASES,
    prompts::CASES,
];

fn cases() -> impl Iterator<Item = &'static Case> {
    TABLES.iter().copied().flatten()
}

fn found(edit: fn(&mut Draft), config: &Config) -> Vec<Finding> {
    let mut draft = Draft::clean();
    edit(&mut draft);
    lint(&draft.surface(), config)
}

fn ids(findings: &[Finding]) -> BTreeSet<&'static str> {
    findings.iter().map(|finding| finding.rule.id).collect()
}

#[test]
fn each_rule_finds_what_it_is_about_and_nothing_close_to_it() {
    let mut wrong = Vec::new();
    for Case { rule, bad, near, also } in cases() {
        let config = Config::new().enable(rule).unwrap_or_else(|e| panic!("{e}"));
        let findings = found(*bad, &config);
        let expected: BTreeSet<_> = also.iter().copied().chain([*rule]).collect();
        if ids(&findings) != expected {
            wrong.push(format!("{rule}, bad: {:?} instead of {expected:?}: {findings:#?}", ids(&findings)));
        }
        let findings = found(*near, &config);
        if !findings.iter().all(|finding| also.contains(&finding.rule.id)) {
            wrong.push(format!("{rule}, near: {findings:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_rule_has_a_case_and_can_be_switched_off() {
    let tested: BTreeSet<_> = cases().map(|case| case.rule).collect();
    let untested: Vec<_> = rules().map(|rule| rule.id).filter(|id| !tested.contains(id)).collect();
    assert!(untested.is_empty(), "no case for {untested:?}");
    for Case { rule, bad, .. } in cases() {
        let family = rules().find(|r| r.id == *rule).unwrap().family.id();
        for name in [rule, family] {
            let config = Config::new().enable(rule).unwrap().disable(name).unwrap();
            assert!(!ids(&found(*bad, &config)).contains(rule), "{rule} is found without `{name}`");
        }
    }
}

#[test]
fn the_table_of_rules_can_be_read() {
    let mut seen = BTreeSet::new();
    for rule in rules() {
        assert!(seen.insert(rule.id), "`{}` occurs twice", rule.id);
        assert!(rule.id.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", rule.id);
        assert!(
            !rule.about.ends_with('.') && rule.about.starts_with(char::is_lowercase),
            "{}: {}",
            rule.id,
            rule.about
        );
        for sentence in [rule.why, rule.fix] {
            assert!(sentence.ends_with('.'), "{}: {sentence}", rule.id);
            assert!(!sentence.contains('\n'), "{}: {sentence}", rule.id);
        }
    }
}

#[test]
fn an_optional_rule_is_looked_for_when_asked() {
    let optional: Vec<_> = rules().filter(|rule| rule.optional).map(|rule| rule.id).collect();
    assert_eq!(optional, ["schema-open", "schema-format-text", "annotation-idempotent", "annotation-explicit"]);
    for Case { rule, bad, .. } in cases().filter(|case| optional.contains(&case.rule)) {
        assert!(!ids(&found(*bad, &Config::new())).contains(rule), "{rule}");
    }
}
