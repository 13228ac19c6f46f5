//! Revisions, capabilities and the structure of answers.

pub(super) mod answers;
pub(super) mod capabilities;
pub(super) mod members;
pub(super) mod revisions;

use couplet_types::ProtocolVersion;

use crate::{Place, Rule, Subject, report::Report};

/// Findings in several revisions, merged into one.
#[derive(Default)]
struct Together {
    found: Vec<(&'static Rule, String, String, Vec<ProtocolVersion>)>,
}

impl Together {
    fn add(&mut self, rule: &'static Rule, version: ProtocolVersion, pointer: &str, what: String) {
        let same = self.found.iter_mut().find(|(r, p, w, _)| r.id == rule.id && p == pointer && *w == what);
        match same {
            Some((_, _, _, versions)) => versions.push(version),
            None => self.found.push((rule, pointer.to_owned(), what, vec![version])),
        }
    }

    fn tell(self, report: &mut Report<'_>) {
        for (rule, pointer, what, versions) in self.found {
            let subject = if let [version] = versions[..] { Subject::Revision(version) } else { Subject::Server };
            let what = match &versions[..] {
                [_] => what,
                several => format!("{what} ({})", names(several)),
            };
            report.add(rule, Place::new(subject).at(pointer), what);
        }
    }
}

fn names(versions: &[ProtocolVersion]) -> String {
    versions.iter().map(|version| version.as_str()).collect::<Vec<_>>().join(", ")
}
