//! The functions of the page beside MCP: JSON in, JSON out, errors as sentences.

mod compare;
mod export;
mod har;
mod targets;
mod tools;
mod validate;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;

use crate::{
    Inspector,
    body::{Body, failed, full, json, typed},
    feed::events,
};

/// The largest body of a request.
const LARGEST: usize = 16 << 20;

/// A response, or what is wrong with the request.
type Answer = Result<Response<Body>, Wrong>;

/// An error: a status and a sentence.
#[derive(Debug)]
pub(crate) struct Wrong(StatusCode, String);

impl From<String> for Wrong {
    fn from(why: String) -> Self {
        Self(StatusCode::BAD_REQUEST, why)
    }
}

impl From<&str> for Wrong {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl Wrong {
    fn missing(what: impl Into<String>) -> Self {
        Self(StatusCode::NOT_FOUND, what.into())
    }
}

/// Answers a request whose token was checked; `path` is what follows `api/`.
pub(crate) async fn respond(inspector: &Inspector, request: Request<Incoming>, path: &str) -> Response<Body> {
    match route(inspector, request, path).await {
        Ok(response) => response,
        Err(Wrong(status, why)) => failed(status, &why),
    }
}

async fn route(inspector: &Inspector, request: Request<Incoming>, path: &str) -> Answer {
    let (parts, body) = request.into_parts();
    let query = |name: &str| query(parts.uri.query().unwrap_or_default(), name);
    let parts_of_path: Vec<&str> = path.split('/').collect();
    match (&parts.method, parts_of_path.as_slice()) {
        (&Method::GET, ["targets"]) => Ok(targets::list(inspector)),
        (&Method::POST, ["targets"]) => targets::add(inspector, parse(&read(body).await?)?).await,
        (&Method::POST, ["targets", id, "connect"]) => targets::connect(inspector, id, parse(&read(body).await?)?),
        (&Method::POST, ["targets", id, "logs"]) => targets::logs(inspector, id, parse(&read(body).await?)?).await,
        (&Method::DELETE, ["targets", id]) => targets::remove(inspector, id),
        (&Method::GET, ["known"]) => targets::known(inspector).await,
        (&Method::GET, ["feed"]) => {
            let after = query("after").map_or(Ok(0), |after| after.parse());
            Ok(events(&inspector.0.feed, after.map_err(|_| "`after` must be a number")?))
        }
        (&Method::GET, ["messages", seq]) => message(inspector, seq),
        (&Method::GET, ["export"]) => export::export(inspector, query("format").as_deref(), query("target").as_deref()),
        (&Method::POST, ["validate"]) => validate::validate(inspector, parse(&read(body).await?)?),
        (&Method::POST, ["targets", id, "lint"]) => tools::lint(inspector, id).await,
        (&Method::POST, ["targets", id, "bench"]) => tools::bench(inspector, id, parse(&read(body).await?)?),
        (&Method::POST, ["targets", id, "compare"]) => {
            compare::compare(inspector, id, parse(&read(body).await?)?).await
        }
        (&Method::GET, ["targets", id, "login"]) => tools::login(inspector, id),
        (&Method::POST, ["targets", id, "login"]) => tools::log_in(inspector, id).await,
        _ => Err(Wrong::missing(format!("there is no `{} api/{path}`", parts.method))),
    }
}

/// The whole text of a message.
fn message(inspector: &Inspector, seq: &str) -> Answer {
    let seq = seq.parse().map_err(|_| "expected the number of a message")?;
    Ok(typed(StatusCode::OK, "text/plain; charset=utf-8", full(text(inspector, seq)?)))
}

fn text(inspector: &Inspector, seq: u64) -> Result<Bytes, Wrong> {
    let text = inspector.0.feed.text(seq);
    text.ok_or_else(|| Wrong::missing(format!("message {seq} is not in memory any more")))
}

async fn read(body: Incoming) -> Result<Bytes, Wrong> {
    match Limited::new(body, LARGEST).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(_) => {
            Err(Wrong(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is incomplete, or above {LARGEST} bytes")))
        }
    }
}

/// Parses a body; nothing is an empty object.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Wrong> {
    let body = if body.trim_ascii().is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| format!("the body is not as expected: {error}").into())
}

/// A parameter of a query, whose values need no escapes.
fn query(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

fn target(inspector: &Inspector, id: &str) -> Result<std::sync::Arc<crate::target::Target>, Wrong> {
    inspector.target(id).ok_or_else(|| Wrong::missing(format!("there is no target `{id}`")))
}

fn place(inspector: &Inspector, id: &str) -> Result<std::sync::Arc<dyn crate::Place>, Wrong> {
    target(inspector, id)?.place.clone().ok_or_else(|| "this target can only be watched".into())
}

fn ok() -> Response<Body> {
    json(&serde_json::json!({}))
}
