//! Links of a server to resources of another one.
//!
//! A server can put the URI of any resource into a result, and clients read what is linked. Such a read is decided twice: as
//! any read of the resource, and as [`Door::Link`] with the trust of the server that made the link. The stricter decision
//! counts.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::RandomState},
    fmt,
    hash::BuildHasher,
    sync::Mutex,
};

use couplet_core::{Call, Reply, sync::lock};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::{
    policy::{Door, FlowKey, Policy, Subject, Trust, Verdict},
    service::{View, rules::Rules, run::Flight, snapshot::Snapshot},
};

/// The links that callers have received, and the least trusted server that made each.
#[derive(Default)]
pub(crate) struct Links {
    callers: Mutex<Callers>,
    hasher: RandomState,
}

#[derive(Default)]
struct Callers {
    all: HashMap<FlowKey, Received>,
    clock: u64,
}

#[derive(Default)]
struct Received {
    /// By the hash of the URI: a collision makes a read stricter, and cannot be foreseen.
    uris: HashMap<u64, Trust>,
    /// Set if there were too many links: all resources count as linked.
    all: Option<Trust>,
    used: u64,
}

impl Links {
    /// The most callers whose links are known. Those that were idle for longest are removed.
    const CALLERS: usize = 10_000;
    /// The most links of a caller.
    const URIS: usize = 1024;

    fn note(&self, key: FlowKey, uris: &[String], trust: Trust, all: bool) {
        let hashes: Vec<_> = uris.iter().map(|uri| self.hasher.hash_one(uri)).collect();
        let mut callers = lock(&self.callers);
        if callers.all.len() >= Self::CALLERS && !callers.all.contains_key(&key) {
            callers.evict();
        }
        callers.clock += 1;
        let clock = callers.clock;
        let received = callers.all.entry(key).or_default();
        received.used = clock;
        let lower = |known: &mut Trust| *known = trust.min(*known);
        for hash in hashes {
            received.uris.entry(hash).and_modify(lower).or_insert(trust);
        }
        if all || received.uris.len() > Self::URIS {
            let lowest = received.uris.drain().map(|(_, trust)| trust).chain(received.all).min();
            received.all = Some(lowest.map_or(trust, |lowest| lowest.min(trust)));
        }
    }

    /// The trust in the server that has linked a URI for a caller; `None` if no other server has.
    pub(crate) fn source(&self, key: &FlowKey, uri: &str) -> Option<Trust> {
        let hash = self.hasher.hash_one(uri);
        let mut callers = lock(&self.callers);
        callers.clock += 1;
        let clock = callers.clock;
        let received = callers.all.get_mut(key)?;
        received.used = clock;
        received.uris.get(&hash).copied().into_iter().chain(received.all).min()
    }
}

impl Callers {
    /// Removes the sixteenth that was used least recently, so that this is cheap per caller.
    fn evict(&mut self) {
        let mut uses: Vec<u64> = self.all.values().map(|received| received.used).collect();
        let at = (Links::CALLERS / 16).min(uses.len().saturating_sub(1));
        if at < uses.len() {
            let (_, &mut limit, _) = uses.select_nth_unstable(at);
            self.all.retain(|_, received| received.used > limit);
        }
    }
}

impl View {
    /// The way on which a caller reads a resource.
    pub(crate) fn read_door(&self, snapshot: &Snapshot, call: &Call, uri: &str) -> Door {
        let is_plain = snapshot.rules.policy.is_open() || snapshot.members.len() < 2;
        match is_plain || self.inner().links.source(&Rules::flow_key(call), uri).is_none() {
            true => Door::Read,
            false => Door::Link,
        }
    }
}

impl Flight<'_> {
    /// Notes the resources of other servers that a reply links to.
    pub(crate) fn note_links(&self, call: &Call, reply: &Reply) {
        let (Reply::Complete(done) | Reply::Extension { done, .. }) = reply else { return };
        if self.snapshot.rules.policy.is_open() || self.snapshot.members.len() < 2 {
            return;
        }
        let text = done.members();
        // Most results have no link. An escape can hide the name of the member.
        if !text.as_str().contains("uri") && !text.as_str().contains("\\u") {
            return;
        }
        let mut found = FoundUris::default();
        let inside = Inside { found: &mut found, is_uri: false };
        let is_read = inside.deserialize(&mut serde_json::Deserializer::from_str(text.as_str())).is_ok();
        let own = self.goal.item.member;
        found.uris.retain(|uri| self.snapshot.owner(uri).is_some_and(|owner| owner != own));
        let all = !is_read || found.is_cut;
        if all || !found.uris.is_empty() {
            let trust = self.snapshot.rules.trust(self.snapshot.members[own].id());
            self.view.inner().links.note(Rules::flow_key(call), &found.uris, trust, all);
        }
    }
}

impl Flight<'_> {
    /// Decides about the read of a resource that another server has linked to.
    pub(crate) fn verdict_of_link(&self, call: &Call, policy: &Policy, mut subject: Subject<'_>) -> Verdict {
        let read = policy.decide(&Subject { door: Door::Read, ..subject });
        let source = self.view.inner().links.source(&Rules::flow_key(call), &self.goal.item.raw);
        subject.trust = subject.trust.min(source.unwrap_or_default());
        let link = policy.decide(&subject);
        if link.decision > read.decision { link } else { read }
    }
}

/// The strings that are called `uri`, anywhere in a result: in links, in embedded resources, in the results of tasks.
#[derive(Default)]
struct FoundUris {
    uris: Vec<String>,
    /// Whether there were more than are of use.
    is_cut: bool,
}

/// A value inside of a result.
struct Inside<'a> {
    found: &'a mut FoundUris,
    /// Whether it is the value of `uri`.
    is_uri: bool,
}

impl<'de> DeserializeSeed<'de> for Inside<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Inside<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a result")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            map.next_value_seed(Inside { found: self.found, is_uri: key == "uri" })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Inside { found: self.found, is_uri: false })?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        match self.is_uri {
            true if self.found.uris.len() < Links::URIS => self.found.uris.push(text.to_owned()),
            is_uri => self.found.is_cut |= is_uri,
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
