//! A hash for session ids.

use std::hash::Hasher;

/// Hashes a session id by its first letters. Only ids that a server has drawn at random are in a table, so a client cannot
/// choose ids that collide.
#[derive(Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        // After an id comes a byte that is the same for all of them.
        let Some(letters) = bytes.first_chunk() else { return };
        self.0 = (self.0 ^ u64::from_le_bytes(*letters)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u8(&mut self, _: u8) {}

    fn finish(&self) -> u64 {
        // A table takes the lowest bits, which a product mixes least, and the highest.
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashSet,
        hash::{BuildHasher, BuildHasherDefault},
    };

    use crate::server::session::{id_hash::IdHasher, new_id};

    #[test]
    fn ids_are_spread() {
        let hash = |id: &str| BuildHasherDefault::<IdHasher>::default().hash_one(id);
        let ids: Vec<_> = (0..1024).map(|_| new_id().unwrap()).collect();
        for part in [|hash: u64| hash & 0x3ff, |hash: u64| hash >> 54] {
            // Of 1,024 balls in as many boxes 647 boxes have one or more, give or take 16.
            let taken: HashSet<u64> = ids.iter().map(|id| part(hash(id))).collect();
            assert!(taken.len() > 550, "{}", taken.len());
        }
        assert_eq!(hash("abc"), hash("xyz"), "short ones are not ids of ours");
    }
}
