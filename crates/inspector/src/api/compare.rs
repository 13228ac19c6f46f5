//! The same request in every revision, each on a connection of its own.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Event, JsonText, RequestOptions, message::Params, sync::lock};
use couplet_types::{ProtocolVersion, RawJson};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::timeout;

use super::{Answer, place};
use crate::{Direction, Inspector, Opening, Place, Seen, Tap, body::json, target::Head};

#[derive(Deserialize)]
pub(super) struct Comparison {
    method: String,
    params: Option<RawJson>,
}

/// The outcome in one revision.
#[derive(Serialize)]
struct Column {
    revision: &'static str,
    ok: bool,
    ms: Option<f64>,
    request: Option<String>,
    answer: Option<String>,
    error: Option<String>,
}

/// The time for each revision, with its handshake.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) async fn compare(inspector: &Inspector, id: &str, order: Comparison) -> Answer {
    let place = place(inspector, id)?;
    let params = order.params.map_or_else(|| "{}".to_owned(), |params| params.get().to_owned());
    let params = Bytes::from(params);
    let mut columns = Vec::new();
    for version in ProtocolVersion::ALL {
        columns.push(column(&place, *version, &order.method, &params).await);
    }
    Ok(json(&json!({ "columns": columns })))
}

async fn column(place: &Arc<dyn Place>, version: ProtocolVersion, method: &str, params: &Bytes) -> Column {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let record = messages.clone();
    let tap = Tap::new(move |seen| {
        if let Seen::Message(direction, text) = seen {
            lock(&record).push((direction, text));
        }
    });
    let work: BoxFuture<'_, _> = Box::pin(ask(place, version, method, params, &tap));
    let late = |_| Err(format!("no answer within {} s", TIMEOUT.as_secs()));
    let outcome = timeout(TIMEOUT, work).await.unwrap_or_else(late);
    let (request, answer) = pair(&lock(&messages), method);
    Column {
        revision: version.as_str(),
        ok: outcome.is_ok() && answer.is_some(),
        ms: outcome.as_ref().ok().map(|took| (took.as_secs_f64() * 1e6).round() / 1e3),
        request,
        answer,
        error: outcome.err(),
    }
}

/// Connects in one revision, sends the request, and waits for its answer.
async fn ask(
    place: &Arc<dyn Place>,
    version: ProtocolVersion,
    method: &str,
    params: &Bytes,
    tap: &Tap,
) -> Result<Duration, String> {
    let Opening { client, server } = place.open(Some(version), tap)?;
    let client = client.connect(server).await.map_err(|error| place.explain(&error))?;
    let wrong = |what: &dyn std::fmt::Display| format!("the parameters are not valid: {what}");
    let text = JsonText::new(params.clone()).map_err(|fault| wrong(&fault))?;
    let params = Params::from_text(text).map_err(|fault| wrong(&fault))?;
    let asked = Instant::now();
    let outcome = async {
        let mut exchange =
            client.forward(method, &params, &RequestOptions::default()).map_err(|error| place.explain(&error))?;
        loop {
            match exchange.next().await {
                Event::Notification { .. } => {}
                // An error of the server is an answer, too.
                Event::Answer(_) => return Ok(asked.elapsed()),
                Event::Ended => return Err("the connection ended without an answer".to_owned()),
                Event::Failed(error) => return Err(place.explain(&error)),
            }
        }
    };
    let outcome = outcome.await;
    let _ = client.close().await;
    outcome
}

/// The last request for a method, and its answer.
fn pair(messages: &[(Direction, Bytes)], method: &str) -> (Option<String>, Option<String>) {
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    let heads = messages.iter().filter_map(|(direction, bytes)| Some((*direction, Head::parse(bytes)?, bytes)));
    let heads: Vec<_> = heads.collect();
    let request = heads.iter().rev().find(|(direction, head, _)| {
        *direction == Direction::Out && head.id.is_some() && head.method.as_deref() == Some(method)
    });
    let Some((_, asked, request)) = request else { return (None, None) };
    let id = asked.id.map(|id| id.get());
    let answer = heads.iter().rev().find(|(direction, head, _)| {
        *direction == Direction::In && head.is_response() && head.id.map(|id| id.get()) == id
    });
    (Some(text(request)), answer.map(|(_, _, bytes)| text(bytes)))
}
