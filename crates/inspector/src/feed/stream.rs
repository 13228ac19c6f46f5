//! The feed as a stream of server-sent events.

use std::{fmt::Write, time::Duration};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, channel::Channel};
use tokio::time::timeout;

use super::{Batch, Feed};
use crate::body::{Body, typed};

/// The time between signs of life.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Responds with the events after a number, and with those that follow, until the reader disconnects.
///
/// A reader that is slow is sent nothing meanwhile, and loses what the ring drops.
pub(crate) fn events(feed: &Feed, mut after: u64) -> Response<Body> {
    let (mut sender, body) = Channel::<Bytes, std::convert::Infallible>::new(1);
    let feed = feed.clone();
    tokio::spawn(async move {
        // The head is sent with the first bytes.
        if sender.send_data(Bytes::from_static(b":\n\n")).await.is_err() {
            return;
        }
        loop {
            let text = match timeout(KEEP_ALIVE, feed.wait(after)).await {
                Ok(()) => {
                    let batch = feed.read(after);
                    after = batch.after;
                    written(&batch)
                }
                Err(_) => ":\n\n".to_owned(),
            };
            if sender.send_data(text.into()).await.is_err() {
                return;
            }
        }
    });
    typed(StatusCode::OK, "text/event-stream", body.boxed_unsync())
}

/// A batch as server-sent events.
fn written(batch: &Batch) -> String {
    let mut text = String::new();
    if batch.lost > 0 {
        let _ = write!(text, "data: {{\"kind\":\"lost\",\"count\":{}}}\n\n", batch.lost);
    }
    for event in &batch.events {
        let _ = write!(text, "data: {}\n\n", event.to_json());
    }
    text
}
