//! The union of the filters of all subscriptions, with the number of filters that have each part: a new subscription costs
//! no look at the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::server::hub::{Filter, Topic};

/// The union of filters.
#[derive(Debug, Default)]
pub(crate) struct Union {
    tools: usize,
    prompts: usize,
    resources: usize,
    uris: BTreeMap<String, usize>,
    topics: BTreeMap<Topic, usize>,
}

impl Union {
    /// Replaces a filter by another one; true if the union is another one then.
    pub(crate) fn replace(&mut self, old: &Filter, new: &Filter) -> bool {
        let mut is_changed = flag(&mut self.tools, old.tools, new.tools);
        is_changed |= flag(&mut self.prompts, old.prompts, new.prompts);
        is_changed |= flag(&mut self.resources, old.resources, new.resources);
        for uri in new.uris.difference(&old.uris) {
            is_changed |= add(&mut self.uris, uri.clone());
        }
        for uri in old.uris.difference(&new.uris) {
            is_changed |= remove(&mut self.uris, uri);
        }
        if (&old.topics, &old.principal) != (&new.topics, &new.principal) {
            for topic in topics(new) {
                is_changed |= add(&mut self.topics, topic);
            }
            for topic in topics(old) {
                is_changed |= remove(&mut self.topics, &topic);
            }
        }
        is_changed
    }

    /// The union, but for topics.
    pub(crate) fn filter(&self) -> Filter {
        let mut all = Filter::new();
        (all.tools, all.prompts, all.resources) = (self.tools > 0, self.prompts > 0, self.resources > 0);
        all.uris = self.uris.keys().cloned().collect();
        all
    }

    /// The topics of all filters.
    pub(crate) fn topics(&self) -> BTreeSet<Topic> {
        self.topics.keys().cloned().collect()
    }
}

/// The topics of a filter.
fn topics(filter: &Filter) -> impl Iterator<Item = Topic> {
    filter.topics.iter().map(|(member, key)| Topic::new(member, key).for_principal(filter.principal.clone()))
}

/// Changes the number of filters with a flag; true if the first got it or the last lost it.
fn flag(count: &mut usize, old: bool, new: bool) -> bool {
    let had = *count > 0;
    *count = (*count + usize::from(new)).saturating_sub(usize::from(old));
    had != (*count > 0)
}

/// Adds one; true if it is the first.
fn add<K: Ord>(counts: &mut BTreeMap<K, usize>, key: K) -> bool {
    let count = counts.entry(key).or_default();
    *count += 1;
    *count == 1
}

/// Removes one; true if it was the last.
fn remove<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) -> bool {
    match counts.get_mut(key) {
        Some(count) if *count > 1 => {
            *count -= 1;
            false
        }
        _ => counts.remove(key).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_has_what_any_filter_has() {
        let (mut union, none) = (Union::default(), Filter::new());
        let first = Filter::new().tools().resource("a").topic("taskIds", "1");
        let second = Filter::new().tools().prompts().resource("a").resource("b");
        assert!(union.replace(&none, &first));
        assert!(union.replace(&none, &second));
        assert!(!union.replace(&none, &first), "the union has all of it");
        assert_eq!(union.filter(), Filter::new().tools().prompts().resource("a").resource("b"));
        assert_eq!(union.topics(), BTreeSet::from([Topic::new("taskIds", "1")]));
        // A filter that changes.
        let third = second.clone().resources().resource("c");
        assert!(union.replace(&second, &third));
        assert!(!union.replace(&third, &third));
        let mut ann = first.clone();
        ann.principal = Some("ann".into());
        assert!(union.replace(&first, &ann), "topics belong to a principal");
        assert_eq!(union.topics().len(), 2);
        assert!(!union.replace(&first, &Filter::new().topic("taskIds", "1")));
        assert!(union.replace(&third, &none));
        assert_eq!(union.filter(), Filter::new().tools().resource("a"));
        assert!(union.replace(&Filter::new().topic("taskIds", "1"), &none));
        assert!(union.replace(&ann, &none));
        assert_eq!((union.filter(), union.topics().len()), (none, 0));
    }
}
