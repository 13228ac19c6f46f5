//! From the bytes of a request to the bytes of its response, with a handler that returns at once.

use divan::Bencher;

use crate::kit::{Wire, call, server};

#[divan::bench(args = ["2025-11-25", "2026-07-28"])]
fn dispatch(bencher: Bencher<'_, '_>, version: &str) {
    let mut wire = Wire::new(&server(100), version);
    let request = call(version, "hello, world");
    bencher.bench_local(|| wire.ask(request.clone()));
}

/// The number of tools must not matter.
#[divan::bench(args = [0, 100, 10_000])]
fn dispatch_by_tools(bencher: Bencher<'_, '_>, tools: usize) {
    let mut wire = Wire::new(&server(tools), "2025-11-25");
    let request = call("2025-11-25", "hello, world");
    bencher.bench_local(|| wire.ask(request.clone()));
}

/// An echoed argument.
#[divan::bench(args = [1_000, 1_000_000])]
fn dispatch_by_size(bencher: Bencher<'_, '_>, size: usize) {
    let mut wire = Wire::new(&server(100), "2025-11-25");
    let request = call("2025-11-25", &"y".repeat(size));
    bencher.bench_local(|| wire.ask(request.clone()));
}
