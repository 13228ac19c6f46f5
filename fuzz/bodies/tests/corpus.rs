//! The fuzz targets over their corpus, the same every time.

use couplet_fuzz_bodies::{Mutator, Target, replay};

/// `cargo xtask corpus` runs ten times as many.
const MUTATIONS: u64 = 2_000;

#[test]
fn envelope() {
    replay(Target::Envelope, MUTATIONS).unwrap();
}

#[test]
fn server() {
    replay(Target::Server, MUTATIONS).unwrap();
}

#[test]
fn names() {
    replay(Target::Names, MUTATIONS).unwrap();
}

#[test]
fn lock() {
    replay(Target::Lock, MUTATIONS).unwrap();
}

#[test]
fn mutations_are_the_same_every_time() {
    let seeds = Target::Server.seeds();
    let (mut one, mut other) = (Mutator::new(3), Mutator::new(3));
    for _ in 0..1000 {
        assert_eq!(one.mutate(&seeds), other.mutate(&seeds));
    }
    assert_ne!(Mutator::new(4).mutate(&seeds), Mutator::new(5).mutate(&seeds));
}
