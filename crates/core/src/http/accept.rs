//! Which kinds of answer a client takes, and what kind of body it sends.

/// The type of a message that is alone.
pub const JSON: &str = "application/json";
/// The type of a stream of messages.
pub const EVENTS: &str = "text/event-stream";

/// What most clients say that they accept: a message alone as well as a stream of them.
pub const USUAL: [&str; 2] = ["application/json, text/event-stream", "text/event-stream, application/json"];

/// Whether a list of types, as in `Accept`, includes one. A type with `q=0` is excluded.
///
/// ```
/// use couplet_core::http::accept::{EVENTS, JSON, accepts};
///
/// assert!(accepts("application/json, text/event-stream;q=0.5", EVENTS));
/// assert!(accepts("application/*", JSON) && accepts("*/*", JSON));
/// assert!(!accepts("text/html", JSON));
/// assert!(!accepts("*/*, application/json;q=0", JSON));
/// ```
pub fn accepts(list: &str, wanted: &str) -> bool {
    let family = wanted.split('/').next().unwrap_or_default();
    let mut best = None;
    for range in list.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let precision = match name {
            _ if name.eq_ignore_ascii_case(wanted) => 2,
            _ if name.strip_suffix("/*").is_some_and(|f| f.eq_ignore_ascii_case(family)) => 1,
            "*/*" => 0,
            _ => continue,
        };
        let taken = !parts.any(is_zero);
        if best.is_none_or(|(known, _)| precision >= known) {
            best = Some((precision, taken));
        }
    }
    best.is_some_and(|(_, taken)| taken)
}

/// Whether the type of a body, as in `Content-Type`, is JSON; parameters do not matter.
pub fn is_json(content_type: &str) -> bool {
    content_type.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(JSON))
}

fn is_zero(parameter: &str) -> bool {
    let quality = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
    quality.is_some_and(|q| q.trim().parse() == Ok(0.0_f32))
}
