//! Collects findings.

use std::collections::HashMap;

use crate::{Config, Finding, Place, Rule, Subject, rule::rules, visible::shown};

/// The maximum length of a message and of a pointer.
const LONGEST: usize = 600;

/// The findings so far. Strings of a server reach a finding only through here, where they are escaped.
#[derive(Debug)]
pub(crate) struct Report<'c> {
    pub(crate) config: &'c Config,
    findings: Vec<Finding>,
    found: HashMap<&'static str, usize>,
}

impl<'c> Report<'c> {
    pub(crate) fn new(config: &'c Config) -> Self {
        Self { config, findings: Vec::new(), found: HashMap::new() }
    }

    pub(crate) fn add(&mut self, rule: &'static Rule, place: Place, what: impl AsRef<str>) {
        if !self.config.is_enabled(rule) {
            return;
        }
        let found = self.found.entry(rule.id).or_default();
        *found += 1;
        if *found > self.config.max_per_rule {
            return;
        }
        let place = Place { subject: place.subject.made_visible(), pointer: shown(&place.pointer, LONGEST) };
        self.findings.push(Finding { rule, place, what: shown(what.as_ref(), LONGEST) });
    }

    /// Sorts the findings: by severity, then in the order of the rules, then as found.
    pub(crate) fn finish(mut self) -> Vec<Finding> {
        let order: HashMap<_, _> = rules().enumerate().map(|(at, rule)| (rule.id, at)).collect();
        for rule in rules() {
            let more = self.found.get(rule.id).map_or(0, |found| found.saturating_sub(self.config.max_per_rule));
            if more > 0 {
                let place = Place::new(Subject::Server);
                self.findings.push(Finding { rule, place, what: format!("the same in {more} more places") });
            }
        }
        self.findings.sort_by_key(|finding| (std::cmp::Reverse(finding.rule.severity), order.get(finding.rule.id)));
        self.findings
    }
}
