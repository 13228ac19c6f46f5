//! Streams of events without a client, to see the id and the data of each event.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use couplet::{
    ProtocolVersion,
    core::http::sse::{Event, Parser},
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use crate::{
    Outcome,
    raw::{headers, request, status},
};

/// The longest event that is expected.
const LIMIT: usize = 1 << 20;

/// The events of a stream so far, by their ids.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<(String, Value)>>>);

impl Heard {
    pub(crate) fn all(&self) -> Vec<(String, Value)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The values of progress, in the order in which they were heard.
    pub(crate) fn progress(&self) -> Vec<u64> {
        self.all().iter().filter_map(|(_, data)| data["params"]["progress"].as_f64()).map(|n| n as u64).collect()
    }

    /// The text of the result, if it was heard.
    pub(crate) fn result(&self) -> Option<String> {
        let all = self.all();
        all.iter().find_map(|(_, data)| data["result"]["content"][0]["text"].as_str().map(str::to_owned))
    }

    /// The id of the last event.
    pub(crate) fn last(&self) -> Outcome<String> {
        Ok(self.all().last().ok_or("there was no event")?.0.clone())
    }

    fn add(&self, event: Event) -> Outcome {
        let data = if event.data.is_empty() { Value::Null } else { serde_json::from_slice(&event.data)? };
        // An event without an id is a sign of life.
        if let Some(id) = event.id {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push((id, data));
        }
        Ok(())
    }
}

/// Calls `count` in a session, and reads the stream of the call until it ends or breaks.
pub(crate) async fn count(
    url: &str,
    session: &str,
    version: ProtocolVersion,
    arguments: &Value,
    heard: &Heard,
) -> Outcome<u16> {
    let params = json!({ "name": "count", "arguments": arguments, "_meta": { "progressToken": 1 } });
    let call = json!({ "jsonrpc": "2.0", "id": "count", "method": "tools/call", "params": params });
    read(url, "POST", &headers(session, version), &call.to_string(), heard).await
}

/// Resumes a stream after an event, and reads until it ends or breaks. Retries while the session has no owner.
pub(crate) async fn resume(
    url: &str,
    session: &str,
    version: ProtocolVersion,
    after: &str,
    heard: &Heard,
) -> Outcome<u16> {
    let headers = format!("{}last-event-id: {after}\r\n", headers(session, version));
    loop {
        let status = read(url, "GET", &headers, "", heard).await;
        match status {
            Ok(502..=504) | Err(_) => tokio::time::sleep(Duration::from_millis(500)).await,
            Ok(status) => return Ok(status),
        }
    }
}

/// Sends a request and reads its events; returns the status.
async fn read(url: &str, method: &str, headers: &str, body: &str, heard: &Heard) -> Outcome<u16> {
    let mut stream = BufReader::new(request(url, method, headers, body).await?);
    let (mut head, mut chunked) = (String::new(), false);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Err(format!("no answer: {head:?}").into());
        }
        chunked |= line.to_ascii_lowercase().starts_with("transfer-encoding: chunked");
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let (status, mut parser) = (status(&head)?, Parser::new(LIMIT));
    // A stream that breaks is one of the things that are looked at.
    while let Ok(Some(piece)) = piece(&mut stream, chunked).await {
        parser.push(&piece);
        while let Some(event) = parser.next().map_err(|_| "an event is too large")? {
            heard.add(event)?;
        }
    }
    Ok(status)
}

/// The next piece of a body; nothing at its end.
async fn piece<R: AsyncBufReadExt + Unpin>(stream: &mut R, chunked: bool) -> Outcome<Option<Vec<u8>>> {
    if !chunked {
        let mut piece = vec![0; 4096];
        let read = stream.read(&mut piece).await?;
        piece.truncate(read);
        return Ok((read > 0).then_some(piece));
    }
    let mut size = String::new();
    stream.read_line(&mut size).await?;
    let mut piece = vec![0; usize::from_str_radix(size.trim(), 16)?];
    stream.read_exact(&mut piece).await?;
    stream.read_exact(&mut [0; 2]).await?;
    Ok((!piece.is_empty()).then_some(piece))
}
