//! The vocabulary: every term of every revision, as RDF.
//!
//! Definitions are classes, members are properties. A property may be used by many classes with values of different
//! kinds, so it has `schema:domainIncludes` and `schema:rangeIncludes`, which describe usage without implying types.
//!
//! ```
//! use couplet_vocab::vocabulary;
//!
//! let tool = vocabulary::terms().into_iter().find(|term| term.name == "Tool").unwrap();
//! assert_eq!(tool.revisions.len(), couplet_types::ProtocolVersion::ALL.len());
//! assert!(vocabulary::turtle().contains("mcp:Tool a rdfs:Class"));
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use couplet_types::ProtocolVersion;

use crate::{
    rdf::{VOCABULARY, write_quoted},
    table::{self, Body, Definition, Kind, Revisions, TABLE},
};

/// The namespace of statements about terms: `revision`, a revision that has a term.
pub const TERMS: &str = "urn:couplet:vocabulary#";

/// A term of the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Term {
    /// The local name in [`VOCABULARY`].
    pub name: &'static str,
    /// The kind of term.
    pub kind: TermKind,
    /// The description.
    pub description: String,
    /// The revisions that have it, oldest first.
    pub revisions: Vec<ProtocolVersion>,
}

/// The kind of a [`Term`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TermKind {
    /// A kind of object.
    Class,
    /// A kind of string, number or list.
    Datatype,
    /// A member of objects.
    Property,
}

/// Returns all terms: classes and datatypes, then properties, each sorted by name.
pub fn terms() -> Vec<Term> {
    let definitions = TABLE.definitions.values().map(|definition| Term {
        name: definition.name,
        kind: if is_class(definition) { TermKind::Class } else { TermKind::Datatype },
        description: table::about(definition.name).unwrap_or_default().into_owned(),
        revisions: definition.revisions().iter().collect(),
    });
    let properties = properties().into_iter().map(|(name, property)| Term {
        name,
        kind: TermKind::Property,
        description: property.description().to_owned(),
        revisions: property.revisions.iter().collect(),
    });
    definitions.chain(properties).collect()
}

/// Returns the vocabulary as a Turtle document.
pub fn turtle() -> String {
    let mut out = String::new();
    for (prefix, iri) in [
        ("mcp", VOCABULARY),
        ("owl", "http://www.w3.org/2002/07/owl#"),
        ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
        ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
        ("schema", "https://schema.org/"),
        ("terms", TERMS),
        ("xsd", "http://www.w3.org/2001/XMLSchema#"),
    ] {
        line(&mut out, format_args!("@prefix {prefix}: <{iri}> ."));
    }
    let ontology = VOCABULARY.trim_end_matches('#');
    line(&mut out, format_args!("\n<{ontology}> a owl:Ontology ; rdfs:label \"Model Context Protocol\" ."));
    let properties = properties();
    let supers = superclasses();
    for term in terms() {
        let class = match term.kind {
            TermKind::Class => "rdfs:Class",
            TermKind::Datatype => "rdfs:Datatype",
            TermKind::Property => "rdf:Property",
        };
        line(&mut out, format_args!("\n{} a {class} ;", iri(term.name)));
        line(&mut out, format_args!("    rdfs:label {} ;", quoted(term.name)));
        line(&mut out, format_args!("    rdfs:comment {} ;", quoted(&term.description)));
        match (term.kind, properties.get(term.name), supers.get(term.name)) {
            (TermKind::Property, Some(property), _) => {
                let domains = property.domains.iter().map(|d| iri(d)).collect::<Vec<_>>();
                line(&mut out, format_args!("    schema:domainIncludes {} ;", domains.join(", ")));
                let ranges = property.ranges.iter().cloned().collect::<Vec<_>>();
                line(&mut out, format_args!("    schema:rangeIncludes {} ;", ranges.join(", ")));
            }
            (_, _, Some(supers)) => {
                let supers = supers.iter().map(|s| iri(s)).collect::<Vec<_>>();
                line(&mut out, format_args!("    rdfs:subClassOf {} ;", supers.join(", ")));
            }
            _ => {}
        }
        let revisions: Vec<_> = term.revisions.iter().map(|v| format!("\"{v}\"")).collect();
        line(&mut out, format_args!("    terms:revision {} .", revisions.join(", ")));
    }
    out
}

/// The members of one name.
struct Property {
    revisions: Revisions,
    domains: BTreeSet<&'static str>,
    ranges: BTreeSet<String>,
    descriptions: BTreeMap<&'static str, usize>,
}

impl Property {
    /// The most frequent description.
    fn description(&self) -> &'static str {
        self.descriptions.iter().max_by_key(|(_, count)| **count).map_or("", |(text, _)| text)
    }
}

fn properties() -> BTreeMap<&'static str, Property> {
    let mut all: BTreeMap<&'static str, Property> = BTreeMap::new();
    for definition in TABLE.definitions.values() {
        for member in definition.members() {
            let property = all.entry(member.name).or_insert_with(|| Property {
                revisions: Revisions(0),
                domains: BTreeSet::new(),
                ranges: BTreeSet::new(),
                descriptions: BTreeMap::new(),
            });
            property.revisions = property.revisions.either(member.revisions);
            property.domains.insert(definition.name);
            add_ranges(&member.kind, &mut property.ranges);
            if let Some(text) = table::about_member(definition.name, member.name) {
                *property.descriptions.entry(text).or_default() += 1;
            }
        }
    }
    all
}

fn add_ranges(kind: &Kind, ranges: &mut BTreeSet<String>) {
    let range = match kind {
        Kind::String(_) | Kind::Text(_) => "xsd:string",
        Kind::Integer(_) | Kind::Code(_) => "xsd:integer",
        Kind::Number(_) => "xsd:double",
        Kind::Boolean => "xsd:boolean",
        Kind::Null => "rdf:JSON",
        Kind::Any | Kind::Object | Kind::Map(_) => "rdfs:Resource",
        Kind::Named(name) => {
            ranges.insert(iri(name));
            return;
        }
        Kind::List(item, _) => return add_ranges(item, ranges),
        Kind::Union(kinds) => return kinds.iter().for_each(|k| add_ranges(k, ranges)),
    };
    ranges.insert(range.to_owned());
}

/// The unions that a definition is an alternative of.
fn superclasses() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut supers: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for definition in TABLE.definitions.values().filter(|d| is_class(d)) {
        for (_, body) in &definition.bodies {
            let Body::Kind(Kind::Union(kinds)) = body else { continue };
            for kind in kinds {
                if let Kind::Named(name) = kind {
                    supers.entry(*name).or_default().insert(definition.name);
                }
            }
        }
    }
    supers
}

/// Whether a definition describes objects, and not strings, numbers or lists.
fn is_class(definition: &Definition) -> bool {
    definition.bodies.iter().any(|(_, body)| match body {
        Body::Members(_) => true,
        Body::Kind(Kind::Union(kinds)) => kinds.iter().any(|k| matches!(k, Kind::Named(_))),
        Body::Kind(kind) => matches!(kind, Kind::Object | Kind::Map(_) | Kind::Named(_)),
    })
}

fn iri(name: &str) -> String {
    let is_local = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if is_local { format!("mcp:{name}") } else { format!("<{VOCABULARY}{name}>") }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    write_quoted(text, &mut out);
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string cannot fail");
}
