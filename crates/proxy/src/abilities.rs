//! The client capabilities that a connection to a server with sessions declares.
//!
//! A session has the capabilities of its `initialize`, a stateless caller those of each request. So stateless callers share a
//! connection only with callers of the same capabilities where a further connection is not a process. On a pipe, all share
//! one that declares everything, and a request that the caller does not support is refused.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use couplet_types::{ClientCapabilities, ElicitationCapability, RawJson, RootsCapability, SamplingCapability};

/// A set of client capabilities: those that a server needs to send requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Abilities(u8);

impl Abilities {
    const FORM: Self = Self(1);
    const URL: Self = Self(1 << 1);
    const SAMPLING: Self = Self(1 << 2);
    const SAMPLING_TOOLS: Self = Self(1 << 3);
    const ROOTS: Self = Self(1 << 4);
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self((1 << 5) - 1);

    pub(crate) fn of(can: &ClientCapabilities) -> Self {
        let (elicitation, sampling) = (can.elicitation.as_ref(), can.sampling.as_ref());
        let all = [
            (Self::FORM, elicitation.is_some_and(ElicitationCapability::allows_form)),
            (Self::URL, elicitation.is_some_and(ElicitationCapability::allows_url)),
            (Self::SAMPLING, sampling.is_some()),
            (Self::SAMPLING_TOOLS, sampling.is_some_and(|sampling| sampling.tools.is_some())),
            (Self::ROOTS, can.roots.is_some()),
        ];
        all.into_iter().filter(|(_, can)| *can).fold(Self::NONE, |set, (one, _)| Self(set.0 | one.0))
    }

    /// Whether all capabilities of another set are in this one.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The capabilities to declare. Whether the caller has one is checked for each request all the same.
    pub(crate) fn capabilities(self) -> ClientCapabilities {
        let mut can = ClientCapabilities::new();
        if self.has(Self::FORM) || self.has(Self::URL) {
            let mut elicitation = ElicitationCapability::new();
            elicitation.form = self.has(Self::FORM).then(RawJson::empty_object);
            elicitation.url = self.has(Self::URL).then(RawJson::empty_object);
            can = can.elicitation(elicitation);
        }
        if self.has(Self::SAMPLING) {
            let mut sampling = SamplingCapability::new();
            sampling.tools = self.has(Self::SAMPLING_TOOLS).then(RawJson::empty_object);
            can = can.sampling(sampling);
        }
        if self.has(Self::ROOTS) {
            can = can.roots(RootsCapability::new().list_changed(true));
        }
        can
    }
}

/// The sets with connections of their own: as many as fit, and those of all capabilities and of none.
#[derive(Default)]
pub(crate) struct AbilitySets {
    /// Whether there are any: not if each connection is a process.
    are_split: AtomicBool,
    /// A byte for each.
    known: AtomicU32,
}

/// The mark of a byte that is in use.
const USED: u8 = 1 << 7;

impl AbilitySets {
    /// Decides by the transport of the first connection whether further ones are opened for other capabilities: not on a
    /// pipe, nor on a transport that is not known.
    pub(crate) fn split(&self, transport: Option<&str>) {
        self.are_split.store(transport.is_some_and(|transport| transport != "pipe"), Ordering::Release);
    }

    /// The set to declare for a caller: its own, or if there are too many, the smallest that has all of it.
    pub(crate) fn of(&self, can: &ClientCapabilities) -> Abilities {
        if !self.are_split.load(Ordering::Acquire) {
            return Abilities::ALL;
        }
        let own = Abilities::of(can);
        if own == Abilities::ALL || own == Abilities::NONE {
            return own;
        }
        let mut known = self.known.load(Ordering::Acquire);
        loop {
            let mut sets = known.to_le_bytes();
            if sets.contains(&(own.0 | USED)) {
                return own;
            }
            let Some(free) = sets.iter_mut().find(|set| **set == 0) else { return closest(sets, own) };
            *free = own.0 | USED;
            let new = u32::from_le_bytes(sets);
            match self.known.compare_exchange(known, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return own,
                Err(now) => known = now,
            }
        }
    }
}

fn closest(sets: [u8; 4], own: Abilities) -> Abilities {
    let sets = sets.map(|set| Abilities(set & !USED)).into_iter().chain([Abilities::ALL]);
    sets.filter(|set| set.has(own)).min_by_key(|set| set.0.count_ones()).unwrap_or(Abilities::ALL)
}

#[cfg(test)]
mod tests {
    use couplet_types::from_json;

    use super::*;

    fn can(text: &str) -> ClientCapabilities {
        from_json(text).unwrap()
    }

    #[test]
    fn what_is_declared_is_what_the_caller_can_do() {
        for text in [
            "{}",
            r#"{"elicitation":{"form":{}}}"#,
            r#"{"elicitation":{"url":{}}}"#,
            r#"{"elicitation":{"form":{},"url":{}},"sampling":{}}"#,
            r#"{"sampling":{"tools":{}},"roots":{"listChanged":true}}"#,
        ] {
            assert_eq!(Abilities::of(&can(text)).capabilities(), can(text));
        }
        assert_eq!(Abilities::of(&can(r#"{"elicitation":{}}"#)), Abilities::FORM);
        assert_eq!(Abilities::of(&Abilities::ALL.capabilities()), Abilities::ALL);
    }

    #[test]
    fn beyond_the_limit_a_larger_set_is_declared() {
        let sets = AbilitySets::default();
        let form = can(r#"{"elicitation":{}}"#);
        assert_eq!(sets.of(&form), Abilities::ALL);
        for transport in [None, Some("pipe")] {
            sets.split(transport);
            assert_eq!(sets.of(&form), Abilities::ALL, "each connection may be a process");
        }
        sets.split(Some("tcp"));
        for text in
            [r#"{"elicitation":{}}"#, r#"{"sampling":{}}"#, r#"{"roots":{}}"#, r#"{"elicitation":{},"roots":{}}"#, "{}"]
        {
            assert_eq!(sets.of(&can(text)), Abilities::of(&can(text)), "{text}");
        }
        assert_eq!(sets.of(&can(r#"{"elicitation":{"url":{}}}"#)), Abilities::ALL);
        assert_eq!(sets.of(&form), Abilities::FORM);
        assert_eq!(sets.of(&Abilities::ALL.capabilities()), Abilities::ALL);
    }
}
