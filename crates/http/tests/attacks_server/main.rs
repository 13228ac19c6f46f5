//! Attacks on a server, a row each: `attack_NN` names the kind of attack. Those on clients are in `attacks_client`, those
//! with child processes and lines in the tests of `couplet-stdio`.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod answers;
mod arguments;
mod bodies;
mod handlers;
mod hosts;
mod proxied;
mod quiet;
mod sessions;
mod site;
#[path = "../server/store.rs"]
#[allow(dead_code, reason = "shared with another test binary")]
mod store;
mod stores;
#[path = "../server/support.rs"]
#[allow(dead_code, reason = "shared with another test binary")]
mod support;

/// No kind of attack is without a row, here or where it can be mounted.
#[test]
fn every_kind_of_attack_has_a_row() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = String::new();
    for folder in ["tests/attacks_server", "tests/attacks_client", "tests/hostile", "../stdio/tests/stdio"] {
        for file in std::fs::read_dir(here.join(folder)).unwrap() {
            texts += &std::fs::read_to_string(file.unwrap().path()).unwrap();
        }
    }
    let missing: Vec<_> = (1..=12).filter(|n| !texts.contains(&format!("fn attack_{n:02}_"))).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
}
