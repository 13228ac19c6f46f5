//! References within a schema.

use std::collections::HashSet;

use super::{
    Docs, Type,
    build::{Builder, Place},
};
use crate::{json::Json, names::pascal};

/// The size and number of definitions up to which those of different tools are compared.
const LARGEST_SHARED: (usize, usize) = (16 * 1024, 64);

impl<'a> Builder<'a> {
    /// The type that a reference names. It is defined later, so that types can contain themselves.
    pub(super) fn reference(&mut self, reference: &str, place: Place<'a, '_>) -> Type {
        let Some(pointer) = reference.strip_prefix('#').map(percent_decoded) else { return Type::Any };
        if let Some(id) = self.references.get(&(place.root, pointer.clone())) {
            return Type::Named(*id);
        }
        let Some(target) = resolve(place.document, &pointer) else { return Type::Any };
        let key = self.closure(place.document, &pointer);
        if let Some(id) = key.as_ref().and_then(|key| self.shared.get(key)).copied() {
            self.references.insert((place.root, pointer), id);
            return Type::Named(id);
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let short = pascal(&unescaped(last));
        let is_good = self.scope.is_free(&short) && short.starts_with(|c: char| !c.is_ascii_digit());
        let name = if is_good { short } else { format!("{}{short}", place.owner) };
        let id = self.declare(&name, Docs::of(target));
        self.references.insert((place.root, pointer), id);
        self.shared.extend(key.map(|key| (key, id)));
        self.later(id, (place.root, place.document), target, place.owner);
        Type::Named(id)
    }

    /// A definition with all that it refers to, as text: equal texts are equal types. None if that is too large, or if it
    /// contains its tool.
    fn closure(&mut self, document: &Json, pointer: &str) -> Option<String> {
        let mut text = String::new();
        let mut seen = HashSet::new();
        let mut open = vec![pointer.to_owned()];
        while let Some(pointer) = open.pop() {
            if !seen.insert(pointer.clone()) {
                continue;
            }
            self.comparisons = self.comparisons.checked_sub(1)?;
            let target = resolve(document, &pointer).filter(|_| !pointer.is_empty())?;
            text.push_str(&format!("{pointer} {target}\n"));
            if text.len() > LARGEST_SHARED.0 || seen.len() > LARGEST_SHARED.1 {
                return None;
            }
            references(target, &mut open);
        }
        Some(text)
    }
}

/// The schema at a JSON pointer.
pub(super) fn resolve<'j>(document: &'j Json, pointer: &str) -> Option<&'j Json> {
    if pointer.is_empty() {
        return Some(document);
    }
    pointer.strip_prefix('/')?.split('/').try_fold(document, |json, part| match json {
        Json::Array(items) => items.get(part.parse::<usize>().ok()?),
        json => json.get(&unescaped(part)),
    })
}

fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// Decodes the fragment of a URI; one that is not UTF-8 stays as it is, and resolves to nothing.
pub(super) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = tail.get(..2).filter(|_| first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn references(schema: &Json, found: &mut Vec<String>) {
    match schema {
        Json::Array(items) => items.iter().for_each(|item| references(item, found)),
        Json::Object(members) => {
            for (key, value) in members {
                let reference = value.as_str().filter(|_| key == "$ref").and_then(|text| text.strip_prefix('#'));
                found.extend(reference.map(percent_decoded));
                references(value, found);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}
