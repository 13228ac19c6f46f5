//! A deterministic simulation: a real client and a real server, a pipe that delays, splits, merges and cuts, and no
//! clock, no socket and no runtime. Everything that happens follows from a seed.
//!
//! Each revision runs 4,000 histories. A failing seed is printed; `COUPLET_SIM_SEED=<seed>` runs only that one, and
//! `COUPLET_SIM_HISTORIES=<n>` another number of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test reports by panicking and printing"
)]

mod exec;
mod judge;
mod operation;
mod random;
mod server;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use couplet_testing::types::ProtocolVersion;

const HISTORIES: u64 = 4_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A handler that panics is part of the histories; its message is not part of the output.
fn hide_planned_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if panic.payload().downcast_ref::<&str>() != Some(&server::PLANNED_PANIC) {
            eprintln!("{panic}");
        }
    }));
}

fn simulate(version: ProtocolVersion) {
    hide_planned_panics();
    let seeds = match number("COUPLET_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("COUPLET_SIM_HISTORIES").unwrap_or(HISTORIES),
    };
    let mut totals = judge::Totals::default();
    for seed in seeds {
        match catch_unwind(AssertUnwindSafe(|| world::history(version, seed))) {
            Ok(history) => totals.add(&history),
            Err(_) => panic!("history {seed} of {version} failed; run it again with COUPLET_SIM_SEED={seed}"),
        }
    }
    println!("{version}: {totals}");
    if number("COUPLET_SIM_SEED").is_none() {
        totals.assert_that_everything_happened(version);
    }
}

/// What `#[couplet::test]` runs a simulation in: no runtime, because its future is ready at once.
mod no_runtime {
    use std::task::{Context, Poll, Waker};

    pub(crate) use couplet_testing::types;

    pub(crate) fn block_on<F: Future>(test: F) -> F::Output {
        match std::pin::pin!(test).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => unreachable!("a simulation has its own executor"),
        }
    }
}

#[couplet::test(crate = "crate::no_runtime")]
async fn histories(version: ProtocolVersion) {
    simulate(version);
}

#[test]
fn a_seed_gives_the_same_history_again() {
    hide_planned_panics();
    for &version in ProtocolVersion::ALL {
        for seed in 0..50 {
            assert_eq!(world::history(version, seed).log, world::history(version, seed).log, "{version}, {seed}");
        }
    }
}
