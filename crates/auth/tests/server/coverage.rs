//! Every line of the checklist that is about servers or authorization servers has a test.

use std::{collections::BTreeSet, fs, path::Path};

/// The lines of the sections on authorization that are duties of servers, of authorization servers, or of both sides.
const SERVERS: [u16; 25] = [
    386, 387, 388, 389, 390, 401, 403, 412, 413, 416, 421, 424, 425, 427, 428, 429, 430, 431, 432, 433, 436, 437, 439,
    442, 384,
];

/// Lines about servers that get tokens of somebody else for their clients. There is no such server here: a program that
/// wants to be one has an authorization server of its own in between.
const NOT_HERE: [u16; 2] = [434, 435];

#[test]
fn every_line_has_a_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server");
    let mut tested = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder of tests").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a source file");
        tested.extend(text.split("fn line_").skip(1).filter_map(|rest| rest.get(..3)?.parse::<u16>().ok()));
    }
    let missing: Vec<u16> = SERVERS.into_iter().filter(|line| !tested.contains(line)).collect();
    assert!(missing.is_empty(), "no test for lines {missing:?}");
    assert!(NOT_HERE.iter().all(|line| !tested.contains(line)));
}
