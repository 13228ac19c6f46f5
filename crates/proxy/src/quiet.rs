//! The tools and prompts whose calls have ended without a request of the server.
//!
//! A call of any other one may be the first that the server sends a request about, so two of them do not share a
//! connection.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use couplet_core::{Call, Operation, sync::lock};

use crate::abilities::Abilities;

#[derive(Default)]
pub(crate) struct Quiet(Mutex<BTreeSet<(Abilities, Arc<str>)>>);

impl Quiet {
    /// The maximum number of names: callers choose them. Then all are learned again.
    const MOST: usize = 1024;

    /// Whether calls on connections that declare these capabilities were quiet.
    pub(crate) fn has(&self, abilities: Abilities, name: &Arc<str>) -> bool {
        lock(&self.0).contains(&(abilities, name.clone()))
    }

    pub(crate) fn add(&self, abilities: Abilities, name: &Arc<str>) {
        let mut names = lock(&self.0);
        let name = (abilities, name.clone());
        if names.contains(&name) {
            return;
        }
        if names.len() >= Self::MOST {
            names.clear();
        }
        names.insert(name);
    }
}

/// The name of a call among those that are alike: its method, and its tool or prompt. Resources are all alike.
pub(crate) fn name(call: &Call) -> Arc<str> {
    let parameter = Operation::target_parameter(&call.method);
    let target = parameter.and_then(|parameter| call.params.read_str(parameter).ok().flatten());
    Operation::span_name(&call.method, target.as_deref()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_names_is_limited() {
        let quiet = Quiet::default();
        let names: Vec<Arc<str>> = (0..=Quiet::MOST).map(|at| format!("tools/call {at}").into()).collect();
        for (at, name) in names.iter().enumerate() {
            quiet.add(Abilities::ALL, name);
            quiet.add(Abilities::ALL, name);
            assert!(quiet.has(Abilities::ALL, name), "{at}");
        }
        assert!(!quiet.has(Abilities::NONE, names.last().unwrap()), "the server could not send requests");
        assert!(!quiet.has(Abilities::ALL, &names[0]), "the names were learned again");
        assert_eq!(lock(&quiet.0).len(), 1);
    }
}
