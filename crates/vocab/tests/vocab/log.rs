//! Recorded logs as RDF: a graph for each session, with time and direction.

use couplet_vocab::{
    log::Entry,
    rdf::{self, Format, Writer},
};
use oxttl::TriGParser;

const LOG: &str = r#"{"time":"2026-07-28T12:00:00Z","direction":"client-to-server","session":"a b","message":{"jsonrpc":"2.0","id":1,"method":"ping"}}
{"time":1785240000001,"direction":"server-to-client","session":"a b","message":{"jsonrpc":"2.0","id":1,"result":{}}}
{"session":"c","message":[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","method":"y"}]}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

fn write(format: Format) -> String {
    let mut writer = Writer::new(Vec::new(), format);
    for line in LOG.lines() {
        writer.entry(&Entry::parse(line).unwrap()).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

#[test]
fn sessions_are_graphs() {
    let text = write(Format::TriG);
    let quads: Vec<_> = TriGParser::new().for_slice(&text).map(|q| q.unwrap()).collect();
    let methods = |graph: &str| {
        let of_graph = quads.iter().filter(|q| q.graph_name.to_string() == graph);
        of_graph.filter(|q| q.predicate.as_str().ends_with("#jsonrpc")).count()
    };
    assert_eq!(methods("<urn:couplet:session:a%20b>"), 2, "{text}");
    assert_eq!(methods("<urn:couplet:session:c>"), 2, "{text}");
    assert_eq!(methods("DEFAULT"), 1, "{text}");
    // The same as lines.
    let lines = write(Format::NQuads);
    assert_eq!(lines.matches("<urn:couplet:session:a%20b> .").count(), 5 + 3 + 3 + 1, "{lines}");
}

#[test]
fn time_direction_and_place_are_told() {
    let text = write(Format::NTriples);
    for line in [
        r#"_:m0 <http://www.w3.org/ns/prov#generatedAtTime> "2026-07-28T12:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> ."#,
        r#"_:m1 <http://www.w3.org/ns/prov#generatedAtTime> "2026-07-28T12:00:00.001Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> ."#,
        "_:m0 <urn:couplet:log#direction> <urn:couplet:log#client-to-server> .",
        "_:m1 <urn:couplet:log#direction> <urn:couplet:log#server-to-client> .",
        "_:m1 <urn:couplet:log#session> <urn:couplet:session:a%20b> .",
        r#"_:m3 <urn:couplet:log#position> "3"^^<http://www.w3.org/2001/XMLSchema#integer> ."#,
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\nis not in\n{text}");
    }
    // A message without anything around it says nothing more.
    assert_eq!(text.lines().filter(|l| l.starts_with("_:m4 ")).count(), 2);
}

#[test]
fn every_format_gives_the_messages_back() {
    for format in [Format::Turtle, Format::NTriples, Format::TriG, Format::NQuads] {
        let messages = rdf::messages(&rdf::parse(&write(format), format).unwrap()).unwrap();
        assert_eq!(messages.len(), 5, "{format}");
        assert_eq!(messages[1], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "{format}");
    }
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let mut writer = Writer::new(Vec::new(), Format::NTriples);
    for line in
        [r#"{"time":"noon","message":{"jsonrpc":"2.0"}}"#, r#"{"message":{"a b":1}}"#, r#"{"session":"a","message":5}"#]
    {
        let refused = writer.entry(&Entry::parse(line).unwrap()).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::InvalidData, "{line}");
    }
    assert!(writer.finish().unwrap().is_empty());
}
