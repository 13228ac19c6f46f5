//! A finding and its place.

use std::fmt;

use couplet_types::ProtocolVersion;
use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{Rule, visible::shown};

/// A violated rule. All strings from the server in it are escaped; see [`visible`](couplet_core::visible).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule: what is wrong, the reason, and the fix.
    pub rule: &'static Rule,
    /// The place.
    pub place: Place,
    /// What is wrong at this place.
    pub what: String,
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Rule { id, family, severity, why, fix, .. } = self.rule;
        let mut members = serializer.serialize_struct("Finding", 10)?;
        members.serialize_field("rule", id)?;
        members.serialize_field("family", family)?;
        members.serialize_field("severity", severity)?;
        members.serialize_field("kind", self.place.subject.kind())?;
        members.serialize_field("name", &self.place.subject.name())?;
        members.serialize_field("where", &self.place.to_string())?;
        members.serialize_field("pointer", &self.place.pointer)?;
        members.serialize_field("what", &self.what)?;
        members.serialize_field("why", why)?;
        members.serialize_field("fix", fix)?;
        members.end()
    }
}

/// The place of a finding: `tool get_weather, argument city`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The subject.
    pub subject: Subject,
    /// A JSON Pointer into the definition of the subject; empty for the whole of it.
    pub pointer: String,
}

impl Place {
    pub(crate) fn new(subject: Subject) -> Self {
        Self { subject, pointer: String::new() }
    }

    pub(crate) fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = pointer.into();
        self
    }

    /// The argument, or the member of the result, that the pointer leads to, as a path.
    fn member(&self) -> Option<(&'static str, String)> {
        let Subject::Tool(_) = &self.subject else { return None };
        let mut segments = self.pointer.split('/').skip(1);
        let kind = match segments.next() {
            Some("inputSchema") => "argument",
            Some("outputSchema") => "result",
            _ => return None,
        };
        let mut path = String::new();
        while let Some(segment) = segments.next() {
            match segment {
                "properties" => {
                    let Some(name) = segments.next() else { break };
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&name.replace("~1", "/").replace("~0", "~"));
                }
                "items" => path.push_str("[]"),
                _ => {}
            }
        }
        (!path.is_empty()).then_some((kind, path))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.subject.fmt(f)?;
        match self.member() {
            Some((kind, path)) => write!(f, ", {kind} {path}"),
            None => Ok(()),
        }
    }
}

/// The subject of a finding. Names are escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// The server as a whole.
    Server,
    /// The answers in one protocol revision.
    Revision(ProtocolVersion),
    /// A tool, by its name.
    Tool(String),
    /// A resource, by its URI.
    Resource(String),
    /// A resource template, by its URI template.
    Template(String),
    /// A prompt, by its name.
    Prompt(String),
}

impl Subject {
    /// Returns the kind of subject, in one word.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Revision(_) => "revision",
            Self::Tool(_) => "tool",
            Self::Resource(_) => "resource",
            Self::Template(_) => "template",
            Self::Prompt(_) => "prompt",
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Server => None,
            Self::Revision(version) => Some(version.as_str()),
            Self::Tool(name) | Self::Resource(name) | Self::Template(name) | Self::Prompt(name) => Some(name),
        }
    }

    /// Escapes and truncates the name.
    pub(crate) fn made_visible(self) -> Self {
        match self {
            Self::Tool(name) => Self::Tool(shown(&name, 80)),
            Self::Resource(uri) => Self::Resource(shown(&uri, 120)),
            Self::Template(uri) => Self::Template(shown(&uri, 120)),
            Self::Prompt(name) => Self::Prompt(shown(&name, 80)),
            other => other,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{} {name}", self.kind()),
            None => f.write_str(self.kind()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_told_as_an_argument() {
        for (pointer, expected) in [
            ("", "tool a"),
            ("/name", "tool a"),
            ("/inputSchema", "tool a"),
            ("/inputSchema/properties/city", "tool a, argument city"),
            ("/inputSchema/properties/a~1b/items/properties/c", "tool a, argument a/b[].c"),
            ("/inputSchema/properties/x/anyOf/1", "tool a, argument x"),
            ("/outputSchema/properties/total/type", "tool a, result total"),
        ] {
            let place = Place::new(Subject::Tool("a".to_owned())).at(pointer);
            assert_eq!(place.to_string(), expected);
        }
        assert_eq!(Place::new(Subject::Server).to_string(), "server");
    }
}
