//! Names of tools and arguments: within the limits of hosts, unique, and independent of the order of the document.

use std::collections::{BTreeMap, BTreeSet};

/// The maximum length. Model APIs accept 64 characters, and hosts prepend the name of the server.
const LONGEST: usize = 56;

/// The maximum length of an argument's name.
const LONGEST_ARGUMENT: usize = 64;

/// Returns a name for each operation, which is given by the wanted name and by a key that no other has.
///
/// Names that would be the same, even if only their case differs, all get a suffix from their keys, so that no name depends on
/// the order of operations.
pub(super) fn unique(operations: &[(String, String)]) -> Vec<String> {
    let plain: Vec<String> = operations.iter().map(|(wanted, key)| shortened(&tool_name(wanted), key)).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in &plain {
        *counts.entry(name.to_ascii_lowercase()).or_default() += 1;
    }
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let is_single = |name: &str| counts.get(&name.to_ascii_lowercase()) == Some(&1);
    taken.extend(plain.iter().filter(|name| is_single(name)).map(|name| name.to_ascii_lowercase()));
    let named = plain.into_iter().zip(operations).map(|(name, (_, key))| {
        if is_single(&name) {
            return name;
        }
        let tries = std::iter::once(key.clone()).chain((2..).map(|number: u32| format!("{key} {number}")));
        let free = tries.map(|key| suffixed(&name, &key)).find(|name| taken.insert(name.to_ascii_lowercase()));
        free.unwrap_or(name)
    });
    named.collect()
}

/// Returns a wanted name with the characters of a tool's name, beginning with a letter.
fn tool_name(wanted: &str) -> String {
    let name = replaced(wanted, "-");
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => name,
        false => format!("call_{}", name.trim_start_matches(['-', '_'])),
    }
}

/// Returns a name for an argument that no other has. `place` distinguishes those of the same name.
pub(super) fn argument(wanted: &str, place: &str, taken: &mut Taken) -> String {
    let plain = replaced(wanted, "-.");
    let plain = if plain.is_empty() { place.to_owned() } else { plain };
    let plain = match plain.len() > LONGEST_ARGUMENT {
        true => cut(&plain, LONGEST_ARGUMENT - 9) + "_" + &digest(wanted),
        false => plain,
    };
    if taken.names.insert(plain.clone()) {
        return plain;
    }
    let with_place = format!("{}_{place}", cut(&plain, LONGEST_ARGUMENT - 20));
    let next = taken.numbers.entry(with_place.clone()).or_insert(1);
    loop {
        let name = if *next == 1 { with_place.clone() } else { format!("{with_place}_{next}") };
        *next += 1;
        if taken.names.insert(name.clone()) {
            return name;
        }
    }
}

/// Whether a name has letters or digits that the name of an argument cannot have.
pub(super) fn is_foreign(wanted: &str) -> bool {
    wanted.chars().any(|c| !c.is_ascii() && c.is_alphanumeric())
}

/// The names that arguments have, and the next number of names that would be the same.
#[derive(Default)]
pub(super) struct Taken {
    names: BTreeSet<String>,
    numbers: BTreeMap<String, u32>,
}

/// Replaces runs of characters that a name cannot have by one `_`.
fn replaced(wanted: &str, more: &str) -> String {
    let mut name = String::new();
    for c in wanted.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' || more.contains(c) => name.push(c),
            _ if name.ends_with('_') || name.is_empty() => {}
            _ => name.push('_'),
        }
    }
    let end = name.trim_end_matches('_').len();
    // A name such as `_` consists of nothing else.
    if end > 0 && !wanted.ends_with('_') {
        name.truncate(end);
    }
    name
}

fn shortened(name: &str, key: &str) -> String {
    if name.len() > LONGEST { suffixed(name, key) } else { name.to_owned() }
}

fn suffixed(name: &str, key: &str) -> String {
    format!("{}_{}", cut(name, LONGEST - 9).trim_end_matches(['_', '-']), digest(key))
}

fn cut(name: &str, most: usize) -> String {
    name.chars().take(most).collect()
}

/// Eight hexadecimal digits of a text (FNV-1a).
fn digest(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(wanted: &[&str]) -> Vec<String> {
        let operations: Vec<_> =
            wanted.iter().enumerate().map(|(at, w)| ((*w).to_owned(), format!("GET /{at}"))).collect();
        unique(&operations)
    }

    #[test]
    fn names_have_the_characters_of_tools() {
        let found = names(&["listPets", "repos/get-content", "Été à la plage", "42nd", "__x", "a..b"]);
        assert_eq!(found, ["listPets", "repos_get-content", "t_la_plage", "call_42nd", "call_x", "a_b"]);
    }

    #[test]
    fn names_are_unique_and_stable() {
        let found = names(&["list", "List", "list", "other", &"x".repeat(90), &"x".repeat(91)]);
        let lower: BTreeSet<String> = found.iter().map(|name| name.to_ascii_lowercase()).collect();
        assert_eq!(lower.len(), found.len(), "{found:?}");
        assert!(found.iter().all(|name| name.len() <= LONGEST), "{found:?}");
        assert_eq!(found[3], "other");
        // The order does not matter.
        let mut turned: Vec<_> = [("list", "GET /2"), ("other", "GET /3"), ("List", "GET /1"), ("list", "GET /0")]
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .into();
        let first = unique(&turned);
        turned.reverse();
        let mut second = unique(&turned);
        second.reverse();
        assert_eq!(first, second);
        assert_eq!(first[3], found[0]);
    }

    #[test]
    fn arguments_are_told_apart_by_their_place() {
        let mut taken = Taken::default();
        let mut name = |wanted: &str, place: &str| argument(wanted, place, &mut taken);
        assert_eq!(name("id", "path"), "id");
        assert_eq!(name("id", "query"), "id_query");
        assert_eq!(name("id", "query"), "id_query_2");
        assert_eq!(name("filter[name]", "query"), "filter_name");
        assert_eq!(name("$top", "query"), "top");
        assert_eq!(name("[]", "query"), "query");
        assert_eq!(name(&"y".repeat(500), "query").len(), 64);
        assert_eq!(
            (name("名前", "query"), name("住所", "query")),
            ("query_query".to_owned(), "query_query_2".to_owned())
        );
        // However many there are.
        let many: BTreeSet<String> = (0..20_000).map(|_| name("[]", "header")).collect();
        assert_eq!(many.len(), 20_000);
        assert!(many.iter().all(|name| name.len() <= LONGEST_ARGUMENT));
    }
}
