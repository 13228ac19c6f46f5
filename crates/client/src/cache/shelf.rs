//! A bounded set of answers, each with its time.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use couplet_core::{Change, JsonText};
use couplet_types::{ListPrompts, ListResourceTemplates, ListResources, ListTools, ReadResource, Request, from_json};

use crate::incoming::is_part;

/// Somebody: a server, or a principal at one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    /// As the program calls it.
    Named(Arc<str>),
    /// As its address says.
    At(Arc<str>),
    /// The other side, or the owner, of one connection.
    Only(u64),
}

/// What an answer answers, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) server: Who,
    /// Nobody's answers are everybody's.
    pub(crate) owner: Option<Who>,
    /// The revision and the capabilities of the client: a server may answer others differently.
    pub(crate) voice: Bytes,
    pub(crate) method: &'static str,
    pub(crate) params: Bytes,
}

impl Key {
    /// Whether a change at this server makes the answer old.
    pub(crate) fn is_hit_by(&self, server: &Who, change: &Change) -> bool {
        self.server == *server
            && match change {
                Change::Tools => self.method == ListTools::METHOD,
                Change::Prompts => self.method == ListPrompts::METHOD,
                Change::Resources => [ListResources::METHOD, ListResourceTemplates::METHOD].contains(&self.method),
                Change::Updated(uri) => self.method == ReadResource::METHOD && self.reads(uri),
                _ => false,
            }
    }

    /// Whether it is the answer to reading this resource, a part of it, or something that it is a part of.
    fn reads(&self, uri: &str) -> bool {
        #[derive(serde::Deserialize)]
        struct Of {
            uri: String,
        }
        let of = std::str::from_utf8(&self.params).ok().and_then(|text| from_json::<Of>(text).ok());
        of.is_none_or(|of| of.uri == uri || is_part(uri, &of.uri) || is_part(&of.uri, uri))
    }

    fn size(&self) -> usize {
        self.voice.len() + self.params.len()
    }
}

/// A moment on two clocks: the steady one stands still while the machine sleeps, and the other one can be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(tokio::time::Instant, SystemTime);

impl Moment {
    pub(crate) fn now() -> Self {
        Self(tokio::time::Instant::now(), SystemTime::now())
    }

    fn age(&self, now: &Self) -> Duration {
        let wall = now.1.duration_since(self.1).unwrap_or_default();
        now.0.duration_since(self.0).max(wall)
    }
}

#[derive(Debug)]
struct Answer {
    /// Nothing if the last answer was not to be kept.
    text: Option<JsonText>,
    received: Moment,
    fresh_for: Duration,
    used: u64,
}

/// The answers.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    answers: HashMap<Key, Answer>,
    bytes: usize,
    uses: u64,
}

impl Shelf {
    /// No server knows more than a day ahead.
    const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
    /// What an entry takes beside its text.
    const OVERHEAD: usize = 256;

    /// An answer that is still fresh.
    pub(crate) fn get(&mut self, key: &Key, now: &Moment) -> Option<JsonText> {
        let answer = self.answers.get_mut(key).filter(|a| a.received.age(now) < a.fresh_for)?;
        self.uses += 1;
        answer.used = self.uses;
        answer.text.clone()
    }

    /// Whether the last answer said that it is not to be kept.
    pub(crate) fn is_kept_out(&self, key: &Key) -> bool {
        self.answers.get(key).is_some_and(|answer| answer.text.is_none())
    }

    pub(crate) fn put(&mut self, key: Key, text: Option<JsonText>, received: Moment, fresh_for: Duration) {
        self.remove(&key);
        self.uses += 1;
        self.bytes += size(&key, text.as_ref());
        let fresh_for = fresh_for.min(Self::LONGEST);
        self.answers.insert(key, Answer { text, received, fresh_for, used: self.uses });
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        if let Some(answer) = self.answers.remove(key) {
            self.bytes -= size(key, answer.text.as_ref());
        }
    }

    pub(crate) fn remove_all(&mut self, which: impl Fn(&Key) -> bool) {
        let Self { answers, bytes, .. } = self;
        answers.retain(|key, answer| {
            let goes = which(key);
            *bytes -= if goes { size(key, answer.text.as_ref()) } else { 0 };
            !goes
        });
    }

    /// Keeps within bounds.
    pub(crate) fn trim(&mut self, most: usize, bytes: usize) {
        while self.answers.len() > most || self.bytes > bytes {
            let Some(oldest) = self.answers.iter().min_by_key(|(_, a)| a.used).map(|(key, _)| key.clone()) else {
                return;
            };
            self.remove(&oldest);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.answers.len()
    }
}

fn size(key: &Key, text: Option<&JsonText>) -> usize {
    Shelf::OVERHEAD + key.size() + text.map_or(0, |text| text.as_bytes().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> Key {
        let params = format!(r#"{{"uri":"a://{n}"}}"#).into();
        Key { server: Who::Only(1), owner: None, voice: Bytes::new(), method: ReadResource::METHOD, params }
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let mut shelf = Shelf::default();
        let now = Moment::now();
        for n in 0..10 {
            shelf.put(key(n), Some(JsonText::empty_object()), now, Shelf::LONGEST);
            assert!(shelf.get(&key(0), &now).is_some());
            shelf.trim(3, usize::MAX);
        }
        assert_eq!(shelf.len(), 3);
        assert!(shelf.get(&key(1), &now).is_none() && shelf.get(&key(9), &now).is_some());
        shelf.trim(3, 2 * Shelf::OVERHEAD);
        assert_eq!(shelf.len(), 1, "bytes are bounded, too");
        shelf.remove_all(|_| true);
        assert_eq!((shelf.len(), shelf.bytes), (0, 0));
    }

    #[test]
    fn an_hour_of_sleep_is_an_hour() {
        let now = Moment::now();
        let slept = Moment(now.0, now.1 + Duration::from_secs(3600));
        let set_back = Moment(now.0 + Duration::from_secs(3600), now.1 - Duration::from_secs(10));
        assert_eq!(now.age(&slept), Duration::from_secs(3600));
        assert_eq!(now.age(&set_back), Duration::from_secs(3600));
    }
}
