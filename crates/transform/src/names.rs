//! The names of tools and prompts, inside and outside.
//!
//! Both directions are functions of the rules alone, and each is the inverse of the other. So a call needs no list, and what
//! is listed is what can be called.

use std::{collections::HashMap, sync::Arc};

use couplet_core::JsonText;

use crate::glob::Glob;

/// The names of one kind of item.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// By the name inside.
    renamed: HashMap<Arc<str>, Arc<Renamed>>,
    /// By the name outside.
    claimed: HashMap<Arc<str>, Arc<Renamed>>,
    hidden: Vec<Glob>,
    only: Option<Vec<Glob>>,
}

/// An item with another name.
#[derive(Debug)]
pub(crate) struct Renamed {
    pub(crate) own: Arc<str>,
    pub(crate) exposed: Arc<str>,
    /// The name inside, serialized.
    pub(crate) text: JsonText,
}

/// The item that a name outside stands for.
pub(crate) enum Named<'a> {
    Same(&'a str),
    Other(&'a Arc<Renamed>),
}

impl Named<'_> {
    pub(crate) fn own(&self) -> &str {
        match self {
            Self::Same(name) => name,
            Self::Other(renamed) => &renamed.own,
        }
    }
}

impl Names {
    /// # Panics
    /// If another item has the new name.
    #[track_caller]
    pub(crate) fn rename(&mut self, own: &str, exposed: &str) {
        assert!(!exposed.is_empty(), "`{own}` needs a name that is not empty");
        if let Some(other) = self.claimed.get(exposed) {
            assert!(&*other.own == own, "`{own}` and `{}` are both renamed to `{exposed}`", other.own);
        }
        let renamed = Arc::new(Renamed { own: own.into(), exposed: exposed.into(), text: JsonText::string(own) });
        if let Some(before) = self.renamed.insert(renamed.own.clone(), renamed.clone()) {
            self.claimed.remove(&before.exposed);
        }
        self.claimed.insert(renamed.exposed.clone(), renamed);
    }

    pub(crate) fn hide(&mut self, pattern: Glob) {
        self.hidden.push(pattern);
    }

    pub(crate) fn only(&mut self, patterns: Vec<Glob>) {
        self.only.get_or_insert_default().extend(patterns);
    }

    /// Whether all names are the same inside and outside.
    pub(crate) fn are_same(&self) -> bool {
        self.renamed.is_empty() && self.hidden.is_empty() && self.only.is_none()
    }

    /// The name outside; `None` if the item is hidden, or another one has its name.
    pub(crate) fn exposed<'a>(&'a self, own: &'a str) -> Option<&'a str> {
        if !self.shows(own) {
            return None;
        }
        match self.renamed.get(own) {
            Some(renamed) => Some(&renamed.exposed),
            None if self.claimed.contains_key(own) => None,
            None => Some(own),
        }
    }

    /// The item of a name outside; `None` if there is none.
    pub(crate) fn find<'a>(&'a self, exposed: &'a str) -> Option<Named<'a>> {
        let named = match self.claimed.get(exposed) {
            Some(renamed) => Named::Other(renamed),
            None if self.renamed.contains_key(exposed) => return None,
            None => Named::Same(exposed),
        };
        self.shows(named.own()).then_some(named)
    }

    fn shows(&self, own: &str) -> bool {
        let is_in = |patterns: &[Glob]| patterns.iter().any(|pattern| pattern.matches(own));
        self.only.as_deref().is_none_or(is_in) && !is_in(&self.hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 5] = ["a", "b", "c", "d", "delete_e"];

    fn names(renames: &[(&str, &str)], hidden: &[&str], only: Option<&[&str]>) -> Names {
        let mut names = Names::default();
        renames.iter().for_each(|(own, exposed)| names.rename(own, exposed));
        let globs = |patterns: &[&str]| patterns.iter().filter_map(|p| Glob::new(p).ok()).collect::<Vec<_>>();
        globs(hidden).into_iter().for_each(|glob| names.hide(glob));
        if let Some(only) = only {
            names.only(globs(only));
        }
        names
    }

    #[test]
    fn each_direction_is_the_inverse_of_the_other() {
        for names in [
            names(&[], &[], None),
            names(&[("a", "b")], &[], None),
            names(&[("a", "b"), ("b", "a")], &["c"], None),
            names(&[("a", "b"), ("b", "c"), ("x", "d")], &["a"], None),
            names(&[("a", "z"), ("a", "y")], &["delete_*"], Some(&["a", "b*"])),
        ] {
            for own in ALL {
                if let Some(exposed) = names.exposed(own) {
                    assert_eq!(names.find(exposed).expect("it is listed").own(), own);
                }
            }
            for exposed in ALL.into_iter().chain(["x", "y", "z"]) {
                if let Some(named) = names.find(exposed) {
                    assert_eq!(names.exposed(named.own()), Some(exposed));
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "`c` and `a` are both renamed to `b`")]
    fn a_name_is_claimed_once() {
        names(&[("a", "b"), ("c", "b")], &[], None);
    }
}
