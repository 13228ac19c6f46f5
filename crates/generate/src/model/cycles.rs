//! Types that contain themselves.

use super::{Kind, Type, TypeDef, TypeId};

/// Replaces references that lead back to their own type without a value between, as in `a` is `b` and `b` is `a`, by any
/// value: no language could define them, and a parser would not end.
pub(super) fn break_empty(types: &mut [TypeDef]) {
    let edges: Vec<Vec<TypeId>> = types.iter().map(|def| immediate(&def.kind)).collect();
    let component = components(&edges);
    for (id, def) in types.iter_mut().enumerate() {
        let is_back = |to: TypeId| component.get(to) == component.get(id) && component.get(id) != Some(&None);
        match &mut def.kind {
            Kind::Alias(ty) => cut(ty, &is_back),
            Kind::Union(variants) => variants.iter_mut().for_each(|variant| cut(&mut variant.ty, &is_back)),
            Kind::Object(_) | Kind::Enum(_) => {}
        }
    }
}

fn immediate(kind: &Kind) -> Vec<TypeId> {
    let of = |ty: &Type| match ty {
        Type::Named(id) => Some(*id),
        Type::Nullable(inner) => {
            if let Type::Named(id) = **inner {
                Some(id)
            } else {
                None
            }
        }
        _ => None,
    };
    match kind {
        Kind::Alias(ty) => of(ty).into_iter().collect(),
        Kind::Union(variants) => variants.iter().filter_map(|variant| of(&variant.ty)).collect(),
        Kind::Object(_) | Kind::Enum(_) => Vec::new(),
    }
}

fn cut(ty: &mut Type, is_back: &impl Fn(TypeId) -> bool) {
    match ty {
        Type::Named(id) if is_back(*id) => *ty = Type::Any,
        Type::Nullable(inner) if matches!(**inner, Type::Named(id) if is_back(id)) => *ty = Type::Any,
        _ => {}
    }
}

/// The cycles of a graph: for each node the number of the cycle that it is part of, if any. Nodes of the same number
/// reach each other.
pub(crate) fn components(edges: &[Vec<usize>]) -> Vec<Option<usize>> {
    let mut search = Search { edges, index: vec![None; edges.len()], low: vec![0; edges.len()], ..Search::default() };
    search.is_open = vec![false; edges.len()];
    search.found = vec![None; edges.len()];
    for node in 0..edges.len() {
        if search.index[node].is_none() {
            search.from(node);
        }
    }
    search.found
}

/// Tarjan's algorithm, without recursion: a server decides how long a chain of types is.
#[derive(Default)]
struct Search<'g> {
    edges: &'g [Vec<usize>],
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    is_open: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Option<usize>>,
    count: usize,
}

impl Search<'_> {
    fn from(&mut self, start: usize) {
        let mut work = vec![(start, 0)];
        self.open(start);
        while let Some((node, at)) = work.pop() {
            match self.edges[node].get(at).copied().filter(|to| *to < self.edges.len()) {
                Some(to) => {
                    work.push((node, at + 1));
                    match self.index[to] {
                        None => {
                            self.open(to);
                            work.push((to, 0));
                        }
                        Some(index) if self.is_open[to] => self.low[node] = self.low[node].min(index),
                        Some(_) => {}
                    }
                }
                None => {
                    self.close(node);
                    if let Some((parent, _)) = work.last() {
                        self.low[*parent] = self.low[*parent].min(self.low[node]);
                    }
                }
            }
        }
    }

    fn open(&mut self, node: usize) {
        self.index[node] = Some(self.next);
        self.low[node] = self.next;
        self.next += 1;
        self.stack.push(node);
        self.is_open[node] = true;
    }

    fn close(&mut self, node: usize) {
        if self.index[node] != Some(self.low[node]) {
            return;
        }
        let start = self.stack.iter().rposition(|open| *open == node).unwrap_or(0);
        let members = self.stack.split_off(start);
        let is_cycle = members.len() > 1 || self.edges[node].contains(&node);
        for member in members {
            self.is_open[member] = false;
            self.found[member] = is_cycle.then_some(self.count);
        }
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found() {
        let found = components(&[vec![1], vec![2, 3], vec![1], vec![3], vec![0], vec![]]);
        assert_eq!(found[1], found[2]);
        assert!(found[1].is_some() && found[3].is_some() && found[3] != found[1]);
        assert_eq!((found[0], found[4], found[5]), (None, None, None));
        let chain: Vec<Vec<usize>> = (1..=100_000).map(|n| vec![n % 100_000]).collect();
        assert!(components(&chain).iter().all(|one| *one == Some(0)));
    }
}
