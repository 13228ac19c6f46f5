//! Editing one member of a JSON, TOML or YAML text, with every other byte preserved.
//!
//! An edit is a list of splices into the text. Only the member itself is serialized, so comments, key order, white
//! space and line ends cannot change by accident. Afterwards the new text is parsed and compared with the expected
//! tree: a construct that is not understood here makes an edit fail, not corrupt the file.

pub(crate) mod json;
mod splice;
#[cfg(test)]
mod tests;
mod toml;
mod yaml;

use std::{fmt, path::Path};

use serde::Deserialize;

use crate::{
    Error,
    node::{Node, Value},
};
use splice::Splice;

/// The format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Format {
    /// JSON that the host reads without comments.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// A syntax error with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Line and column, counted from 1, if known.
    pub(crate) at: Option<(usize, usize)>,
    pub(crate) what: String,
}

/// The reason why a text was not edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It cannot be parsed.
    Broken(Broken),
    /// It has another value in the place of the table of servers.
    Shape(String),
    /// The edit would have changed another part of the text.
    Unsafe,
}

impl Format {
    /// Returns the format of a file by its extension; `.json` may have comments.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "json" | "jsonc" => Some(Self::Jsonc),
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }

    /// Parses the text of a file; a text without any value is an empty table.
    ///
    /// # Errors
    /// If the text is not of this format; with line and column.
    pub fn read(self, path: &Path, text: &str) -> Result<Node, Error> {
        self.parse(text).map_err(|broken| Error::broken(path, broken.at, format!("it is not {self}: {}", broken.what)))
    }

    /// Parses a text; a text without any value is an empty table.
    pub(crate) fn parse(self, text: &str) -> Result<Node, Broken> {
        let (text, skipped) = without_bom(text);
        let mut node = match self {
            Self::Json | Self::Jsonc => json::parse(text),
            Self::Toml => toml::parse(text),
            Self::Yaml => yaml::parse(text),
        }?;
        if skipped > 0 {
            shift(&mut node, skipped);
        }
        Ok(node)
    }

    /// Returns the text with the member at a path set to a value; missing tables are created.
    pub(crate) fn set(self, text: &str, path: &[String], value: &Node) -> Result<String, Refused> {
        let root = self.checked(text, path)?;
        let splices = match (root.at(path), self) {
            (Some(_), Self::Json | Self::Jsonc) => json::replace(text, &root, path, value),
            (Some(_), Self::Toml) => toml::replace(text, path, value),
            (Some(_), Self::Yaml) => yaml::replace(text, &root, path, value),
            (None, Self::Json | Self::Jsonc) => json::insert(text, &root, path, value),
            (None, Self::Toml) => toml::insert(text, &root, path, value),
            (None, Self::Yaml) => yaml::insert(text, &root, path, value),
        };
        self.apply(text, root, splices, path, Some(value))
    }

    /// Returns the text without the member at a path, or `None` if it does not exist.
    pub(crate) fn unset(self, text: &str, path: &[String]) -> Result<Option<String>, Refused> {
        let root = self.checked(text, path)?;
        if root.at(path).is_none() {
            return Ok(None);
        }
        let splices = match self {
            Self::Json | Self::Jsonc => json::remove(text, &root, path),
            Self::Toml => toml::remove(text, path),
            Self::Yaml => yaml::remove(text, &root, path),
        };
        self.apply(text, root, splices, path, None).map(Some)
    }

    /// Formats a member as it would be in a file, for users to paste.
    pub(crate) fn snippet(self, path: &[String], value: &Node) -> String {
        self.set("", path, value).unwrap_or_default()
    }

    /// Parses a text and checks that the path leads through tables, each of which occurs once.
    fn checked(self, text: &str, path: &[String]) -> Result<Node, Refused> {
        let root = self.parse(text).map_err(Refused::Broken)?;
        let mut node = &root;
        for (depth, key) in path.iter().enumerate() {
            let Some(members) = node.members() else {
                // In YAML, a key without a value is a common way to write an empty table.
                if matches!(node.value, Value::Null) && self == Self::Yaml {
                    break;
                }
                let what = if depth == 0 { "the file".to_owned() } else { format!("`{}`", path[..depth].join(".")) };
                return Err(Refused::Shape(format!("{what} is {}, not a table", node.kind())));
            };
            let places: Vec<_> = members.iter().filter(|m| m.key == *key).collect();
            match places.as_slice() {
                [] => break,
                [member] => node = &member.value,
                [first, second, ..] => {
                    let lines = [first, second].map(|m| position(text, m.span.start).0);
                    let what = format!("`{key}` occurs twice, on the lines {} and {}", lines[0], lines[1]);
                    return Err(Refused::Shape(what));
                }
            }
        }
        Ok(root)
    }

    /// Applies splices, and compares the new text with the expected tree.
    fn apply(
        self,
        text: &str,
        root: Node,
        splices: Option<Vec<Splice>>,
        path: &[String],
        value: Option<&Node>,
    ) -> Result<String, Refused> {
        let edited = splices.and_then(|splices| splice::apply(text, splices)).ok_or(Refused::Unsafe)?;
        let now = self.parse(&edited).map_err(|_| Refused::Unsafe)?;
        match pruned(now, path) == pruned(root.with(path, value), path) {
            true => Ok(edited),
            false => Err(Refused::Unsafe),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Jsonc => "JSON with comments",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        })
    }
}

/// Returns line and column of an offset, counted from 1.
#[must_use]
pub fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before[start..].chars().count() + 1)
}

/// Removes empty tables on the path, which TOML and YAML do not distinguish from none.
fn pruned(node: Node, path: &[String]) -> Node {
    let mut node = node;
    for end in (1..path.len()).rev() {
        let is_empty = |n: &Node| matches!(n.value, Value::Null) || n.members().is_some_and(<[_]>::is_empty);
        if node.at(&path[..end]).is_some_and(is_empty) {
            node = node.with(&path[..end], None);
        }
    }
    node
}

fn without_bom(text: &str) -> (&str, usize) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => (rest, text.len() - rest.len()),
        None => (text, 0),
    }
}

fn shift(node: &mut Node, by: usize) {
    let moved = |span: &mut std::ops::Range<usize>| *span = span.start + by..span.end + by;
    moved(&mut node.span);
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| shift(item, by)),
        Value::Table(members) => members.iter_mut().for_each(|member| {
            moved(&mut member.span);
            shift(&mut member.value, by);
        }),
        _ => {}
    }
}
