//! The body of a request, within its limits.

use std::{future::poll_fn, pin::pin};

use bytes::{Buf, Bytes, BytesMut};
use couplet_core::message::buffers;
use http::{HeaderMap, StatusCode, header};
use http_body::Body;

use crate::server::{limits::HttpLimits, request::deadline::within};

/// So many times as much as a body may have is read and thrown away before the refusal: most clients send all of it
/// before they read anything, and would hear only that the connection is broken.
const DRAINED: usize = 8;

/// Reads a whole body.
///
/// # Errors
/// The status to answer and why.
pub(crate) async fn read<B: Body>(
    body: B,
    headers: &HeaderMap,
    limits: &HttpLimits,
) -> Result<Bytes, (StatusCode, String)> {
    let too_large = || (StatusCode::PAYLOAD_TOO_LARGE, format!("the body is longer than {} bytes", limits.body));
    let announced = body.size_hint().lower();
    let is_too_large = announced > limits.body as u64;
    let drained = limits.body.saturating_mul(DRAINED);
    // A client that waits for `100 Continue` sends nothing yet; reading the body sends it.
    if is_too_large && (announced > drained as u64 || headers.contains_key(header::EXPECT)) {
        return Err(too_large());
    }
    let read = async {
        let mut body = pin!(body);
        let mut first: Option<Bytes> = None;
        let mut all: Option<BytesMut> = None;
        let mut size = 0;
        while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "the body could not be read".to_owned()))?;
            let Ok(mut data) = frame.into_data() else { continue };
            let length = data.remaining();
            size += length;
            if is_too_large || size > limits.body {
                (first, all) = (None, None);
                if size > drained {
                    break;
                }
                continue;
            }
            let piece = data.copy_to_bytes(length);
            match (&mut all, &first) {
                (Some(all), _) => all.extend_from_slice(&piece),
                (None, Some(begin)) => {
                    // What was announced and does not come is not written to, so it costs nothing.
                    let room = usize::try_from(announced).unwrap_or(limits.body).max(2 * (begin.len() + piece.len()));
                    let mut joined = buffers::with_room(room);
                    joined.extend_from_slice(begin);
                    joined.extend_from_slice(&piece);
                    all = Some(joined);
                }
                (None, None) => first = Some(piece),
            }
        }
        if size > limits.body {
            return Err(too_large());
        }
        Ok(all.map(buffers::freeze).or(first).unwrap_or_default())
    };
    match within(limits.body_time, pin!(read)).await {
        Some(body) => body,
        None if is_too_large => Err(too_large()),
        None => {
            let what = format!("the body took longer than {} s to arrive", limits.body_time.as_secs_f64());
            Err((StatusCode::REQUEST_TIMEOUT, what))
        }
    }
}
