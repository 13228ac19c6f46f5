//! A ranked search: Okapi BM25 over the words of tools, weighted by where they stand.

use std::collections::{BTreeMap, HashMap};

use couplet_types::{Map, RawJson};

use super::words::words;

/// How much a repeated word adds, and how much a long text subtracts: the usual values.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The maximum number of different words of a query.
const MAX_WORDS: usize = 64;

/// The share of a word that only begins like a word of the query.
const BEGINNING: f32 = 0.5;

/// The least length of a word of the query that other words may begin with.
const MIN_BEGINNING: usize = 3;

/// The words of a list of tools.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The tools of each word, with its weight there.
    words: BTreeMap<String, Vec<(usize, f32)>>,
    lengths: Vec<f32>,
    average: f32,
}

impl Index {
    pub(super) fn new(tools: &[RawJson]) -> Self {
        let mut index = Self::default();
        for (at, tool) in tools.iter().enumerate() {
            let weights = weights(tool);
            index.lengths.push(weights.values().sum());
            for (word, weight) in weights {
                index.words.entry(word).or_default().push((at, weight));
            }
        }
        index.average = index.lengths.iter().sum::<f32>() / index.lengths.len().max(1) as f32;
        index
    }

    /// The positions of the tools that match a query, best first.
    pub(super) fn search(&self, query: &str) -> Vec<usize> {
        let mut wanted = words(query);
        wanted.sort();
        wanted.dedup();
        wanted.truncate(MAX_WORDS);
        let mut scores: HashMap<usize, f32> = HashMap::new();
        for word in &wanted {
            for (found, share) in self.matching(word) {
                self.score(found, share, &mut scores);
            }
        }
        let mut found: Vec<_> = scores.into_iter().collect();
        // Equal scores are in the order of the list.
        found.sort_by(|(at, score), (other, than)| than.total_cmp(score).then(at.cmp(other)));
        found.into_iter().map(|(at, _)| at).collect()
    }

    /// The tools of a word; if there is no such word, those of words that begin with it.
    fn matching<'a>(&'a self, word: &'a str) -> Vec<(&'a [(usize, f32)], f32)> {
        if let Some(tools) = self.words.get(word) {
            return vec![(tools, 1.0)];
        }
        if word.chars().count() < MIN_BEGINNING {
            return Vec::new();
        }
        let later = self.words.range(word.to_owned()..);
        later.take_while(|(known, _)| known.starts_with(word)).map(|(_, tools)| (&**tools, BEGINNING)).collect()
    }

    fn score(&self, tools: &[(usize, f32)], share: f32, scores: &mut HashMap<usize, f32>) {
        let (all, with) = (self.lengths.len() as f32, tools.len() as f32);
        let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
        for (at, weight) in tools {
            let length = self.lengths.get(*at).copied().unwrap_or_default() / self.average.max(1.0);
            let score = weight * (K1 + 1.0) / (weight + K1 * (1.0 - B + B * length));
            *scores.entry(*at).or_default() += share * rarity * score;
        }
    }
}

/// The words of a tool: those of its name count three times, those of its title twice.
fn weights(tool: &RawJson) -> BTreeMap<String, f32> {
    let mut weights: BTreeMap<String, f32> = BTreeMap::new();
    let mut add = |text: &str, weight: f32| {
        for word in words(text) {
            *weights.entry(word).or_default() += weight;
        }
    };
    let Ok(tool) = tool.parse::<Map<RawJson>>() else { return weights };
    for (key, weight) in [("name", 3.0), ("title", 2.0), ("description", 1.0)] {
        if let Some(text) = tool.get(key).and_then(|text| text.parse::<String>().ok()) {
            add(&text, weight);
        }
    }
    let schema = tool.get("inputSchema").and_then(|schema| schema.parse::<Map<RawJson>>().ok());
    let arguments = schema.and_then(|schema| schema.get("properties")?.parse::<Map<RawJson>>().ok());
    for (argument, _) in arguments.iter().flat_map(Map::iter) {
        add(argument, 1.0);
    }
    weights
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_best_tool_is_first() {
        let tools: Vec<RawJson> = [
            json!({ "name": "create_issue", "description": "Creates an issue in a repository." }),
            json!({ "name": "list_issues", "title": "All issues", "description": "Lists them." }),
            json!({ "name": "merge", "description": "Merges a pull request; closes its issue." }),
            json!({ "name": "weather", "inputSchema": { "properties": { "cityName": {} } } }),
            json!({ "name": 7 }),
            json!("not a tool"),
        ]
        .into_iter()
        .map(RawJson::from)
        .collect();
        let index = Index::new(&tools);
        for (query, expected) in [
            ("create an issue", &[0, 1, 2][..]),
            ("issues", &[1, 0, 2]),
            ("pull request", &[2]),
            ("city", &[3]),
            ("repo", &[0]),
            ("re", &[]),
            ("", &[]),
            ("nothing like that", &[]),
        ] {
            let found = index.search(query);
            assert_eq!(found.first(), expected.first(), "{query}: {found:?}");
            let mut sorted = found.clone();
            sorted.sort_unstable();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(sorted, expected, "{query}");
        }
        assert!(Index::new(&[]).search("any").is_empty());
    }
}
