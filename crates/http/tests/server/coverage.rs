//! Every line of the checklist about HTTP has a test, here or in the tests of the client.

use std::{collections::BTreeSet, fs, path::Path};

/// Lines outside of the sections about HTTP that are about HTTP as well.
const ELSEWHERE: [u16; 5] = [62, 78, 119, 120, 121];

fn tested(folder: &str) -> BTreeSet<u16> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut lines = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder of tests").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a source file");
        let names = text.split("fn line_").skip(1);
        lines.extend(names.filter_map(|rest| rest.get(..3)?.parse::<u16>().ok()));
    }
    lines
}

#[test]
fn every_line_has_a_test() {
    let (server, client) = (tested("server"), tested("client"));
    let is_tested = |line: &u16| server.contains(line) || client.contains(line);
    let missing: Vec<u16> = (151..=229).chain(ELSEWHERE).filter(|line| !is_tested(line)).collect();
    assert!(missing.is_empty(), "no test for lines {missing:?}");
}
