//! What must hold after each scenario, whatever it did.

use super::{
    cdp::{Record, Request},
    inspector::Inspector,
};
use crate::Failure;

/// A canary: the variable that everything hostile tries to set.
pub(super) const CANARY: &str = "canary";

/// Checks that the page made no request to anything but its own origin and the sandbox for views, that no script failed, that
/// no dialog was opened, and that no policy had to refuse anything.
pub(super) fn check(record: &Record, inspectors: &[&Inspector]) -> Result<(), Failure> {
    requests(record, inspectors)?;
    quiet(record)
}

/// The same for a page that is beside an endpoint, at this origin.
pub(super) fn check_at(record: &Record, origin: &str) -> Result<(), Failure> {
    only(record, &[origin.to_owned()], &[])?;
    quiet(record)
}

/// Checks that no script failed, no dialog was opened, and nothing was refused.
fn quiet(record: &Record) -> Result<(), Failure> {
    if let Some(error) = record.errors.first() {
        return Err(format!("the page has an error: {error}"));
    }
    if let Some(dialog) = record.dialogs.first() {
        return Err(format!("the page has opened a dialog: {dialog}"));
    }
    match record.refusals.first() {
        Some(refusal) => Err(format!("a policy has refused something ({} in all): {refusal}", record.refusals.len())),
        None => Ok(()),
    }
}

/// Checks that all requests went to the page's own origin. Frames for views are at an origin of their own, which has
/// nothing but the frame.
pub(super) fn requests(record: &Record, inspectors: &[&Inspector]) -> Result<(), Failure> {
    let origins: Vec<String> = inspectors.iter().map(|inspector| inspector.origin()).collect();
    // One that has ended has no frames either.
    let frames: Vec<String> = inspectors.iter().filter_map(|inspector| inspector.frames().ok()).collect();
    only(record, &origins, &frames)
}

fn only(record: &Record, origins: &[String], frames: &[String]) -> Result<(), Failure> {
    let is_local = |url: &str| ["data:", "blob:", "about:"].iter().any(|scheme| url.starts_with(scheme));
    let is_own = |request: &Request| {
        let (origin, path) = split(&request.url);
        origins.contains(&origin) || frames.contains(&origin) && (path == "/" || path.starts_with("/sandbox."))
    };
    let mut sent = record.requests.iter().filter(|request| request.blocked.is_none() && !is_local(&request.url));
    match sent.find(|request| !is_own(request)) {
        Some(request) => Err(format!("`{}` was requested ({}, by {})", request.url, request.kind, request.document)),
        None => Ok(()),
    }
}

/// The origin and the path of a URL.
fn split(url: &str) -> (String, &str) {
    let path = url.find("://").and_then(|at| url[at + 3..].find('/').map(|slash| at + 3 + slash));
    let (origin, path) = url.split_at(path.unwrap_or(url.len()));
    (origin.to_owned(), path.split(['?', '#']).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_an_origin_and_a_path() {
        assert_eq!(split("http://127.0.0.1:80/a/b?c#d"), ("http://127.0.0.1:80".to_owned(), "/a/b"));
        assert_eq!(split("ws://a"), ("ws://a".to_owned(), ""));
    }
}
