//! Strings with references to variables, independent of the syntax of each host.

use std::fmt;

use crate::Env;

/// A string of a configuration, parsed into literal parts and references to variables.
///
/// ```
/// use couplet_hosts::{Env, Os, Text};
///
/// let text = Text::from("Bearer ").then_var("TOKEN");
/// let env = Env::new(Os::Linux, "/u/ann", "/u/ann").with("TOKEN", "abc");
/// assert_eq!(text.resolve(&env).unwrap(), "Bearer abc");
/// assert_eq!(text.to_string(), "Bearer ${TOKEN}");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    parts: Vec<Part>,
}

/// A part of a [`Text`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Literal text.
    Plain(String),
    /// A reference to an environment variable.
    Var {
        /// The name of the variable.
        name: String,
        /// The value if it is not set.
        default: Option<String>,
    },
    /// A reference that only the host can resolve, such as `${input:key}` or `${workspaceFolder}`.
    Host(String),
}

impl Text {
    /// Returns the parts in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the whole string if it has no references.
    #[must_use]
    pub fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Plain(text)] => Some(text),
            _ => None,
        }
    }

    /// Creates a string that is the value of a variable.
    #[must_use]
    pub fn var(name: impl Into<String>) -> Self {
        Self::default().then_var(name)
    }

    /// Appends a reference to a variable.
    #[must_use]
    pub fn then_var(mut self, name: impl Into<String>) -> Self {
        self.parts.push(Part::Var { name: name.into(), default: None });
        self
    }

    /// Parses a string with references as `${NAME}`.
    #[must_use]
    pub fn with_refs(text: &str) -> Self {
        Style { ways: vec![("${".to_owned(), "}".to_owned())], defaults: true }.read(text)
    }

    /// Returns the string with a literal prefix.
    #[must_use]
    pub fn prefixed(&self, before: &str) -> Self {
        let mut made = Self::from(before);
        for part in &self.parts {
            match part {
                Part::Plain(text) => made.push_plain(text),
                other => made.parts.push(other.clone()),
            }
        }
        made
    }

    /// Returns an iterator over the names of all referenced variables.
    pub fn vars(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Var { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns the string with all references resolved.
    ///
    /// # Errors
    /// The first reference that cannot be resolved, as a sentence.
    pub fn resolve(&self, env: &Env) -> Result<String, String> {
        let value = |part: &Part| match part {
            Part::Plain(text) => Ok(text.clone()),
            Part::Var { name, default } => match (env.var(name), default) {
                (Some(value), _) => Ok(value.to_owned()),
                (None, Some(default)) => Ok(default.clone()),
                (None, None) => Err(format!("the variable `{name}` is not set")),
            },
            Part::Host(raw) => match raw.as_str() {
                "${workspaceFolder}" => Ok(env.cwd().display().to_string()),
                "${userHome}" => Ok(env.home().display().to_string()),
                "${pathSeparator}" | "${/}" => Ok(std::path::MAIN_SEPARATOR_STR.to_owned()),
                _ => Err(format!("only the host can resolve `{raw}`")),
            },
        };
        self.parts.iter().map(value).collect()
    }

    /// The name of the variable, if the string is exactly one reference.
    pub(crate) fn only_var(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Var { name, default: None }] => Some(name),
            _ => None,
        }
    }

    fn push_plain(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Plain(before)) => before.push_str(text),
            _ => self.parts.push(Part::Plain(text.to_owned())),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut made = Self::default();
        made.push_plain(text);
        made
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Part> for Text {
    fn from(part: Part) -> Self {
        match part {
            Part::Plain(text) => Self::from(text),
            other => Self { parts: vec![other] },
        }
    }
}

/// Formats references as in shells: `${NAME}`, `${NAME:-default}`.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Plain(text) | Part::Host(text) => f.write_str(text),
            Part::Var { name, default: None } => write!(f, "${{{name}}}"),
            Part::Var { name, default: Some(default) } => write!(f, "${{{name}:-{default}}}"),
        })
    }
}

/// The syntaxes of a host for references to variables, such as `${env:NAME}`; the first one is used for writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    ways: Vec<(String, String)>,
    defaults: bool,
}

impl Style {
    /// Parses the syntaxes of the table, with `NAME` in each.
    pub(crate) fn new(ways: &[String]) -> Result<Self, String> {
        let split = |way: &String| {
            let (before, after) = way.split_once("NAME").ok_or_else(|| format!("`{way}` does not contain `NAME`"))?;
            Ok((before.to_owned(), after.to_owned()))
        };
        let all: Vec<_> = ways.iter().map(split).collect::<Result<_, String>>()?;
        let (defaults, ways): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, after)| after.starts_with(":-"));
        Ok(Self { ways, defaults: !defaults.is_empty() })
    }

    pub(crate) fn read(&self, text: &str) -> Text {
        let mut made = Text::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            match self.reference(rest) {
                Some((part, length)) => {
                    made.parts.push(part);
                    rest = &rest[length..];
                }
                None => {
                    made.push_plain(&rest[..first.len_utf8()]);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        made
    }

    /// Formats a string for this host, or returns the variable that it has no syntax for.
    pub(crate) fn write(&self, text: &Text) -> Result<String, String> {
        let way = |name: &str, default: &Option<String>| match (self.ways.first(), default) {
            (None, _) => Err(name.to_owned()),
            (Some((before, after)), Some(default)) if self.defaults => Ok(format!("{before}{name}:-{default}{after}")),
            (Some((before, after)), _) => Ok(format!("{before}{name}{after}")),
        };
        let written = |part: &Part| match part {
            Part::Plain(text) | Part::Host(text) => Ok(text.clone()),
            Part::Var { name, default } => way(name, default),
        };
        text.parts.iter().map(written).collect()
    }

    /// Parses the reference that a string begins with, and returns its length.
    fn reference(&self, text: &str) -> Option<(Part, usize)> {
        for (before, after) in &self.ways {
            let Some(rest) = text.strip_prefix(before.as_str()) else { continue };
            let name = &rest[..name_length(rest)];
            if name.is_empty() {
                continue;
            }
            let rest = &rest[name.len()..];
            let length = before.len() + name.len();
            if rest.starts_with(after.as_str()) {
                let part = Part::Var { name: name.to_owned(), default: None };
                return Some((part, length + after.len()));
            }
            if self.defaults
                && !after.is_empty()
                && let Some(default) = rest.strip_prefix(":-")
            {
                let end = default.find(after.as_str())?;
                let part = Part::Var { name: name.to_owned(), default: Some(default[..end].to_owned()) };
                return Some((part, length + 2 + end + after.len()));
            }
        }
        // Other `${…}` of a host that expands them are references of its own.
        let fills = self.ways.iter().any(|(before, _)| before.starts_with("${"));
        let end = text.strip_prefix("${").filter(|_| fills)?.find('}')?;
        Some((Part::Host(text[..end + 3].to_owned()), end + 3))
    }
}

fn name_length(text: &str) -> usize {
    let is_name = |(at, c): (usize, char)| c == '_' || c.is_ascii_alphabetic() || (at > 0 && c.is_ascii_digit());
    text.char_indices().take_while(|&pair| is_name(pair)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(ways: &[&str]) -> Style {
        Style::new(&ways.iter().map(|&w| w.to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn every_way_to_refer_is_read_and_written() {
        let shell = style(&["${NAME}", "$NAME", "${NAME:-}"]);
        for (style, text, neutral, back) in [
            (&shell, "a${B}c", "a${B}c", "a${B}c"),
            (&shell, "$B/c", "${B}/c", "${B}/c"),
            (&shell, "${B:-x y}", "${B:-x y}", "${B:-x y}"),
            (&shell, "$5 and ${", "$5 and ${", "$5 and ${"),
            (&style(&["${env:NAME}"]), "${env:B}${input:c}", "${B}${input:c}", "${env:B}${input:c}"),
            (&style(&["{env:NAME}"]), "{env:B} {x}", "${B} {x}", "{env:B} {x}"),
            (&style(&[]), "${B}", "${B}", "${B}"),
        ] {
            let read = style.read(text);
            assert_eq!(read.to_string(), neutral, "{text}");
            assert_eq!(style.write(&read).as_deref(), Ok(back), "{text}");
        }
        // References of other hosts are literal text to a host without any.
        assert_eq!(style(&[]).read("${B}").plain(), Some("${B}"));
        assert_eq!(style(&[]).write(&Text::var("B")), Err("B".to_owned()));
        assert_eq!(style(&["${env:NAME}"]).write(&shell.read("${B:-c}")).as_deref(), Ok("${env:B}"));
    }
}
