//! The graph of subschemas, from which the cost of a validation is computed before it runs.

use std::collections::HashMap;

use referencing::{Draft, Error, Registry, Resolver, uri};
use serde_json::{Map, Value};

use crate::{
    budget::Budget,
    schema::{Nowhere, SchemaError, dialect},
};

/// The reachable subschemas of a schema, and the edges between them.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// Whether a subschema refers back to itself.
    cyclic: bool,
}

/// One subschema. Where two keywords exclude each other, both are counted: the graph may overestimate the work, but it
/// never underestimates it.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Subschemas for the same value.
    pub(crate) same: Vec<Edge>,
    /// For members by name, for the other members, for every member, and for the names.
    pub(crate) members: HashMap<String, Edge>,
    pub(crate) others: Vec<Edge>,
    pub(crate) every_member: Vec<Edge>,
    pub(crate) names: Vec<Edge>,
    /// For the first items, for the others, and for every item.
    pub(crate) first_items: Vec<Edge>,
    pub(crate) items: Vec<Edge>,
    pub(crate) every_item: Vec<Edge>,
    /// The cost of visiting one value, and the number of patterns that its text is matched against.
    pub(crate) weight: u64,
    pub(crate) patterns: u64,
    /// Whether it needs to know what the subschemas for the same value have evaluated (`unevaluated…`).
    pub(crate) marks: bool,
    cost: Cost,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) to: usize,
    /// Whether the edge closes a cycle. On cycles the validator memoizes visited pairs.
    pub(crate) back: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    done: bool,
    height: usize,
    /// The number of subschemas that apply to one value, without and with the second pass of `unevaluated…`.
    expanded: u64,
    marked: u64,
    /// The same for everything below, weighted.
    total: u64,
    total_marked: u64,
}

impl Graph {
    pub(crate) fn of(schema: &Value, draft: Draft, budget: &Budget) -> Result<Self, SchemaError> {
        Census::default().take(schema)?;
        let base = "json-schema:///";
        let registry = Registry::new()
            .draft(draft)
            .retriever(Nowhere)
            .add(base, draft.create_resource(schema.clone()))
            .and_then(referencing::RegistryBuilder::prepare)
            .map_err(lost)?;
        let base = uri::from_str(base).map_err(lost)?;
        let mut builder = Builder { graph: Self::default(), known: HashMap::new(), budget };
        let resolver = registry.resolver(base);
        let root = resolver.lookup("#").map_err(lost)?;
        builder.node(root.contents(), &resolver, draft, 0)?;
        Ok(builder.graph)
    }

    /// Whether no text of this length can take more than `steps` steps.
    pub(crate) fn is_cheap(&self, length: usize, steps: u64) -> bool {
        // Each value takes at least two characters, except for the first one.
        let values = length as u64 / 2 + 1;
        !self.cyclic && self.nodes[0].cost.total.saturating_mul(values) <= steps
    }
}

struct Builder<'b> {
    graph: Graph,
    known: HashMap<*const Value, usize>,
    budget: &'b Budget,
}

impl Builder<'_> {
    fn node<'r>(
        &mut self,
        schema: &'r Value,
        around: &Resolver<'r>,
        draft: Draft,
        depth: usize,
    ) -> Result<Edge, SchemaError> {
        if let Some(&to) = self.known.get(&std::ptr::from_ref(schema)) {
            let back = !self.graph.nodes[to].cost.done;
            self.graph.cyclic |= back;
            return Ok(Edge { to, back });
        }
        let to = self.graph.nodes.len();
        if to >= self.budget.subschemas {
            return Err(beyond("has more than", self.budget.subschemas as u64, "subschemas"));
        }
        if depth >= self.budget.depth {
            return Err(beyond("is nested deeper than", self.budget.depth as u64, "levels"));
        }
        self.known.insert(schema, to);
        self.graph.nodes.push(Node { weight: 1, ..Node::default() });
        let mut node = Node { weight: 1, ..Node::default() };
        if let Value::Object(keywords) = schema {
            let draft = draft.detect(schema);
            let resolver = around.in_subresource(draft.create_resource_ref(schema)).map_err(lost)?;
            let mut below = |schema: &'r Value| self.node(schema, &resolver, draft, depth + 1);
            node.read(keywords, &mut below)?;
            for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
                let Some(reference) = keywords.get(keyword).and_then(Value::as_str) else { continue };
                let (target, resolver, draft) = resolver.lookup(reference).map_err(lost)?.into_inner();
                node.same.push(self.node(target, &resolver, draft, depth + 1)?);
            }
        }
        node.cost = self.cost(&node);
        if node.cost.expanded > self.budget.expanded {
            return Err(beyond("applies more than", self.budget.expanded, "subschemas to one value"));
        }
        if node.cost.height > self.budget.depth {
            return Err(beyond("is nested deeper than", self.budget.depth as u64, "levels"));
        }
        self.graph.nodes[to] = node;
        Ok(Edge { to, back: false })
    }

    fn cost(&self, node: &Node) -> Cost {
        let of = |edge: &Edge| match edge.back {
            true => Cost { expanded: 1, total: 1, ..Cost::default() },
            false => self.graph.nodes[edge.to].cost,
        };
        let mut cost = Cost { done: true, expanded: 1, total: node.weight + 2 * node.patterns, ..Cost::default() };
        for child in node.same.iter().map(of) {
            cost.expanded = cost.expanded.saturating_add(child.expanded);
            cost.marked = cost.marked.saturating_add(child.expanded).saturating_add(child.marked);
            cost.total_marked = cost.total_marked.saturating_add(child.total).saturating_add(child.total_marked);
        }
        for child in node.edges().map(of) {
            cost.height = cost.height.max(child.height);
            cost.total = cost.total.saturating_add(child.total);
        }
        cost.height += 1;
        if node.marks {
            cost.expanded = cost.expanded.saturating_add(cost.marked);
            cost.total = cost.total.saturating_add(cost.total_marked);
        }
        cost
    }
}

impl Node {
    /// Collects the keywords that have subschemas, or whose cost grows with their length.
    fn read<'r>(
        &mut self,
        keywords: &'r Map<String, Value>,
        below: &mut impl FnMut(&'r Value) -> Result<Edge, SchemaError>,
    ) -> Result<(), SchemaError> {
        for (keyword, value) in keywords {
            let places = match keyword.as_str() {
                "properties" => {
                    for (name, schema) in entries(value) {
                        let edge = below(schema)?;
                        self.members.insert(name.clone(), edge);
                    }
                    continue;
                }
                "enum" | "const" | "required" | "dependentRequired" => {
                    self.weight += size(value);
                    continue;
                }
                "pattern" => {
                    self.patterns += 1;
                    continue;
                }
                "patternProperties" => {
                    self.patterns += entries(value).count() as u64;
                    &mut self.every_member
                }
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas" | "dependencies" => {
                    &mut self.same
                }
                "additionalProperties" => &mut self.others,
                "propertyNames" => &mut self.names,
                "unevaluatedProperties" => {
                    self.marks = true;
                    &mut self.every_member
                }
                "prefixItems" => &mut self.first_items,
                "items" if value.is_array() => &mut self.first_items,
                "items" => &mut self.items,
                "contains" | "additionalItems" => &mut self.every_item,
                "unevaluatedItems" => {
                    self.marks = true;
                    &mut self.every_item
                }
                _ => continue,
            };
            let is_map = matches!(keyword.as_str(), "patternProperties" | "dependentSchemas" | "dependencies");
            for schema in schemas(value, is_map) {
                places.push(below(schema)?);
            }
        }
        Ok(())
    }

    fn edges(&self) -> impl Iterator<Item = &Edge> {
        let lists = [&self.same, &self.others, &self.every_member, &self.names, &self.first_items];
        let items = [&self.items, &self.every_item];
        lists.into_iter().chain(items).flatten().chain(self.members.values())
    }
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// The subschemas in the value of a keyword: one, a list, or a map of them.
fn schemas(value: &Value, is_map: bool) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(list) => Box::new(list.iter()),
        // The older `dependencies` may also list names.
        Value::Object(map) if is_map => Box::new(map.values().filter(|schema| !schema.is_array())),
        one => Box::new(std::iter::once(one)),
    }
}

/// Counts the values nested in a value, including itself.
fn size(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<u64>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<u64>(),
        _ => 1,
    }
}

fn beyond(what: &str, most: u64, things: &str) -> SchemaError {
    SchemaError::beyond(format!("the schema {what} {most} {things}, which is beyond the budget"))
}

fn lost(error: Error) -> SchemaError {
    SchemaError::new(match error {
        Error::Unretrievable { uri, .. } => {
            format!("the schema refers to `{uri}`, which is outside of it; nothing is fetched")
        }
        error => format!("a reference in the schema cannot be followed: {error}"),
    })
}

/// Checks over the whole document, including subschemas that are not reachable.
#[derive(Default)]
struct Census<'s> {
    dynamic: HashMap<&'s str, usize>,
    recursive: usize,
    refers: bool,
}

impl<'s> Census<'s> {
    /// Rejects schemas in which one dynamic reference could have several targets: their cost cannot be computed.
    fn take(mut self, schema: &'s Value) -> Result<(), SchemaError> {
        self.look(schema)?;
        if self.refers && (self.recursive > 1 || self.dynamic.values().any(|&n| n > 1)) {
            let what = "the schema has several dynamic anchors of one name, which is not supported";
            return Err(SchemaError::new(what.to_owned()));
        }
        Ok(())
    }

    fn look(&mut self, value: &'s Value) -> Result<(), SchemaError> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.look(item)),
            Value::Object(members) => {
                if members.get("$schema").is_some_and(Value::is_string) {
                    dialect(value)?;
                }
                if let Some(Value::String(name)) = members.get("$dynamicAnchor") {
                    *self.dynamic.entry(name).or_default() += 1;
                }
                self.recursive += usize::from(members.get("$recursiveAnchor") == Some(&Value::Bool(true)));
                self.refers |= members.contains_key("$dynamicRef") || members.contains_key("$recursiveRef");
                members.values().try_for_each(|member| self.look(member))
            }
            _ => Ok(()),
        }
    }
}
