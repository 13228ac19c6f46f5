//! Which operations become tools.

use std::str::FromStr;

use http::Method;

use crate::error::SpecError;

/// A filter of operations: conditions with commas between them, all of which must hold.
///
/// | condition | holds for |
/// |---|---|
/// | `tag:pets` | operations with this tag |
/// | `method:get` | operations with this method |
/// | `path:/pets/*` | paths that match; `*` stands for any text |
/// | `name:list*`, or only `list*` | names of tools and `operationId`s that match |
///
/// Case does not matter, except in paths.
///
/// ```
/// use couplet_openapi::Filter;
///
/// let filter: Filter = "tag:pets,method:get".parse()?;
/// assert!("method:fetch".parse::<Filter>().is_err());
/// # drop(filter);
/// # Ok::<(), couplet_openapi::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(Vec<Condition>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    Tag(String),
    Method(Method),
    Path(String),
    Name(String),
}

impl FromStr for Filter {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        text.split(',').map(condition).collect::<Result<_, _>>().map(Self)
    }
}

fn condition(text: &str) -> Result<Condition, SpecError> {
    let (kind, value) = match text.trim().split_once(':') {
        Some((kind, value)) => (kind.trim(), value.trim()),
        None => ("name", text.trim()),
    };
    if value.is_empty() {
        return Err(SpecError::new(format!("the filter `{text}` is empty")));
    }
    Ok(match kind {
        "tag" => Condition::Tag(value.to_owned()),
        "path" => Condition::Path(value.to_owned()),
        "name" => Condition::Name(value.to_ascii_lowercase()),
        "method" => {
            let known =
                [Method::GET, Method::PUT, Method::POST, Method::DELETE, Method::PATCH, Method::HEAD, Method::OPTIONS];
            let method = known.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(value));
            Condition::Method(method.ok_or_else(|| SpecError::new(format!("`{value}` is not an HTTP method")))?)
        }
        _ => {
            return Err(SpecError::new(format!(
                "the filter `{text}` begins with none of `tag:`, `path:`, `method:`, `name:`"
            )));
        }
    })
}

/// The filters of a configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters {
    pub(crate) include: Vec<Filter>,
    pub(crate) exclude: Vec<Filter>,
}

impl Filters {
    /// Whether an operation is selected: by one of the included filters, if there are any, and by no excluded one.
    pub(crate) fn select(&self, name: &str, id: Option<&str>, method: &Method, path: &str, tags: &[String]) -> bool {
        let holds = |condition: &Condition| match condition {
            Condition::Tag(tag) => tags.iter().any(|t| t.eq_ignore_ascii_case(tag)),
            Condition::Method(wanted) => wanted == method,
            Condition::Path(pattern) => matches(pattern, path),
            Condition::Name(pattern) => {
                let mut names = std::iter::once(name).chain(id);
                names.any(|name| matches(pattern, &name.to_ascii_lowercase()))
            }
        };
        let selects = |filter: &Filter| filter.0.iter().all(holds);
        (self.include.is_empty() || self.include.iter().any(selects)) && !self.exclude.iter().any(selects)
    }
}

/// Whether a text matches a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match text.find(part) {
            Some(at) => text = text.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, text, expected) in [
            ("/pets", "/pets", true),
            ("/pets", "/pets/{id}", false),
            ("/pets/*", "/pets/{id}", true),
            ("/pets*", "/pets", true),
            ("*/{id}", "/pets/{id}", true),
            ("*a*b", "xaxb", true),
            ("*a*b", "xbxa", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn excluded_operations_win() {
        let filters = |include: &[&str], exclude: &[&str]| {
            let parse = |list: &[&str]| list.iter().map(|f| f.parse().expect("a filter")).collect();
            Filters { include: parse(include), exclude: parse(exclude) }
        };
        let tags = ["Pets".to_owned()];
        for (include, exclude, expected) in [
            (&[][..], &[][..], true),
            (&["tag:pets"], &[], true),
            (&["tag:pets,method:post"], &[], false),
            (&["method:post", "path:/pets"], &[], true),
            (&["tag:pets"], &["listp*"], false),
            (&["list_pets"], &["method:delete"], true),
        ] {
            let selected =
                filters(include, exclude).select("list_pets", Some("listPets"), &Method::GET, "/pets", &tags);
            assert_eq!(selected, expected, "{include:?} {exclude:?}");
        }
        for wrong in ["", "tag:", "size:1", "method:fetch"] {
            assert!(wrong.parse::<Filter>().is_err(), "{wrong}");
        }
    }
}
