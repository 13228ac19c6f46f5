//! Messages of all kinds to JSON-LD and RDF and back: what comes back is what went in.

use std::collections::{HashMap, HashSet};

use couplet_types::ProtocolVersion;
use couplet_vocab::{
    jsonld,
    rdf::{self, Format, Writer},
    schema,
};
use oxrdf::Triple;
use serde_json::{Value, json};

use crate::sample::{Dice, mutation, samples};

/// What JSON-LD would lose or misread, each in a message of its own.
const HARD: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x","data":null}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{"@context":"https://example.com/c","@id":"b"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{"two words":1},"b":{"":2},"c":{"<>":3}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{"https://example.com/":1},"b":{"mcp:x":2},"c":{"xsd":3}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[3,1,1],"c":[],"d":["e"]}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[[1,2],[3]],"c":[[]]}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[[{"name":"a"}]]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[[],[1]]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object","required":["b"]}}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":5}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"role":"user","model":"m","content":{"type":"text","text":"a"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"role":"user","model":"m","content":[{"type":"text","text":"a"}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"a":["b"],"c":1}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"stopSequences":["a","a"]}}"#,
    r#"{"jsonrpc":"2.0","id":"é\n\"\\\u0007","method":"x","params":{"a":1e+30,"b":0.1,"c":-5,"d":true,"e":{},"f":""}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"ключ":1,"$ref":"a","a/b?c":2,"d@e":3}}"#,
    r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"x","params":{"a":18446744073709551615}}"#,
];

#[test]
fn what_is_hard_comes_back() {
    for message in HARD {
        check(message);
    }
}

#[test]
fn generated_messages_come_back() {
    let mut dice = Dice::new(8);
    for &version in ProtocolVersion::ALL {
        let document = schema::document(version);
        let place = if document.get("$defs").is_some() { "$defs" } else { "definitions" };
        for name in
            schema::names(version).filter(|n| ["Request", "Notification", "Result"].iter().any(|e| n.ends_with(e)))
        {
            let values = samples(&document[place][name], &document);
            for value in values.iter().take(4).chain([&mutation(&values[0], &mut dice)]) {
                check(&wrap(name, &whole(value)).to_string());
            }
        }
    }
}

/// A sample as a whole message.
fn wrap(name: &str, value: &Value) -> Value {
    let mut message = if name.ends_with("Result") { json!({ "result": value }) } else { value.clone() };
    if !message.is_object() {
        message = json!({ "method": "x", "params": { "a": message } });
    }
    message["jsonrpc"] = "2.0".into();
    message
}

fn check(message: &str) {
    let value = whole(&serde_json::from_str(message).unwrap());
    let document = jsonld::to_jsonld(message).unwrap();
    assert_eq!(jsonld::from_jsonld(&document).unwrap(), message, "{document}");

    let triples = rdf::triples(message).unwrap();
    let processed = jsonld::triples(&document).unwrap();
    assert_eq!(outline(&triples), outline(&processed), "{document}");
    // A store has each triple once.
    let mut seen = HashSet::new();
    let stored: Vec<Triple> = triples.iter().filter(|t| seen.insert(*t)).cloned().collect();
    assert_eq!(parse(&rdf::messages(&stored).unwrap()), std::slice::from_ref(&value), "{document}");

    for format in [Format::Turtle, Format::NTriples, Format::TriG, Format::NQuads] {
        let mut writer = Writer::new(Vec::new(), format);
        writer.message(message).unwrap();
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let read = rdf::parse(&text, format).unwrap_or_else(|e| panic!("{e} in {text}"));
        assert_eq!(outline(&read), outline(&triples), "{text}");
        assert_eq!(parse(&rdf::messages(&read).unwrap()), std::slice::from_ref(&value), "{text}");
    }
}

/// What some triples say as one text, in which nodes stand inside of what leads to them and nothing has an order: two sets
/// of triples that are trees are isomorphic if the texts are the same.
fn outline(triples: &[Triple]) -> String {
    let mut about: HashMap<String, Vec<&Triple>> = HashMap::new();
    triples.iter().for_each(|t| about.entry(t.subject.to_string()).or_default().push(t));
    let inner: HashSet<String> = triples.iter().map(|t| t.object.to_string()).collect();
    let mut roots: Vec<_> = about.keys().filter(|s| !inner.contains(*s)).map(|s| describe(s, &about)).collect();
    roots.sort_unstable();
    roots.join("\n")
}

fn describe(term: &str, about: &HashMap<String, Vec<&Triple>>) -> String {
    if !term.starts_with("_:") {
        return term.to_owned();
    }
    let said = about.get(term).into_iter().flatten();
    let mut said: Vec<_> =
        said.map(|t| format!("{} {}", t.predicate, describe(&t.object.to_string(), about))).collect();
    said.sort_unstable();
    format!("[{}]", said.join("; "))
}

fn parse(messages: &[String]) -> Vec<Value> {
    messages.iter().map(|m| serde_json::from_str(m).unwrap()).collect()
}

/// A value in which a number without a fraction is an integer, as it is in RDF.
fn whole(value: &Value) -> Value {
    match value {
        Value::Number(n) => match n.as_f64() {
            Some(float) if n.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => json!(float as i64),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(whole).collect(),
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), whole(value))).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_store_that_forgets_the_order_loses_nothing_that_was_kept() {
    let message = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"b"},{"name":"a"},{"name":"c"}],"x":1.0}}"#;
    let mut writer = Writer::new(Vec::new(), Format::NTriples).keep_json();
    writer.message(message).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.reverse();
    let triples = rdf::parse(&lines.join("\n"), Format::NTriples).unwrap();
    assert_eq!(rdf::messages(&triples).unwrap(), [message]);
}

#[test]
fn lists_of_the_protocol_are_values_of_a_property() {
    for (result, expected) in [
        (r#"{"content":[{"type":"text","text":"a"}]}"#, "mcp:content [ mcp:type"),
        (r#"{"tools":[{"name":"a"},{"name":"b"}]}"#, r#"mcp:tools [ mcp:name "a" ], [ mcp:name "b" ]"#),
        // Where an item may stand for a list, a list of one is told from it.
        (r#"{"role":"user","model":"m","content":[{"type":"text","text":"a"}]}"#, "mcp:content ( ["),
        (r#"{"structuredContent":{"rows":[1,2]},"content":[]}"#, "mcp:rows ( 1 2 )"),
    ] {
        let mut writer = Writer::new(Vec::new(), Format::Turtle);
        writer.message(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)).unwrap();
        let turtle = String::from_utf8(writer.finish().unwrap()).unwrap();
        assert!(turtle.contains(expected), "{turtle}");
    }
}

#[test]
fn contexts_are_never_fetched() {
    for document in [
        r#"{"@context":"https://example.com/c","jsonrpc":"2.0"}"#,
        r#"{"@context":[{"a":"b:c"},"https://example.com/c"],"jsonrpc":"2.0"}"#,
        r#"{"@context":{"@import":"https://example.com/c"},"jsonrpc":"2.0"}"#,
        r#"{"@context":{},"http://modelcontextprotocol.io/ontology#jsonrpc":{"@context":"https://example.com/c"}}"#,
    ] {
        let error = jsonld::from_jsonld(document).unwrap_err();
        assert!(error.is_unknown_context(), "{error}");
        assert!(error.to_string().contains("https://example.com/c"), "{error}");
        assert!(error.to_string().contains(jsonld::CONTEXT_URL), "{error}");
    }
}

#[test]
fn json_ld_of_others_is_understood() {
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": 0.5 } });
    for document in [
        json!({ "@context": [jsonld::CONTEXT_URL], "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": 0.5 } }),
        json!({
            "@context": [jsonld::CONTEXT_URL, { "m": "http://modelcontextprotocol.io/ontology#method" }],
            "jsonrpc": "2.0", "m": "notifications/progress", "params": { "progress": 0.5 }
        }),
        json!({
            "@context": { "v": "http://modelcontextprotocol.io/ontology#" },
            "v:jsonrpc": "2.0", "v:method": "notifications/progress", "v:params": { "v:progress": 0.5 }
        }),
        json!([{
            "http://modelcontextprotocol.io/ontology#jsonrpc": [{ "@value": "2.0" }],
            "http://modelcontextprotocol.io/ontology#method": [{ "@value": "notifications/progress" }],
            "http://modelcontextprotocol.io/ontology#params": [{
                "http://modelcontextprotocol.io/ontology#progress": [{ "@value": 0.5 }]
            }]
        }]),
        serde_json::from_str::<Value>(jsonld::CONTEXT)
            .map(|mut context| {
                context["jsonrpc"] = "2.0".into();
                context["method"] = "notifications/progress".into();
                context["params"] = json!({ "progress": 0.5 });
                context
            })
            .unwrap(),
    ] {
        let found = jsonld::from_jsonld(&document.to_string()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&found).unwrap(), message, "{document}");
    }
    assert!(jsonld::from_jsonld(r#"{"@context":{"@vocab":"http://example.com/"},"jsonrpc":"2.0"}"#).is_err());
    assert!(jsonld::from_jsonld("[]").is_err());
}

#[test]
fn what_is_no_message_is_refused() {
    for text in ["[]", "1", "{", r#"{"@context":"x","jsonrpc":"2.0"}"#, r#"{"a b":1}"#] {
        assert!(jsonld::to_jsonld(text).is_err(), "{text}");
        assert!(rdf::triples(text).is_err(), "{text}");
    }
}

#[test]
fn triples_that_are_no_trees_are_refused() {
    let v = rdf::VOCABULARY;
    // Each node leads to the next one twice, so that the message would be of 2^100 values.
    let doubled: String =
        (0..100).map(|n| format!("_:b{n} <{v}x> _:b{} .\n_:b{n} <{v}y> _:b{} .\n", n + 1, n + 1)).collect();
    let deep: String = (0..100_000).map(|n| format!("_:b{n} <{v}x> _:b{} .\n", n + 1)).collect();
    let deep_list: String = (0..100_000).map(|n| format!("_:b{n} <{RDF}first> _:b{} .\n", n + 1)).collect();
    for said in [
        format!("_:a <{v}params> _:b0 .\n{deep}"),
        format!("_:a <{v}params> _:b0 .\n{deep_list}"),
        format!("_:a <{v}params> _:b .\n_:b <{v}c> _:b .\n"),
        format!("_:a <{v}params> _:b0 .\n{doubled}"),
        format!("_:a <{v}params> _:b .\n_:b <{RDF}first> \"c\" .\n_:b <{RDF}rest> _:b .\n"),
        format!("_:a <{v}params> _:b .\n_:b <{RDF}first> _:b .\n_:b <{RDF}rest> _:b .\n"),
        format!("_:a <{}json> \"this is not JSON\" .\n", rdf::LOG),
    ] {
        let triples = rdf::parse(&format!("_:a <{v}jsonrpc> \"2.0\" .\n{said}"), Format::NTriples).unwrap();
        assert!(rdf::messages(&triples).is_err(), "{said:.500}");
    }
}

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
