//! The owners of sessions to which requests were forwarded lately, so that the store is not asked for every request.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::server::{
    endpoint::Endpoint,
    lock,
    response::Reply,
    session::{claim::There, not_found, store::Node},
};

/// The owners of the last second, in two halves: the older one is dropped when all of it has expired.
///
/// An owner that is not the owner any more answers 421, or cannot be reached: then the store is asked.
#[derive(Debug)]
pub(crate) struct Owners {
    since: Instant,
    new: HashMap<Arc<str>, Owner>,
    old: HashMap<Arc<str>, Owner>,
}

#[derive(Clone, Debug)]
struct Owner {
    principal: Option<Arc<str>>,
    node: Node,
}

impl Owners {
    /// The time after which the new half is the old one: an owner is known for at most twice as long.
    const HALF: Duration = Duration::from_millis(500);
    /// The number of owners in a half; further ones are not stored.
    const MOST: usize = 1 << 13;

    pub(crate) fn new() -> Self {
        Self { since: Instant::now(), new: HashMap::new(), old: HashMap::new() }
    }

    fn turn(&mut self, now: Instant) {
        let age = now.saturating_duration_since(self.since);
        if age >= Self::HALF {
            self.old = std::mem::take(&mut self.new);
            if age >= 2 * Self::HALF {
                self.old = HashMap::new();
            }
            self.since = now;
        }
    }

    fn get(&mut self, id: &str, now: Instant) -> Option<(Arc<str>, Owner)> {
        self.turn(now);
        let (id, owner) = self.new.get_key_value(id).or_else(|| self.old.get_key_value(id))?;
        Some((id.clone(), owner.clone()))
    }

    fn put(&mut self, id: &Arc<str>, owner: Owner, now: Instant) {
        self.turn(now);
        if self.new.len() < Self::MOST || self.new.contains_key(id) {
            self.new.insert(id.clone(), owner);
        }
    }

    fn remove(&mut self, id: &str) {
        self.new.remove(id);
        self.old.remove(id);
    }
}

impl Endpoint {
    /// Returns the owner of a session, if it has answered a forwarded request within the last second.
    ///
    /// # Errors
    /// If the session belongs to another caller.
    pub(crate) fn known_owner(&self, id: &str, principal: Option<&Arc<str>>) -> Result<Option<Box<There>>, Box<Reply>> {
        let Some(replicas) = &self.config.replicas else { return Ok(None) };
        let Some((id, owner)) = lock(&replicas.owners).get(id, Instant::now()) else { return Ok(None) };
        if owner.principal.as_ref() != principal {
            return Err(not_found().into());
        }
        Ok(Some(Box::new(There { id, owner: owner.node, record: None })))
    }

    /// Takes note of whether a replica has answered as the owner of a session.
    pub(crate) fn note_owner(&self, there: &There, principal: Option<&Arc<str>>, is_owner: bool) {
        let Some(replicas) = &self.config.replicas else { return };
        let mut owners = lock(&replicas.owners);
        if is_owner {
            let owner = Owner { principal: principal.cloned(), node: there.owner.clone() };
            owners.put(&there.id, owner, Instant::now());
        } else {
            owners.remove(&there.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner { principal: None, node: Node::new(name) }
    }

    fn id(n: usize) -> Arc<str> {
        n.to_string().into()
    }

    #[test]
    fn an_owner_is_known_for_at_most_a_second() {
        let (mut owners, start) = (Owners::new(), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        owners.put(&id(1), owner("a"), at(10));
        let known = |owners: &mut Owners, millis| owners.get("1", at(millis)).map(|(_, owner)| owner.node.id);
        assert_eq!(known(&mut owners, 400).as_deref(), Some("a"));
        assert_eq!(known(&mut owners, 600).as_deref(), Some("a"));
        assert_eq!(known(&mut owners, 1200), None);
        owners.put(&id(1), owner("a"), at(1300));
        assert_eq!(known(&mut owners, 9000), None, "without a look in between");
    }

    #[test]
    fn an_owner_is_replaced_and_removed() {
        let (mut owners, now) = (Owners::new(), Instant::now());
        owners.put(&id(1), owner("a"), now);
        owners.put(&id(1), owner("b"), now + Owners::HALF);
        assert_eq!(owners.get("1", now + Owners::HALF).map(|(_, owner)| owner.node), Some(Node::new("b")));
        owners.remove("1");
        assert!(owners.get("1", now + Owners::HALF).is_none(), "in both halves");
    }

    #[test]
    fn there_is_a_limit() {
        let (mut owners, now) = (Owners::new(), Instant::now());
        for n in 0..=Owners::MOST {
            owners.put(&id(n), owner("a"), now);
        }
        assert_eq!(owners.new.len(), Owners::MOST);
        owners.put(&id(0), owner("b"), now);
        assert_eq!(owners.get("0", now).map(|(_, owner)| owner.node), Some(Node::new("b")));
    }
}
