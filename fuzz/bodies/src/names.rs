//! Names of servers and tools.

use couplet_host::names::{NameTable, Naming, ServerId, exposed_name};

/// Takes the lines of the input as keys of servers and names of tools, in turn.
///
/// # Panics
/// When a name is too long or has other characters, or when two different tools have one name without a report.
pub fn names(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines: Vec<&str> = text.split('\n').take(64).collect();
    let mut items = Vec::new();
    for pair in lines.chunks(2) {
        let id = ServerId::from_key(pair[0]);
        assert_eq!(ServerId::parse(id.as_str()).as_ref(), Ok(&id));
        assert_eq!(ServerId::from_key(pair[0]), id);
        let raw = pair.get(1).copied().unwrap_or_default();
        let name = exposed_name(&id, raw);
        assert!(name.len() <= 48 && name.starts_with(&format!("{id}__")), "{name}");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{name}");
        if !items.contains(&(id.clone(), raw)) {
            items.push((id, raw));
        }
    }
    for naming in [Naming::qualified(), Naming::bare()] {
        let table = NameTable::new(&naming, items.iter().map(|(id, raw)| (id.clone(), (*raw).into(), ())));
        let hidden: usize = table.collisions().iter().map(|collision| collision.claimants.len()).sum();
        assert_eq!(table.entries().len() + hidden, items.len());
        for entry in table.entries() {
            let found = table.get(&entry.name).expect("an entry is found by its name");
            assert_eq!((&found.server, &found.raw), (&entry.server, &entry.raw));
        }
    }
}
