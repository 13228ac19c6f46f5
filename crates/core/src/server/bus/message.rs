//! Changes as bytes on a bus.
//!
//! The format is a promise to replicas of other releases: members and kinds may be added, and a message that this release
//! does not know is skipped.

use std::sync::Arc;

use bytes::Bytes;
use couplet_types::RawJson;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind},
    server::hub::{Change, ExtensionEvent},
    wire::to_json,
};

/// What one replica has to say to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// A change.
    Change(Change),
    /// More changes than there was room for: lists and resources may all have changed.
    Everything,
}

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct NewsText {
    #[serde(rename = "v")]
    version: u32,
    /// The replica that published it, which ignores it.
    from: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<EventText>,
}

#[derive(Serialize, Deserialize)]
struct EventText {
    member: String,
    key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    principal: Option<Arc<str>>,
    method: String,
    params: RawJson,
}

impl News {
    /// Encodes it as published by the replica `from`.
    pub(crate) fn encode(&self, from: &str) -> Bytes {
        let (kind, uri, event) = match self {
            Self::Everything => ("everything", None, None),
            Self::Change(Change::Tools) => ("tools", None, None),
            Self::Change(Change::Prompts) => ("prompts", None, None),
            Self::Change(Change::Resources) => ("resources", None, None),
            Self::Change(Change::Updated(uri)) => ("updated", Some(uri.clone()), None),
            Self::Change(Change::Extension(event)) => ("extension", None, Some(EventText::new(event))),
        };
        to_json(&NewsText { version: VERSION, from: from.to_owned(), kind: kind.to_owned(), uri, event }).into()
    }

    /// Decodes a message; `None` if the replica `me` published it.
    ///
    /// # Errors
    /// If it is malformed, or of a kind or version that this release does not know.
    pub(crate) fn decode(text: &[u8], me: &str) -> Result<Option<Self>, Error> {
        let NewsText { version, from, kind, uri, event } = serde_json::from_slice(text)?;
        if version != VERSION {
            return Err(unknown(format!("a change of the format {version} cannot be decoded: expected {VERSION}")));
        }
        if from == me {
            return Ok(None);
        }
        let change = match (&*kind, uri, event) {
            ("everything", ..) => return Ok(Some(Self::Everything)),
            ("tools", ..) => Change::Tools,
            ("prompts", ..) => Change::Prompts,
            ("resources", ..) => Change::Resources,
            ("updated", Some(uri), _) => Change::Updated(uri),
            ("extension", _, Some(event)) if event.params.is_object() => event.into_event().into(),
            _ => return Err(unknown(format!("a change of the kind `{kind}` cannot be decoded"))),
        };
        Ok(Some(Self::Change(change)))
    }
}

impl EventText {
    fn new(event: &ExtensionEvent) -> Self {
        let ExtensionEvent { topic: (member, key), principal, method, params } = event.clone();
        Self { member, key, principal, method, params }
    }

    fn into_event(self) -> ExtensionEvent {
        ExtensionEvent::new(self.member, self.key, self.method, self.params).for_principal(self.principal)
    }
}

fn unknown(what: String) -> Error {
    Error::new(ErrorKind::Protocol, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(news: News, text: &str) {
        let encoded = news.encode("a");
        assert_eq!(encoded, text);
        assert_eq!(News::decode(&encoded, "b").unwrap().as_ref(), Some(&news), "{text}");
        assert_eq!(News::decode(&encoded, "a").unwrap(), None, "a replica ignores its own: {text}");
    }

    #[test]
    fn the_format_is_stable() {
        check(News::Everything, r#"{"v":1,"from":"a","kind":"everything"}"#);
        check(News::Change(Change::Tools), r#"{"v":1,"from":"a","kind":"tools"}"#);
        check(News::Change(Change::Prompts), r#"{"v":1,"from":"a","kind":"prompts"}"#);
        check(News::Change(Change::Resources), r#"{"v":1,"from":"a","kind":"resources"}"#);
        check(News::Change(Change::Updated("x://y".into())), r#"{"v":1,"from":"a","kind":"updated","uri":"x://y"}"#);
    }

    #[test]
    fn an_event_arrives_complete() {
        let params = RawJson::from_text(r#"{"n":1.50}"#).unwrap();
        let event = ExtensionEvent::new("ids", "7", "x/changed", params).for_principal(Some("alice".into()));
        let encoded = News::Change(event.into()).encode("a");
        let Ok(Some(News::Change(Change::Extension(event)))) = News::decode(&encoded, "b") else { panic!() };
        assert_eq!((&*event.topic.0, &*event.topic.1, &*event.method), ("ids", "7", "x/changed"));
        assert_eq!((event.principal.as_deref(), event.params.get()), (Some("alice"), r#"{"n":1.50}"#));
    }

    #[test]
    fn members_may_be_added_and_the_rest_is_an_error() {
        let known = br#"{"v":1,"from":"a","kind":"tools","since":5}"#;
        assert_eq!(News::decode(known, "b").unwrap(), Some(News::Change(Change::Tools)));
        for text in [
            "",
            "[]",
            r#"{"v":2,"from":"a","kind":"tools"}"#,
            r#"{"v":1,"from":"a","kind":"roots"}"#,
            r#"{"v":1,"from":"a","kind":"updated"}"#,
            r#"{"v":1,"from":"a","kind":"extension"}"#,
            r#"{"v":1,"from":"a","kind":"extension","event":{"member":"a","key":"b","method":"c","params":[]}}"#,
        ] {
            assert!(News::decode(text.as_bytes(), "b").is_err(), "{text}");
        }
    }
}
