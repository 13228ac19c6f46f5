//! Every line of the checklist that is about authorization has a test.

use std::{collections::BTreeSet, fs, path::Path};

/// Lines about programs that are not here.
///
/// Servers that get tokens of somebody else for their clients (434, 435): a program that wants to be one has an
/// authorization server of its own in between. Hosts that install servers and show consent (440, 443): the library opens
/// nothing and runs nothing that the program did not name.
const NOT_HERE: [u16; 4] = [434, 435, 440, 443];

/// The lines in the name of a test: `line_417_418_an_answer_of`.
fn lines(name: &str) -> impl Iterator<Item = u16> {
    name.split('_').map_while(|word| word.parse().ok())
}

#[test]
fn every_line_has_a_test() {
    let mut tested = BTreeSet::new();
    for folder in ["tests/client", "tests/server"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in fs::read_dir(folder).expect("a folder of tests").flatten() {
            let text = fs::read_to_string(entry.path()).expect("a source file");
            tested.extend(text.split("fn line_").skip(1).flat_map(lines));
        }
    }
    let wanted = (386..=444).chain(453..=456).filter(|line| !NOT_HERE.contains(line));
    let missing: Vec<u16> = wanted.filter(|line| !tested.contains(line)).collect();
    assert!(missing.is_empty(), "no test for lines {missing:?}");
    assert!(NOT_HERE.iter().all(|line| !tested.contains(line)));
}
