//! A bounded set of cached results, each with its expiry.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use couplet_core::{Cached, Change, JsonText, Method};
use couplet_types::{RequestMethod, from_json};

use crate::incoming::is_part;

/// The identity of a server, or of a principal at one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Identity {
    /// The name that the program gave it.
    Named(Arc<str>),
    /// Its address.
    At(Arc<str>),
    /// The server, or the owner, of one connection.
    Only(u64),
}

/// The request of a cached result, and its owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) server: Identity,
    /// `None` for public results, which are shared.
    pub(crate) owner: Option<Identity>,
    /// The revision and the capabilities of the client, which a result may depend on.
    pub(crate) voice: Bytes,
    pub(crate) method: RequestMethod,
    pub(crate) params: Bytes,
}

impl Key {
    /// Whether a change at this server invalidates the result.
    pub(crate) fn is_invalidated_by(&self, server: &Identity, change: &Change) -> bool {
        self.server == *server
            && match Method::of(self.method).cached {
                Cached::Never | Cached::UntilExpired => false,
                Cached::UntilToolsChange => matches!(change, Change::Tools),
                Cached::UntilPromptsChange => matches!(change, Change::Prompts),
                Cached::UntilResourcesChange => matches!(change, Change::Resources),
                Cached::UntilUpdated => matches!(change, Change::Updated(uri) if self.reads(uri)),
            }
    }

    /// Whether it is the result of reading this resource, a part of it, or a resource that it is a part of.
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

/// A moment on two clocks: the monotonic one stops while the machine sleeps, and the other one can be set.
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
    /// `None` if the last result was not cacheable.
    text: Option<JsonText>,
    received: Moment,
    fresh_for: Duration,
    used: u64,
}

/// The cached results, the least recently used of which are evicted first.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    answers: HashMap<Key, Answer>,
    bytes: usize,
    uses: u64,
}

impl Entries {
    /// The longest time to live.
    const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
    /// The memory of an entry beside its text.
    const OVERHEAD: usize = 256;

    /// Returns a result that has not expired.
    pub(crate) fn get(&mut self, key: &Key, now: &Moment) -> Option<JsonText> {
        let answer = self.answers.get_mut(key).filter(|a| a.received.age(now) < a.fresh_for)?;
        self.uses += 1;
        answer.used = self.uses;
        answer.text.clone()
    }

    /// Whether the last result was not cacheable.
    pub(crate) fn is_uncacheable(&self, key: &Key) -> bool {
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

    /// Evicts entries until both limits hold.
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
    Entries::OVERHEAD + key.size() + text.map_or(0, |text| text.as_bytes().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> Key {
        let params = format!(r#"{{"uri":"a://{n}"}}"#).into();
        Key { server: Identity::Only(1), owner: None, voice: Bytes::new(), method: RequestMethod::ReadResource, params }
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let mut entries = Entries::default();
        let now = Moment::now();
        for n in 0..10 {
            entries.put(key(n), Some(JsonText::empty_object()), now, Entries::LONGEST);
            assert!(entries.get(&key(0), &now).is_some());
            entries.trim(3, usize::MAX);
        }
        assert_eq!(entries.len(), 3);
        assert!(entries.get(&key(1), &now).is_none() && entries.get(&key(9), &now).is_some());
        entries.trim(3, 2 * Entries::OVERHEAD);
        assert_eq!(entries.len(), 1, "bytes are bounded, too");
        entries.remove_all(|_| true);
        assert_eq!((entries.len(), entries.bytes), (0, 0));
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
