//! Every line of the checklist that is about these sections has a test, or is named here as one that is tested where
//! HTTP is. Lines about authorization (386 to 444, 453 to 456) are counted by `crates/auth/tests/coverage.rs`.

use std::{collections::BTreeSet, fs, path::Path};

/// Lines about HTTP and nothing else; `crates/http/tests` has their tests, and a test that none is missing.
const HTTP_ONLY: [u16; 5] = [62, 78, 119, 120, 121];

fn tested() -> BTreeSet<u16> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checklist");
    let mut lines = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the folder of this test").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a source file");
        let names = text.split("fn line_").skip(1);
        lines.extend(names.filter_map(|rest| rest.get(..3)?.parse::<u16>().ok()));
    }
    lines
}

#[test]
fn every_line_has_a_test() {
    let tested = tested();
    let missing: Vec<u16> = (1..=150)
        .chain(230..=385)
        .chain(445..=452)
        .chain(457..=458)
        .filter(|n| !tested.contains(n) && !HTTP_ONLY.contains(n))
        .collect();
    assert!(missing.is_empty(), "no test for lines {missing:?}");
}
