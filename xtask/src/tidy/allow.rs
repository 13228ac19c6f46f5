//! What is allowed in spite of a rule: to be made shorter, not longer.

use std::collections::BTreeSet;

/// A file, and the marker that a check would report there. A line that is not needed any more is a finding itself.
pub(super) const ALLOWED: &[(&str, &str)] = &[
    // The derives that the attributes put on a user's argument struct need these two by some path.
    ("crates/couplet/src/lib.rs", HIDDEN),
    // A folder of nobody, as a root.
    ("crates/testing/tests/checklist/s_roots.rs", concat!("/ho", "me/")),
];

/// A file above the limit.
pub(super) const LONG: &str = "long";
/// A public item that the documentation does not show.
pub(super) const HIDDEN: &str = "doc(hidden)";

/// The list, and which of its lines were needed.
#[derive(Debug)]
pub(super) struct Allowed {
    list: &'static [(&'static str, &'static str)],
    used: BTreeSet<(&'static str, &'static str)>,
}

impl Allowed {
    pub(super) fn new(list: &'static [(&'static str, &'static str)]) -> Self {
        Self { list, used: BTreeSet::new() }
    }

    pub(super) fn has(&mut self, file: &str, marker: &str) -> bool {
        let entry = self.list.iter().find(|(f, m)| *f == file && *m == marker);
        self.used.extend(entry);
        entry.is_some()
    }

    pub(super) fn unused(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.list.iter().copied().filter(|entry| !self.used.contains(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_is_told() {
        let mut allowed = Allowed::new(&[("a.rs", "x"), ("b.rs", "y")]);
        assert!(allowed.has("a.rs", "x"));
        assert!(!allowed.has("a.rs", "y"));
        assert_eq!(allowed.unused().collect::<Vec<_>>(), [("b.rs", "y")]);
    }
}
