//! The vocabulary has every term, and is RDF.

use std::collections::BTreeSet;

use couplet_vocab::{
    rdf::{self, Format},
    vocabulary,
};
use serde_json::Value;

use crate::official::{self, Official};

#[test]
fn every_term_of_every_schema_is_there() {
    let terms = vocabulary::terms();
    for Official { version, schema, .. } in official::revisions() {
        let place = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
        let mut names: BTreeSet<String> = schema[place].as_object().unwrap().keys().cloned().collect();
        properties(&schema[place], &mut names);
        for name in names {
            let term = terms.iter().find(|t| t.name == name && t.revisions.contains(&version));
            assert!(term.is_some(), "`{name}` of {version} is not in the vocabulary");
        }
    }
    assert!(terms.iter().all(|t| !t.description.is_empty() && !t.revisions.is_empty()));
}

/// The names of all properties in a schema.
fn properties(schema: &Value, names: &mut BTreeSet<String>) {
    let Value::Object(members) = schema else {
        return schema.as_array().into_iter().flatten().for_each(|item| properties(item, names));
    };
    for (key, value) in members {
        if let ("properties", Value::Object(inner)) = (key.as_str(), value)
            && inner.values().all(Value::is_object)
        {
            names.extend(inner.keys().cloned());
            inner.values().for_each(|v| properties(v, names));
        } else {
            properties(value, names);
        }
    }
}

#[test]
fn the_vocabulary_is_turtle() {
    let triples = rdf::parse(&vocabulary::turtle(), Format::Turtle).unwrap();
    let subjects: BTreeSet<String> = triples.iter().map(|t| t.subject.to_string()).collect();
    // All terms, and the vocabulary itself.
    assert_eq!(subjects.len(), vocabulary::terms().len() + 1);
    let tool = "<http://modelcontextprotocol.io/ontology#Tool>";
    assert!(triples.iter().any(|t| t.predicate.as_str().ends_with("domainIncludes") && t.object.to_string() == tool));
}
