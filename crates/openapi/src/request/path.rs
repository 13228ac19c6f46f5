//! Paths: segments of the document, with encoded values between them.

use serde_json::Value;

use super::{
    ArgumentError,
    encode::{component, literal},
    values::{flat, text_of},
};
use crate::operation::{Parameter, Style, Values};

/// A path under construction.
pub(super) struct Path<'a> {
    base: &'a str,
    template: &'a str,
    query: &'a str,
    filled: Vec<(&'a str, String)>,
}

impl<'a> Path<'a> {
    pub(super) fn new(base: &'a str, template: &'a str) -> Self {
        // Some documents distinguish operations of one path by a fragment or a query.
        let template = template.split('#').next().unwrap_or(template);
        let (template, query) = template.split_once('?').unwrap_or((template, ""));
        Self { base, template, query, filled: Vec::new() }
    }

    /// Returns the query that the template has.
    pub(super) fn fixed_query(&self) -> &'a str {
        self.query
    }

    pub(super) fn fill(&mut self, parameter: &'a Parameter, value: &Value) -> Result<(), ArgumentError> {
        let text = written(parameter, value);
        let fail = |what| Err(ArgumentError::new(&parameter.argument, what));
        if is_empty(value) {
            return fail("must not be empty");
        }
        if has_dots(value) {
            return fail("must not contain the path segments `.` and `..`");
        }
        self.filled.push((&parameter.name, text));
        Ok(())
    }

    pub(super) fn finish(self) -> Result<String, ArgumentError> {
        let mut path = self.base.to_owned();
        let mut rest = self.template;
        while let Some((before, (name, after))) = rest.split_once('{').and_then(|(b, r)| Some((b, r.split_once('}')?)))
        {
            path.push_str(&literal(before));
            let value = self.filled.iter().find(|(filled, _)| *filled == name);
            let Some((_, value)) = value else { return Err(ArgumentError::new(name, "is required")) };
            path.push_str(value);
            rest = after;
        }
        path.push_str(&literal(rest));
        // A prefix of a style together with a value may be one, too.
        if path.split('/').any(is_dot_segment) {
            return Err(ArgumentError("the arguments make a path with the segments `.` or `..`".to_owned()));
        }
        Ok(if path.is_empty() { "/".to_owned() } else { path })
    }
}

fn written(parameter: &Parameter, value: &Value) -> String {
    let (name, json) = (component(&parameter.name), parameter.values == Values::Json);
    let Values::Styled { style, explode, .. } = parameter.values else { return component(&value.to_string()) };
    let list = match value {
        Value::Array(items) => Some(items.iter().map(|item| component(&text_of(item))).collect::<Vec<_>>()),
        _ => None,
    };
    let members = value.as_object().map(|members| flat(members, explode, component));
    match (style, list, members) {
        _ if json => component(&value.to_string()),
        (Style::Label, Some(items), _) => format!(".{}", items.join(if explode { "." } else { "," })),
        (Style::Label, _, Some(members)) => format!(".{}", members.join(if explode { "." } else { "," })),
        (Style::Label, ..) => format!(".{}", component(&text_of(value))),
        (Style::Matrix, Some(items), _) if explode => items.iter().map(|item| format!(";{name}={item}")).collect(),
        (Style::Matrix, Some(items), _) => format!(";{name}={}", items.join(",")),
        (Style::Matrix, _, Some(members)) if explode => members.iter().map(|member| format!(";{member}")).collect(),
        (Style::Matrix, _, Some(members)) => format!(";{name}={}", members.join(",")),
        (Style::Matrix, ..) => format!(";{name}={}", component(&text_of(value))),
        (_, Some(items), _) => items.join(","),
        (_, _, Some(members)) => members.join(","),
        _ => component(&text_of(value)),
    }
}

/// Whether a value would leave a segment out, and so address something else.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_empty),
        Value::Object(members) => members.is_empty(),
        value => text_of(value).is_empty(),
    }
}

/// Whether a value has `.` or `..` as a segment, for servers that decode slashes before they resolve paths.
fn has_dots(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_dots),
        Value::Object(members) => members.iter().any(|(key, value)| is_dotted(key) || has_dots(value)),
        value => is_dotted(&text_of(value)),
    }
}

fn is_dotted(text: &str) -> bool {
    let mut decoded = text.to_ascii_lowercase();
    // Also for servers that decode more than once.
    while decoded.contains("%25") {
        decoded = decoded.replace("%25", "%");
    }
    let decoded = decoded.replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\");
    decoded.split(['/', '\\']).any(|segment| matches!(segment, "." | ".."))
}

fn is_dot_segment(segment: &str) -> bool {
    matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
}
