//! The subschemas of a schema, and their places.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::read::escaped;

/// The maximum number of checked subschemas per schema.
const MOST: usize = 10_000;

/// A schema as a list of its subschemas; each comes after its parent.
#[derive(Debug)]
pub(crate) struct Tree<'v> {
    root: &'v Value,
    base: &'static str,
    pub(crate) nodes: Vec<Node<'v>>,
    /// The index of each subschema, and the named ones by anchor.
    known: HashMap<*const Value, usize>,
    anchors: HashMap<&'v str, &'v Value>,
}

/// A subschema.
#[derive(Debug)]
pub(crate) struct Node<'v> {
    pub(crate) schema: &'v Value,
    pub(crate) role: Role,
    /// The number of its ancestors.
    pub(crate) depth: usize,
    parent: usize,
    keyword: &'v str,
    key: Key<'v>,
}

/// The role of a subschema in its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Root,
    /// A member of an object.
    Property,
    /// The items of an array.
    Items,
    /// An alternative or a part: `anyOf`, `oneOf`, `allOf`.
    Branch,
    /// A definition, to be referenced.
    Definition,
    /// Anything else.
    Other,
}

#[derive(Clone, Copy, Debug)]
enum Key<'v> {
    None,
    Name(&'v str),
    Index(usize),
}

impl<'v> Tree<'v> {
    /// Collects the subschemas. `base` is the prefix of pointers.
    pub(crate) fn new(root: &'v Value, base: &'static str) -> Self {
        let mut tree = Self { root, base, nodes: Vec::new(), known: HashMap::new(), anchors: HashMap::new() };
        tree.push(Node { schema: root, role: Role::Root, depth: 0, parent: 0, keyword: "", key: Key::None });
        let mut at = 0;
        while let Some(node) = tree.nodes.get(at) {
            let (schema, depth) = (node.schema, node.depth);
            for (keyword, value) in schema.as_object().into_iter().flatten() {
                tree.below(at, depth + 1, keyword, value);
            }
            at += 1;
        }
        tree
    }

    fn below(&mut self, parent: usize, depth: usize, keyword: &'v str, value: &'v Value) {
        let role = match keyword {
            "properties" => Role::Property,
            "$defs" | "definitions" => Role::Definition,
            "items" | "prefixItems" => Role::Items,
            "anyOf" | "oneOf" | "allOf" => Role::Branch,
            "patternProperties"
            | "dependentSchemas"
            | "not"
            | "if"
            | "then"
            | "else"
            | "additionalProperties"
            | "propertyNames"
            | "unevaluatedProperties"
            | "unevaluatedItems"
            | "contains"
            | "additionalItems" => Role::Other,
            _ => return,
        };
        let mut add = |schema, key| self.push(Node { schema, role, depth, parent, keyword, key });
        match (keyword, value) {
            ("properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas", Value::Object(map)) => {
                map.iter().for_each(|(name, schema)| add(schema, Key::Name(name)));
            }
            ("anyOf" | "oneOf" | "allOf" | "items" | "prefixItems", Value::Array(list)) => {
                list.iter().enumerate().for_each(|(at, schema)| add(schema, Key::Index(at)));
            }
            (_, Value::Object(_) | Value::Bool(_)) => add(value, Key::None),
            _ => {}
        }
    }

    fn push(&mut self, node: Node<'v>) {
        if self.nodes.len() < MOST {
            self.known.insert(std::ptr::from_ref(node.schema), self.nodes.len());
            let anchor = node.schema.get("$anchor").and_then(Value::as_str);
            self.anchors.extend(anchor.map(|anchor| (anchor, node.schema)));
            self.nodes.push(node);
        }
    }

    /// The subschemas that are objects, with their indices.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (usize, &Node<'v>, &'v Map<String, Value>)> {
        let objects = self.nodes.iter().enumerate();
        objects.filter_map(|(at, node)| Some((at, node, node.schema.as_object()?)))
    }

    /// The JSON Pointer of a subschema.
    pub(crate) fn pointer(&self, at: usize) -> String {
        let mut segments = Vec::new();
        let mut here = at;
        while let Some(node) = self.nodes.get(here).filter(|node| node.role != Role::Root) {
            match node.key {
                Key::None => segments.push(node.keyword.to_owned()),
                Key::Name(name) => segments.push(format!("{}/{}", node.keyword, escaped(name))),
                Key::Index(index) => segments.push(format!("{}/{index}", node.keyword)),
            }
            here = node.parent;
        }
        segments.push(self.base.to_owned());
        segments.reverse();
        segments.join("/")
    }

    /// The target of a reference within the schema.
    pub(crate) fn target(&self, reference: &str) -> Option<&'v Value> {
        match reference.strip_prefix('#')? {
            "" => Some(self.root),
            pointer if pointer.starts_with('/') => self.root.pointer(&decoded(pointer)),
            anchor => self.anchors.get(anchor).copied(),
        }
    }

    /// The subschemas that are part of a reference cycle.
    pub(crate) fn circles(&self) -> Vec<usize> {
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().skip(1) {
            // A definition is not a part of its parent: it applies only where it is referenced.
            if node.role != Role::Definition {
                after[node.parent].push(at);
            }
        }
        for (at, _, keywords) in self.objects() {
            let reference = keywords.get("$ref").and_then(Value::as_str);
            let target = reference.and_then(|text| self.target(text)).map(std::ptr::from_ref);
            after[at].extend(target.and_then(|target| self.known.get(&target)));
        }
        closed(&after)
    }
}

/// The nodes of a graph at which a depth-first search closes a cycle.
fn closed(after: &[Vec<usize>]) -> Vec<usize> {
    // Not visited, on the current path, done; and whether it closes a cycle.
    let mut state = vec![0_u8; after.len()];
    let mut found = vec![false; after.len()];
    for start in 0..after.len() {
        let mut way: Vec<(usize, usize)> = if state[start] == 0 { vec![(start, 0)] } else { Vec::new() };
        while let Some((here, next)) = way.last_mut() {
            state[*here] = 1;
            match after[*here].get(*next) {
                Some(&to) => {
                    *next += 1;
                    match state[to] {
                        0 => way.push((to, 0)),
                        1 => found[to] = true,
                        _ => {}
                    }
                }
                None => {
                    state[*here] = 2;
                    way.pop();
                }
            }
        }
    }
    (0..after.len()).filter(|&at| found[at]).collect()
}

/// Decodes a JSON Pointer from a URI fragment.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn subschemas_are_found_with_their_places() {
        let schema = json!({
            "properties": { "a/b": { "items": { "anyOf": [{ "type": "string" }, true] } } },
            "$defs": { "x": { "$anchor": "here", "not": {} } },
            "default": { "properties": { "no": {} } },
        });
        let tree = Tree::new(&schema, "/inputSchema");
        let mut places: Vec<_> = (0..tree.nodes.len()).map(|at| tree.pointer(at)).collect();
        places.sort();
        assert_eq!(
            places,
            [
                "/inputSchema",
                "/inputSchema/$defs/x",
                "/inputSchema/$defs/x/not",
                "/inputSchema/properties/a~1b",
                "/inputSchema/properties/a~1b/items",
                "/inputSchema/properties/a~1b/items/anyOf/0",
                "/inputSchema/properties/a~1b/items/anyOf/1",
            ]
        );
        assert!(tree.target("#/$defs/x").is_some() && tree.target("#here").is_some() && tree.target("#").is_some());
        assert!(tree.target("#/properties/a~1b").is_some() && tree.target("#/properties/a%7E1b").is_some());
        assert!(tree.target("#/nowhere").is_none() && tree.target("other.json").is_none());
    }

    #[test]
    fn circles_are_found_and_nothing_else() {
        let node = |to: &str| json!({ "properties": { "next": { "$ref": to } } });
        for (schema, found) in [
            (json!({ "properties": { "a": { "$ref": "#" } } }), true),
            (json!({ "$ref": "#/$defs/a", "$defs": { "a": node("#/$defs/a") } }), true),
            (json!({ "$ref": "#/$defs/a", "$defs": { "a": node("#/$defs/b"), "b": node("#/$defs/a") } }), true),
            (json!({ "$ref": "#/$defs/a", "$defs": { "a": node("#/$defs/b"), "b": {} } }), false),
            (
                json!({ "properties": { "a": { "$ref": "#/$defs/a" }, "b": { "$ref": "#/$defs/a" } }, "$defs": { "a": {} } }),
                false,
            ),
            (json!({ "$defs": { "a": { "$ref": "#/$defs/a" } } }), true),
        ] {
            assert_eq!(!Tree::new(&schema, "").circles().is_empty(), found, "{schema}");
        }
    }
}
