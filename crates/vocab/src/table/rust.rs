//! The Rust types as data: `types.txt`, which a test generates from their source.

use std::{collections::BTreeMap, sync::LazyLock};

use super::{Kind, Range};

/// The Rust types.
pub(super) static RUST: LazyLock<Rust> = LazyLock::new(|| read(include_str!("types.txt")));

#[derive(Debug, Default)]
pub(super) struct Rust {
    /// Structures with members.
    pub(super) structures: Vec<Structure>,
    /// Enumerations of plain strings.
    pub(super) words: BTreeMap<&'static str, Vec<&'static str>>,
}

/// A structure of the Rust types.
#[derive(Debug)]
pub(super) struct Structure {
    /// Its own name, and those of its definitions.
    pub(super) names: Vec<&'static str>,
    pub(super) fields: Vec<Field>,
}

/// A field of a Rust type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) optional: bool,
    /// The Rust type, such as `Vec<Icon>`.
    pub(super) rust: &'static str,
}

impl Rust {
    pub(super) fn field(&self, definition: &str, name: &str) -> Option<Field> {
        self.structure(definition)?.fields.iter().find(|f| f.name == name).copied()
    }

    pub(super) fn structure(&self, definition: &str) -> Option<&Structure> {
        self.structures.iter().find(|s| s.names.contains(&definition))
    }

    /// The kind of a Rust type. `is_defined` says whether the table has a definition of a name.
    pub(super) fn kind(&self, rust: &'static str, is_defined: &dyn Fn(&str) -> bool) -> Kind {
        if let Some(rust) = rust.strip_suffix(" or null") {
            return Kind::Union(vec![self.kind(rust, is_defined), Kind::Null]);
        }
        if let Some(inner) = inside(rust, "Vec<") {
            return Kind::List(Box::new(self.kind(inner, is_defined)), None);
        }
        if let Some(inner) = inside(rust, "Map<") {
            return Kind::Map(Box::new(self.kind(inner, is_defined)));
        }
        match rust {
            "String" => Kind::String(None),
            "bool" => Kind::Boolean,
            "u64" | "i64" | "i32" => Kind::Integer(Range::default()),
            "f64" => Kind::Number(Range::default()),
            "RawJson" => Kind::Any,
            "Meta" => Kind::Named("MetaObject"),
            name if is_defined(name) => Kind::Named(name),
            name => match self.words.get(name) {
                Some(words) => Kind::Union(words.iter().map(|w| Kind::Text(w)).collect()),
                None => panic!("the Rust type `{name}` is not in the table: add a definition"),
            },
        }
    }
}

fn inside(rust: &'static str, outer: &str) -> Option<&'static str> {
    rust.strip_prefix(outer)?.strip_suffix('>')
}

fn read(text: &'static str) -> Rust {
    let mut all = Rust::default();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let Some((left, _)) = line.split_once(" : ") else { continue };
        if let Some(field) = left.strip_prefix("  ") {
            let (name, rust) = field.split_once(' ').expect("a name and a type");
            let field = Field { name: name.trim_end_matches('?'), optional: name.ends_with('?'), rust };
            all.structures.last_mut().expect("members follow a name").fields.push(field);
        } else if let Some((name, words)) = left.split_once(" = ") {
            all.words.insert(name, words.split(" | ").collect());
        } else {
            all.structures.push(Structure { names: left.split(' ').collect(), fields: Vec::new() });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TABLE;

    /// Members that every type of a group has, but only some of the definitions.
    const COMMON: [&str; 2] = ["_meta", "resultType"];

    /// Every member of a Rust type is in some revision of the table: a new one must say there since when it exists.
    #[test]
    fn no_member_of_a_type_is_missing() {
        for structure in &RUST.structures {
            let mut definitions: Vec<_> = structure.names.iter().filter_map(|n| TABLE.definitions.get(n)).collect();
            // Some are split up further in the table.
            definitions.retain(|d| d.members().next().is_some());
            for field in structure.fields.iter().filter(|f| !definitions.is_empty() && !COMMON.contains(&f.name)) {
                let found = definitions.iter().flat_map(|d| d.members()).any(|m| m.name == field.name);
                assert!(found, "`{}.{}` is not in the table", structure.names[0], field.name);
            }
        }
    }

    /// Kinds that are spelled out in the table do not contradict the types.
    #[test]
    fn no_member_contradicts_its_type() {
        for definition in TABLE.definitions.values() {
            let Some(structure) = RUST.structure(definition.name) else { continue };
            for member in definition.members() {
                let Some(field) = structure.fields.iter().find(|f| f.name == member.name) else {
                    assert!(matches!(member.kind, Kind::Text(_)), "no type has `{}.{}`", definition.name, member.name);
                    continue;
                };
                let place = format!("{}.{}: {} and {:?}", definition.name, member.name, field.rust, member.kind);
                assert!(field.optional || !member.optional, "{place}: the type needs it, the table does not");
                assert!(agree(field.rust, &member.kind), "{place}");
            }
        }
        for (name, words) in &RUST.words {
            let Some(definition) = TABLE.definitions.get(name) else { continue };
            let (_, crate::table::Body::Kind(kind)) = &definition.bodies[0] else { panic!("{name} has members") };
            assert!(is_words(kind, words) || matches!(kind, Kind::String(_)), "{name}");
        }
    }

    fn agree(rust: &'static str, kind: &Kind) -> bool {
        if let Some(rust) = rust.strip_suffix(" or null") {
            return matches!(kind, Kind::Union(kinds) if kinds.len() == 2 && agree(rust, &kinds[0]) && kinds[1] == Kind::Null);
        }
        match (rust, kind) {
            ("RawJson", _) => true,
            ("String", Kind::String(_)) | ("bool", Kind::Boolean) | ("f64", Kind::Number(_)) => true,
            ("u64" | "i64" | "i32", Kind::Integer(_) | Kind::Code(_)) => true,
            ("Meta", Kind::Named(name)) => name.ends_with("MetaObject"),
            (_, Kind::List(item, _)) => inside(rust, "Vec<").is_some_and(|r| agree(r, item)),
            (_, Kind::Map(value)) => inside(rust, "Map<").is_some_and(|r| agree(r, value)),
            ("ObjectKind", Kind::Text("object")) => true,
            (_, Kind::Text(word)) => RUST.words.get(rust).is_some_and(|words| words.contains(word)),
            // An open enumeration is any string, and a member may be an arbitrary object in another revision.
            (_, Kind::String(None)) => RUST.words.contains_key(rust),
            (_, Kind::Object) => RUST.structure(rust).is_some(),
            (_, Kind::Named(_)) => {
                !rust.starts_with(char::is_lowercase) && !rust.starts_with("Vec<") && rust != "String"
            }
            (_, Kind::Union(kinds)) => RUST
                .words
                .get(rust)
                .map_or_else(|| !is_plain(rust), |words| is_words(&Kind::Union(kinds.clone()), words)),
            _ => false,
        }
    }

    fn is_plain(rust: &str) -> bool {
        rust.starts_with(char::is_lowercase) || rust == "String" || rust.contains('<')
    }

    fn is_words(kind: &Kind, words: &[&str]) -> bool {
        let Kind::Union(kinds) = kind else { return false };
        kinds.len() == words.len() && words.iter().all(|w| kinds.contains(&Kind::Text(word(w))))
    }

    fn word(word: &str) -> &'static str {
        RUST.words.values().flatten().find(|w| **w == word).copied().unwrap_or_default()
    }
}
