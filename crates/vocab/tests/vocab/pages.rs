//! The specification pages of the first revision: every complete message in them is valid.

use couplet_types::ProtocolVersion;
use couplet_vocab::validate::{Format, Options, validate};

const PAGES: &str = include_str!("../data/pages-2024-11-05.md");

#[test]
fn every_message_of_the_pages_is_valid() {
    let revision = "2024-11-05".parse().ok();
    let report = validate(PAGES.as_bytes(), Format::Markdown, &Options::default().revision(revision)).unwrap();
    assert_eq!((report.checked, report.skipped), (43, 0));
    // The page about pages shows a request without its id, which makes it not a complete one.
    let [incomplete] = report.problems.as_slice() else { panic!("{:?}", report.problems) };
    assert_eq!(incomplete.finding.to_string(), "expected a member `id` (a string or an integer)");
    assert_eq!(PAGES.lines().nth(incomplete.line as usize + 1).map(str::trim), Some(r#""method": "resources/list","#));
}

#[test]
fn other_revisions_are_told_from_it() {
    let best = validate(PAGES.as_bytes(), Format::Markdown, &Options::default()).unwrap();
    assert_eq!(best.count, 1, "{:?}", best.problems);
    let last = Some(ProtocolVersion::ALL[4]);
    let report = validate(PAGES.as_bytes(), Format::Markdown, &Options::default().revision(last)).unwrap();
    assert!(report.count > 10);
    let elsewhere = report.problems.iter().filter(|p| p.valid_in.contains(&ProtocolVersion::ALL[0])).count();
    assert_eq!(elsewhere as u64, report.count - 1, "{:?}", report.problems);
}
