//! Walks a tree as triples: all triples of a node, then those of its children.

use crate::tree::Ld;

/// The predicate of a triple.
#[derive(Clone, Copy)]
pub(super) enum Predicate<'l> {
    /// A term of the vocabulary.
    Term(&'l str),
    /// `rdf:first` of a list cell.
    First,
    /// `rdf:rest` of a list cell.
    Rest,
}

/// The object of a triple. Nodes are numbered; the root is 0.
#[derive(Clone, Copy)]
pub(super) enum Object<'l> {
    Node(u32),
    Nil,
    /// A literal.
    Value(&'l Ld<'l>),
}

/// A node whose triples are still to be emitted.
enum Pending<'l> {
    Node(u32, &'l Ld<'l>),
    Cell(u32, &'l [Ld<'l>]),
}

/// Calls `emit` with each triple of a tree.
pub(super) fn walk<'l>(tree: &'l Ld<'l>, emit: &mut dyn FnMut(u32, Predicate<'l>, Object<'l>)) {
    let mut count = 0;
    let mut pending = vec![Pending::Node(0, tree)];
    // The next node is at the end, so the children of a node follow it at once.
    while let Some(next) = pending.pop() {
        let start = pending.len();
        match next {
            Pending::Node(subject, Ld::Node(members)) => {
                for (key, value) in members {
                    let values =
                        if let Ld::Set(items) = value { items.as_slice() } else { std::slice::from_ref(value) };
                    for value in values {
                        emit(subject, Predicate::Term(key), object(value, &mut count, &mut pending));
                    }
                }
            }
            Pending::Node(..) => {}
            Pending::Cell(subject, items) => {
                if let Some((first, rest)) = items.split_first() {
                    emit(subject, Predicate::First, object(first, &mut count, &mut pending));
                    emit(subject, Predicate::Rest, cell(rest, &mut count, &mut pending));
                }
            }
        }
        pending[start..].reverse();
    }
}

fn object<'l>(value: &'l Ld<'l>, count: &mut u32, pending: &mut Vec<Pending<'l>>) -> Object<'l> {
    match value {
        Ld::Node(_) => {
            *count += 1;
            pending.push(Pending::Node(*count, value));
            Object::Node(*count)
        }
        Ld::Set(items) | Ld::List(items) => cell(items, count, pending),
        literal => Object::Value(literal),
    }
}

fn cell<'l>(items: &'l [Ld<'l>], count: &mut u32, pending: &mut Vec<Pending<'l>>) -> Object<'l> {
    if items.is_empty() {
        return Object::Nil;
    }
    *count += 1;
    pending.push(Pending::Cell(*count, items));
    Object::Node(*count)
}
