//! Elicitation in the stateless revision: the response carries a sealed request state, which the retry sends back.

use divan::Bencher;
use serde_json::{Value, json};

use crate::kit::{STATELESS, Wire, request, server};

/// Runs the handler up to its elicitation, and seals the state.
#[divan::bench]
fn sealed_question(bencher: Bencher<'_, '_>) {
    let mut wire = Wire::new(&server(0), STATELESS);
    let request = request(STATELESS, "tools/call", json!({"name": "ask", "arguments": {}}));
    bencher.bench_local(|| wire.ask(request.clone()));
}

/// Opens the sealed state, and runs the handler to its end.
#[divan::bench]
fn opened_answer(bencher: Bencher<'_, '_>) {
    let mut wire = Wire::new(&server(0), STATELESS);
    let question = wire.ask(request(STATELESS, "tools/call", json!({"name": "ask", "arguments": {}})));
    let question: Value = serde_json::from_slice(&question).expect("JSON");
    let result = &question["result"];
    let asked = result["inputRequests"].as_object().and_then(|asked| asked.keys().next()).expect("a question");
    let answer = json!({
        "name": "ask", "arguments": {}, "requestState": result["requestState"],
        "inputResponses": { asked: {"action": "accept", "content": {"yes": true}} },
    });
    let request = request(STATELESS, "tools/call", answer);
    let answer = wire.ask(request.clone());
    assert!(answer.windows(4).any(|bytes| bytes == b"true"), "{answer:?}");
    bencher.bench_local(|| wire.ask(request.clone()));
}
