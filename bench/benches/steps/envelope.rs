//! Parsing the envelope of a message: kind, id, method, offsets of the parameters.

use couplet::core::{Limits, message::read};
use divan::{Bencher, counter::BytesCount};

use crate::kit::call;

/// By the size of an argument.
#[divan::bench(args = [12, 1_000, 100_000, 1_000_000])]
fn envelope(bencher: Bencher<'_, '_>, size: usize) {
    let frame = call("2025-11-25", &"y".repeat(size));
    let bounds = Limits::default().bounds;
    bencher.counter(BytesCount::new(frame.len())).bench(|| read(frame.clone(), bounds));
}
