//! Counts the steps of a validation before it runs.
//!
//! The walk covers every path that the validator might take: every alternative, and a shared subschema once for each
//! path to it. The validator memoizes on cycles while it decides, and not at all while it explains.

use std::collections::HashSet;

use serde_json::Value;

use crate::{
    budget::Budget,
    graph::{Edge, Graph},
    mismatch::Mismatch,
};

/// Checks that a value can be validated within the budget.
pub(crate) fn check(graph: &Graph, value: &Value, budget: &Budget) -> Result<(), Mismatch> {
    walk(graph, value, budget.steps, budget.stack, Some(HashSet::new()))
}

/// Checks that a mismatch of a value can be explained within the budget.
pub(crate) fn explain(graph: &Graph, value: &Value, budget: &Budget) -> Result<(), Mismatch> {
    walk(graph, value, budget.explain, budget.stack, None)
}

type Visit = (usize, *const Value);

fn walk(graph: &Graph, value: &Value, steps: u64, stack: usize, seen: Option<HashSet<Visit>>) -> Result<(), Mismatch> {
    let mut meter = Meter { graph, left: steps, stack, seen, under_way: Vec::new() };
    meter.visit(Edge { to: 0, back: false }, value, 0).map_err(|Spent| Mismatch::too_costly())
}

struct Spent;

struct Meter<'g> {
    graph: &'g Graph,
    left: u64,
    stack: usize,
    /// The visited pairs, where the validator memoizes them.
    seen: Option<HashSet<Visit>>,
    /// The cycles that were entered and not yet left.
    under_way: Vec<Visit>,
}

impl Meter<'_> {
    fn visit(&mut self, edge: Edge, value: &Value, depth: usize) -> Result<(), Spent> {
        let visit = (edge.to, std::ptr::from_ref(value));
        if !edge.back {
            return self.look(edge.to, value, depth);
        }
        self.spend(1)?;
        let container = value.is_array() || value.is_object();
        if container
            && let Some(seen) = &mut self.seen
            && !seen.insert(visit)
        {
            return Ok(());
        }
        if self.under_way.contains(&visit) {
            return Ok(());
        }
        self.under_way.push(visit);
        let looked = self.look(edge.to, value, depth);
        self.under_way.pop();
        looked
    }

    fn look(&mut self, to: usize, value: &Value, depth: usize) -> Result<(), Spent> {
        if depth >= self.stack {
            return Err(Spent);
        }
        let graph = self.graph;
        let node = &graph.nodes[to];
        self.spend(node.weight)?;
        for &edge in &node.same {
            self.visit(edge, value, depth + 1)?;
        }
        if node.marks {
            self.mark(to, value, depth + 1)?;
        }
        match value {
            Value::String(text) => self.spend(node.patterns * text.len() as u64)?,
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let rest = if node.first_items.get(index).is_none() { &node.items } else { &Vec::new() };
                    let edges = node.first_items.get(index).into_iter().chain(rest).chain(&node.every_item);
                    edges.copied().try_for_each(|edge| self.visit(edge, item, depth + 1))?;
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    self.spend(node.patterns * name.len() as u64)?;
                    let known = node.members.get(name);
                    let rest = if known.is_none() { &node.others } else { &Vec::new() };
                    let edges = known.into_iter().chain(rest).chain(&node.every_member);
                    edges.copied().try_for_each(|edge| self.visit(edge, member, depth + 1))?;
                    for &edge in &node.names {
                        self.spend(name.len() as u64)?;
                        self.visit(edge, &Value::Null, depth + 1)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Counts the second pass of `unevaluated…`: all subschemas for the same value are evaluated again, recursively.
    fn mark(&mut self, to: usize, value: &Value, depth: usize) -> Result<(), Spent> {
        if depth >= self.stack {
            return Err(Spent);
        }
        let graph = self.graph;
        for &edge in &graph.nodes[to].same {
            self.visit(edge, value, depth + 1)?;
            if !edge.back {
                self.mark(edge.to, value, depth + 1)?;
            }
        }
        Ok(())
    }

    fn spend(&mut self, steps: u64) -> Result<(), Spent> {
        self.left = self.left.checked_sub(steps).ok_or(Spent)?;
        Ok(())
    }
}
