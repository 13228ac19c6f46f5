//! Encoding and decoding server-sent events.

use bytes::Bytes;
use couplet::core::http::sse::{Event, Parser};
use divan::{Bencher, counter::BytesCount};

const SIZES: [usize; 3] = [100, 10_000, 1_000_000];

fn message(size: usize) -> Bytes {
    Bytes::from(format!("{{\"text\":\"{}\"}}", "x".repeat(size)))
}

#[divan::bench(args = SIZES)]
fn encode_event(bencher: Bencher<'_, '_>, size: usize) {
    let message = message(size);
    bencher.counter(BytesCount::new(size)).bench(|| Event::message(message.clone()).encode());
}

#[divan::bench(args = SIZES)]
fn parse_event(bencher: Bencher<'_, '_>, size: usize) {
    let bytes = Event::message(message(size)).encode();
    bencher.counter(BytesCount::new(size)).bench(|| {
        let mut parser = Parser::new(4_000_000);
        parser.push(&bytes);
        parser.next()
    });
}
