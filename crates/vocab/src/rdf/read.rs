//! Converts RDF to messages.

use std::{
    borrow::Cow,
    cell::Cell,
    collections::{HashMap, HashSet, hash_map},
};

use oxrdf::{
    LiteralRef, NamedOrBlankNodeRef, TermRef, Triple,
    vocab::{rdf, xsd},
};
use oxttl::{NQuadsParser, NTriplesParser, TriGParser, TurtleParser};
use serde::de::IgnoredAny;
use serde_json::Number;

use super::{Format, JSON, LOG, PROV, VOCABULARY};
use crate::{
    Error, jsonld,
    tree::{self, Ld},
};

/// The maximum depth of a message, as in JSON parsers.
const DEEPEST: usize = 128;

/// How often a triple may be used on average. Messages are trees, which use each triple once; untrusted triples may
/// form any graph, whose expansion would be exponential.
const USES: usize = 8;

/// Parses a text into triples; the graph names of quads are dropped.
///
/// ```
/// use couplet_vocab::rdf::{self, Format};
///
/// let turtle = "@prefix mcp: <http://modelcontextprotocol.io/ontology#> . [] mcp:jsonrpc '2.0' ; mcp:method 'ping' .";
/// let triples = rdf::parse(turtle, Format::Turtle)?;
/// assert_eq!(rdf::messages(&triples)?, [r#"{"jsonrpc":"2.0","method":"ping"}"#]);
/// # Ok::<(), couplet_vocab::Error>(())
/// ```
///
/// # Errors
/// If the text is not in this format.
pub fn parse(text: &str, format: Format) -> Result<Vec<Triple>, Error> {
    let quads = |quad: oxrdf::Quad| Triple::from(quad);
    let wrong = |error: oxttl::TurtleSyntaxError| Error::new(format!("not {format}: {error}"));
    match format {
        Format::Turtle => TurtleParser::new().for_slice(text).map(|t| t.map_err(wrong)).collect(),
        Format::NTriples => NTriplesParser::new().for_slice(text).map(|t| t.map_err(wrong)).collect(),
        Format::TriG => TriGParser::new().for_slice(text).map(|q| q.map(quads).map_err(wrong)).collect(),
        Format::NQuads => NQuadsParser::new().for_slice(text).map(|q| q.map(quads).map_err(wrong)).collect(),
        Format::JsonLd => jsonld::triples(text),
    }
}

/// Returns the messages that are encoded in the triples, in the order of their first triple.
///
/// Lists of the protocol have their items in the order of the triples. A message that was stored as JSON
/// ([`Writer::keep_json`](super::Writer::keep_json)) is returned from there.
///
/// # Errors
/// If the triples are cyclic, too deep or not a tree, or a stored JSON literal is invalid.
pub fn messages(triples: &[Triple]) -> Result<Vec<String>, Error> {
    let graph = Graph::new(triples);
    graph.roots.iter().map(|root| graph.message(*root)).collect()
}

type Subject<'t> = NamedOrBlankNodeRef<'t>;

struct Graph<'t> {
    about: HashMap<Subject<'t>, Vec<(&'t str, TermRef<'t>)>>,
    /// The subjects with a `jsonrpc`, in order.
    roots: Vec<Subject<'t>>,
    /// The remaining number of values that may be read.
    left: Cell<usize>,
}

impl<'t> Graph<'t> {
    fn new(triples: &'t [Triple]) -> Self {
        let mut about: HashMap<Subject<'t>, Vec<_>> = HashMap::new();
        let mut roots = Vec::new();
        for triple in triples {
            let (subject, predicate) = (triple.subject.as_ref(), triple.predicate.as_str());
            about.entry(subject).or_default().push((predicate, triple.object.as_ref()));
            if predicate.strip_prefix(VOCABULARY) == Some("jsonrpc") && roots.last() != Some(&subject) {
                roots.push(subject);
            }
        }
        // A message nested in another one is data of that one.
        let inner: HashSet<Subject<'t>> = triples.iter().filter_map(|t| subject_of(t.object.as_ref())).collect();
        roots.retain(|root| !inner.contains(root));
        Self { about, roots, left: Cell::new(triples.len().saturating_mul(USES)) }
    }

    fn message(&self, root: Subject<'t>) -> Result<String, Error> {
        let kept = self.about.get(&root).into_iter().flatten().find(|(predicate, _)| is_kept(predicate));
        if let Some((_, TermRef::Literal(text))) = kept {
            serde_json::from_str::<IgnoredAny>(text.value())?;
            return Ok(text.value().to_owned());
        }
        let json = tree::restore(self.node(root, 0)?);
        Ok(serde_json::to_string(&json).expect("JSON can always be serialized"))
    }

    fn node(&self, subject: Subject<'t>, depth: usize) -> Result<Ld<'t>, Error> {
        within(depth)?;
        let mut members: Vec<(Cow<'t, str>, Ld<'t>)> = Vec::new();
        let mut places = HashMap::new();
        for (predicate, object) in self.about.get(&subject).into_iter().flatten() {
            if predicate.starts_with(LOG) || predicate.starts_with(PROV) {
                continue;
            }
            let key = predicate.strip_prefix(VOCABULARY).unwrap_or(predicate);
            let value = self.value(*object, depth + 1)?;
            match places.entry(key) {
                hash_map::Entry::Vacant(place) => {
                    place.insert(members.len());
                    members.push((Cow::Borrowed(key), value));
                }
                hash_map::Entry::Occupied(place) => match &mut members[*place.get()].1 {
                    Ld::Set(items) => items.push(value),
                    first => *first = Ld::Set(vec![std::mem::replace(first, Ld::Bool(false)), value]),
                },
            }
        }
        Ok(Ld::Node(members))
    }

    fn value(&self, object: TermRef<'t>, depth: usize) -> Result<Ld<'t>, Error> {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.ok_or_else(|| Error::new("the triples are not a tree: nodes are shared too often"))?);
        match object {
            TermRef::Literal(literal) => Ok(read_literal(literal)),
            TermRef::NamedNode(name) if name == rdf::NIL => Ok(Ld::List(Vec::new())),
            TermRef::NamedNode(name) => Ok(Ld::Text(Cow::Borrowed(name.as_str()))),
            TermRef::BlankNode(node) if self.one(node.into(), rdf::FIRST.as_str()).is_some() => {
                self.list(node.into(), depth)
            }
            TermRef::BlankNode(node) => self.node(node.into(), depth),
        }
    }

    fn list(&self, first: Subject<'t>, depth: usize) -> Result<Ld<'t>, Error> {
        within(depth)?;
        let mut items = Vec::new();
        let mut cell = Some(first);
        while let Some(subject) = cell {
            let Some(item) = self.one(subject, rdf::FIRST.as_str()) else { break };
            items.push(self.value(item, depth + 1)?);
            cell = self.one(subject, rdf::REST.as_str()).and_then(subject_of);
        }
        Ok(Ld::List(items))
    }

    fn one(&self, subject: Subject<'t>, predicate: &str) -> Option<TermRef<'t>> {
        self.about.get(&subject)?.iter().find(|(p, _)| *p == predicate).map(|(_, object)| *object)
    }
}

fn within(depth: usize) -> Result<(), Error> {
    if depth > DEEPEST {
        return Err(Error::new(format!("the triples are deeper than {DEEPEST}, or cyclic")));
    }
    Ok(())
}

fn subject_of(term: TermRef<'_>) -> Option<Subject<'_>> {
    match term {
        TermRef::NamedNode(name) => Some(name.into()),
        TermRef::BlankNode(node) => Some(node.into()),
        TermRef::Literal(_) => None,
    }
}

fn is_kept(predicate: &str) -> bool {
    predicate.strip_prefix(LOG) == Some("json")
}

fn read_literal(literal: LiteralRef<'_>) -> Ld<'_> {
    let text = literal.value();
    let number = || {
        let integer = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok();
        integer.or_else(|| Number::from_f64(text.parse().ok()?)).map(Ld::Number)
    };
    let datatype = literal.datatype();
    let read = if datatype == JSON {
        Some(Ld::Literal(Cow::Borrowed(text)))
    } else if datatype == xsd::BOOLEAN {
        matches!(text, "true" | "1" | "false" | "0").then(|| Ld::Bool(matches!(text, "true" | "1")))
    } else if [xsd::INTEGER, xsd::DOUBLE, xsd::DECIMAL].contains(&datatype) {
        number()
    } else {
        None
    };
    read.unwrap_or(Ld::Text(Cow::Borrowed(text)))
}
