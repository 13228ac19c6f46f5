//! The names in errors: those that the caller knows.

use couplet_core::{JsonText, Reply, ResultBody};
use couplet_types::RpcError;

/// Names inside, and the names outside that stand for them.
pub(crate) type Renames<'a> = Vec<(&'a str, &'a str)>;

/// Creates the error for a name that does not exist.
pub(crate) fn absent(what: &str, name: &str) -> RpcError {
    let name: String = name.chars().take(200).collect();
    RpcError::invalid_params(format!("there is no {what} `{name}`"))
}

/// Replaces names in errors, and in the texts of failed tools.
pub(crate) fn renamed(reply: Reply, renames: &Renames<'_>) -> Reply {
    match reply {
        Reply::Error(mut error) => {
            error.message = replaced(&error.message, renames).unwrap_or(error.message);
            Reply::Error(error)
        }
        Reply::Complete(done) if done.is_failed_tool() => Reply::Complete(in_result(done, renames)),
        other => other,
    }
}

fn in_result(done: ResultBody, renames: &Renames<'_>) -> ResultBody {
    let is_plain = |name: &str| name.chars().all(|c| !c.is_control() && c != '"' && c != '\\');
    if !renames.iter().all(|(own, exposed)| is_plain(own) && is_plain(exposed)) {
        return done;
    }
    match replaced(done.members().as_str(), renames).and_then(|text| JsonText::new(text).ok()) {
        Some(members) => done.with_members(&members),
        None => done,
    }
}

/// Replaces names in backticks, in one pass, so that two names can be swapped; `None` if there are none.
fn replaced(text: &str, renames: &Renames<'_>) -> Option<String> {
    let mut out = String::new();
    let mut parts = text.split('`').enumerate().peekable();
    let mut is_changed = false;
    while let Some((at, part)) = parts.next() {
        let is_last = parts.peek().is_none();
        let name = renames.iter().find(|(own, _)| at % 2 == 1 && !is_last && *own == part);
        is_changed |= name.is_some();
        out.push_str(name.map_or(part, |(_, exposed)| exposed));
        if !is_last {
            out.push('`');
        }
    }
    is_changed.then_some(out)
}

/// Replaces names in an error. The name that the error for an unknown name suggests is replaced by the one outside, or
/// removed if there is none.
pub(crate) fn outward(reply: Reply, renames: &Renames<'_>, exposed: impl Fn(&str) -> Option<String>) -> Reply {
    const START: &str = "; did you mean `";
    let Reply::Error(mut error) = reply else { return reply };
    let start = error.message.rfind(START).filter(|_| error.message.starts_with("there is no "));
    let (about, hint) = error.message.split_at(start.unwrap_or(error.message.len()));
    let name = hint.strip_prefix(START).and_then(|hint| hint.strip_suffix("`?"));
    let hint = name.and_then(exposed).map(|name| format!("{START}{name}`?")).unwrap_or_default();
    error.message = replaced(about, renames).unwrap_or_else(|| about.to_owned()) + &hint;
    Reply::Error(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(reply: Reply) -> String {
        match reply {
            Reply::Error(error) => error.message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_are_replaced_at_once() {
        for (text, expected) in [
            ("there is no tool `a`", "there is no tool `b`"),
            ("`a` and `b`", "`b` and `a`"),
            ("a `c` a", "a `c` a"),
            ("an open `a", "an open `a"),
        ] {
            let error = RpcError::internal(text);
            assert_eq!(message(renamed(error.into(), &vec![("a", "b"), ("b", "a")])), expected);
        }
    }

    #[test]
    fn suggestions_are_renamed_or_removed() {
        let exposed = |name: &str| (name == "own").then(|| "outside".to_owned());
        for (text, expected) in [
            ("there is no tool `x`; did you mean `own`?", "there is no tool `x`; did you mean `outside`?"),
            ("there is no tool `x`; did you mean `secret`?", "there is no tool `x`"),
            ("there is no tool `y`; did you mean `own`?", "there is no tool `own`; did you mean `outside`?"),
            ("argument `x` is unknown; did you mean `city`?", "argument `x` is unknown; did you mean `city`?"),
        ] {
            let renames = vec![("y", "own")];
            assert_eq!(message(outward(RpcError::internal(text).into(), &renames, exposed)), expected);
        }
    }
}
