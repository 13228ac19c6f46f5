//! Validation of request headers against the body.

use couplet::core::{
    Limits,
    http::{Field, Fields, Placement, place},
    message::read,
};
use divan::Bencher;

use crate::kit::{STATELESS, call, server};

/// The headers of a typical request.
struct Headers(&'static [(&'static str, &'static str)]);

impl Fields for Headers {
    fn field(&self, name: &str) -> Field<'_> {
        let found = self.0.iter().find(|(key, _)| *key == name);
        found.map_or(Field::Absent, |(_, value)| Field::Value(value.as_bytes()))
    }
}

#[divan::bench]
fn header_check(bencher: Bencher<'_, '_>) {
    let server = server(100);
    let bounds = Limits::default().bounds;
    let frame = read(call(STATELESS, "hello, world"), bounds).expect("a message");
    let headers = Headers(&[("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", "echo")]);
    assert!(matches!(place(&headers, &frame, &server), Ok(Placement::Stateless(_))));
    bencher.bench(|| place(&headers, &frame, &server));
}
