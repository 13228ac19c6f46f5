//! The changes of a hub that its bridge has not published yet.

use std::{collections::BTreeSet, task::Waker};

use super::message::News;
use crate::server::hub::Change;

/// A bounded set of changes. Equal ones are one, and a later event replaces an earlier one.
#[derive(Debug, Default)]
pub(crate) struct Unpublished {
    changes: BTreeSet<Change>,
    /// There were more changes than there is room for.
    everything: bool,
    /// Whether the message that was taken last is being published.
    in_transit: bool,
    waker: Option<Waker>,
}

impl Unpublished {
    /// The number of changes that wait to be published.
    const WAITING: usize = 1024;

    /// Adds a change; returns the waker to wake once the hub is unlocked.
    pub(crate) fn add(&mut self, change: &Change) -> Option<Waker> {
        let covered = self.everything && !matches!(change, Change::Extension(_));
        if !covered {
            self.changes.replace(change.clone());
            self.shrink();
        }
        self.waker.take()
    }

    /// Takes the next one.
    pub(crate) fn take(&mut self) -> Option<News> {
        let next = if std::mem::take(&mut self.everything) {
            Some(News::Everything)
        } else {
            self.changes.pop_first().map(News::Change)
        };
        self.in_transit = next.is_some();
        next
    }

    /// Puts back what could not be published, unless a later change has replaced it.
    pub(crate) fn put_back(&mut self, news: News) {
        self.in_transit = false;
        match news {
            News::Everything => self.everything = true,
            News::Change(change) => {
                self.changes.insert(change);
            }
        }
        self.shrink();
    }

    /// The number of messages that wait, the one that is being published included.
    pub(crate) fn len(&self) -> usize {
        self.changes.len() + usize::from(self.everything) + usize::from(self.in_transit)
    }

    pub(crate) fn register(&mut self, waker: &Waker) {
        self.waker = Some(waker.clone());
    }

    /// One message that everything has changed replaces the changes of lists and resources. An event has no such
    /// substitute: the first ones are lost.
    fn shrink(&mut self) {
        if self.changes.len() > Self::WAITING || self.everything {
            self.everything = true;
            self.changes.retain(|change| matches!(change, Change::Extension(_)));
        }
        while self.changes.len() > Self::WAITING {
            self.changes.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::hub::ExtensionEvent;

    fn updated(number: usize) -> Change {
        Change::Updated(format!("x://{number:05}"))
    }

    fn event(key: usize, params: &str) -> Change {
        let params = couplet_types::RawJson::from_text(params).unwrap();
        ExtensionEvent::new("ids", format!("{key:05}"), "x/changed", params).into()
    }

    #[test]
    fn equal_changes_are_one() {
        let mut waiting = Unpublished::default();
        for _ in 0..5000 {
            waiting.add(&Change::Tools);
        }
        waiting.add(&event(1, "{}"));
        waiting.add(&event(1, r#"{"n":2}"#));
        assert_eq!(waiting.take(), Some(News::Change(Change::Tools)));
        let Some(News::Change(Change::Extension(latest))) = waiting.take() else { panic!() };
        assert_eq!(latest.params.get(), r#"{"n":2}"#);
        assert_eq!(waiting.take(), None);
    }

    #[test]
    fn too_many_changes_are_one_message_about_everything() {
        let mut waiting = Unpublished::default();
        waiting.add(&event(1, "{}"));
        (0..5000).for_each(|number| drop(waiting.add(&updated(number))));
        assert_eq!(waiting.len(), 2);
        assert_eq!(waiting.take(), Some(News::Everything));
        assert_eq!(waiting.take(), Some(News::Change(event(1, "{}"))));
        assert_eq!((waiting.take(), waiting.len()), (None, 0));
        waiting.add(&updated(1));
        assert_eq!(waiting.take(), Some(News::Change(updated(1))), "afterwards changes are told apart again");
    }

    #[test]
    fn of_too_many_events_the_first_are_lost() {
        let mut waiting = Unpublished::default();
        (0..2000).for_each(|key| drop(waiting.add(&event(key, "{}"))));
        assert_eq!(waiting.changes.len(), Unpublished::WAITING);
        assert!(waiting.changes.contains(&event(1999, "{}")));
    }

    #[test]
    fn what_was_put_back_does_not_replace_a_later_event() {
        let mut waiting = Unpublished::default();
        waiting.add(&event(1, r#"{"n":1}"#));
        let early = waiting.take().unwrap();
        waiting.add(&event(1, r#"{"n":2}"#));
        waiting.put_back(early);
        let Some(News::Change(Change::Extension(latest))) = waiting.take() else { panic!() };
        assert_eq!(latest.params.get(), r#"{"n":2}"#);
    }
}
