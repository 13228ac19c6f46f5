//! The 20 examples of the building block: JSON, JSON-LD, triples, and back.

use couplet_vocab::{
    jsonld,
    rdf::{self, Format, Writer},
};
use oxrdf::{Graph, Literal, Term, Triple, graph::CanonicalizationAlgorithm, vocab::xsd};
use serde_json::Value;

/// Name, JSON, JSON-LD and Turtle of each example.
macro_rules! examples {
    ($($name:literal),* $(,)?) => {
        [$((
            $name,
            include_str!(concat!("../data/ogc/", $name, ".json")),
            include_str!(concat!("../data/ogc/", $name, ".jsonld")),
            include_str!(concat!("../data/ogc/", $name, ".ttl")),
        )),*]
    };
}

const EXAMPLES: [(&str, &str, &str, &str); 20] = examples![
    "completion-complete",
    "initialize",
    "logging-setLevel",
    "notifications-cancelled",
    "notifications-initialized",
    "notifications-progress",
    "notifications-prompts-list_changed",
    "notifications-resources-list_changed",
    "notifications-resources-updated",
    "notifications-tools-list_changed",
    "prompts-get",
    "prompts-list",
    "resources-list",
    "resources-read",
    "resources-subscribe",
    "resources-unsubscribe",
    "roots-list",
    "sampling-createMessage",
    "tools-call",
    "tools-list",
];

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Triples in a form that is the same for all that say the same: nodes are named by what is said about them, and a
/// double is its value, however it is written.
fn canonical(triples: &[Triple]) -> Graph {
    let value = |triple: &Triple| {
        let mut triple = triple.clone();
        if let Term::Literal(literal) = &triple.object
            && literal.datatype() == xsd::DOUBLE
        {
            let value: f64 = literal.value().parse().unwrap();
            triple.object = Literal::from(value).into();
        }
        triple
    };
    let mut graph: Graph = triples.iter().map(value).collect();
    graph.canonicalize(CanonicalizationAlgorithm::Unstable);
    graph
}

#[test]
fn json_ld_equals_that_of_the_building_block() {
    for (name, message, document, _) in EXAMPLES {
        assert_eq!(json(&jsonld::to_jsonld(message).unwrap()), json(document), "{name}");
        // And back, with the members in their order.
        let compact: String = serde_json::to_string(&json(message)).unwrap();
        assert_eq!(json(&jsonld::from_jsonld(document).unwrap()), json(&compact), "{name}");
    }
}

#[test]
fn triples_are_those_of_the_building_block() {
    for (name, message, document, turtle) in EXAMPLES {
        let expected = canonical(&rdf::parse(turtle, Format::Turtle).unwrap());
        assert_eq!(canonical(&rdf::triples(message).unwrap()), expected, "{name}");
        // A JSON-LD processor that knows nothing of the protocol says the same.
        assert_eq!(canonical(&jsonld::triples(document).unwrap()), expected, "{name}");
    }
}

#[test]
fn triples_become_the_message_again() {
    for (name, message, _, turtle) in EXAMPLES {
        let messages = rdf::messages(&rdf::parse(turtle, Format::Turtle).unwrap()).unwrap();
        assert_eq!(messages.len(), 1, "{name}");
        assert_eq!(json(&messages[0]), json(message), "{name}");
    }
}

#[test]
fn every_format_says_the_same() {
    for (name, message, _, turtle) in EXAMPLES {
        let expected = canonical(&rdf::parse(turtle, Format::Turtle).unwrap());
        for &format in Format::ALL {
            let mut writer = Writer::new(Vec::new(), format);
            writer.message(message).unwrap();
            let text = String::from_utf8(writer.finish().unwrap()).unwrap();
            let found = canonical(&rdf::parse(&text, format).unwrap());
            assert_eq!(found, expected, "{name} as {format}:\n{text}");
        }
    }
}
