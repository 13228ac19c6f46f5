//! A list of a hundred tools, projected to each revision.

use couplet::ProtocolVersion;
use divan::Bencher;
use serde_json::json;

use crate::kit::{Wire, request, server};

#[divan::bench(args = ProtocolVersion::ALL)]
fn list(bencher: Bencher<'_, '_>, version: ProtocolVersion) {
    let version = version.to_string();
    let mut wire = Wire::new(&server(100), &version);
    let request = request(&version, "tools/list", json!({}));
    bencher.bench_local(|| wire.ask(request.clone()));
}

/// The first list, when nothing is cached.
#[divan::bench(args = ProtocolVersion::ALL)]
fn first_list(bencher: Bencher<'_, '_>, version: ProtocolVersion) {
    let version = version.to_string();
    let request = request(&version, "tools/list", json!({}));
    bencher.with_inputs(|| Wire::new(&server(100), &version)).bench_local_values(|mut wire| {
        let answer = wire.ask(request.clone());
        (wire, answer)
    });
}
