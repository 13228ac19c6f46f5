//! Messages as triples.

use oxrdf::{
    BlankNode, Literal, NamedNode, Term, Triple,
    vocab::{rdf, xsd},
};

use super::{
    JSON, VOCABULARY,
    term::Numeral,
    walk::{Object, Predicate, walk},
};
use crate::{
    Error,
    tree::{self, Ld},
};

/// Converts a message to triples. Its nodes are blank; the subject of the first triple is the message.
///
/// ```
/// let triples = couplet_vocab::rdf::triples(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)?;
/// assert_eq!(triples[2].predicate.as_str(), "http://modelcontextprotocol.io/ontology#method");
/// # Ok::<(), couplet_vocab::Error>(())
/// ```
///
/// # Errors
/// If the text is not a JSON object, or has a top-level member that RDF cannot express.
pub fn triples(message: &str) -> Result<Vec<Triple>, Error> {
    let tree = tree::guard(serde_json::from_str(message)?)?;
    let mut nodes = vec![BlankNode::default()];
    let mut all = Vec::new();
    walk(&tree, &mut |subject, predicate, object| {
        let subject = node(&mut nodes, subject);
        let object = match object {
            Object::Node(number) => node(&mut nodes, number).into(),
            Object::Nil => rdf::NIL.into(),
            Object::Value(value) => literal(value),
        };
        all.push(Triple::new(subject, named(predicate), object));
    });
    Ok(all)
}

fn node(nodes: &mut Vec<BlankNode>, number: u32) -> BlankNode {
    let number = number as usize;
    if number >= nodes.len() {
        nodes.resize_with(number + 1, BlankNode::default);
    }
    nodes[number].clone()
}

fn named(predicate: Predicate<'_>) -> NamedNode {
    match predicate {
        // The key was checked before.
        Predicate::Term(key) => NamedNode::new_unchecked(format!("{VOCABULARY}{key}")),
        Predicate::First => rdf::FIRST.into(),
        Predicate::Rest => rdf::REST.into(),
    }
}

fn literal(value: &Ld<'_>) -> Term {
    let literal = match value {
        Ld::Text(text) => Literal::new_simple_literal(&**text),
        Ld::Bool(yes) => Literal::from(*yes),
        Ld::Literal(text) => Literal::new_typed_literal(&**text, JSON),
        Ld::Number(number) => match Numeral::of(number) {
            Numeral::Integer(text) => Literal::new_typed_literal(text, xsd::INTEGER),
            Numeral::Double(text) => Literal::new_typed_literal(text, xsd::DOUBLE),
        },
        Ld::Node(_) | Ld::Set(_) | Ld::List(_) => unreachable!("these are nodes"),
    };
    literal.into()
}
