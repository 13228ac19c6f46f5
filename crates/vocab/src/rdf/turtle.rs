//! Readable Turtle: blank nodes are nested where they are used, as in the building block.

use super::{LOG, PROV, RDF, VOCABULARY, XSD, term};
use crate::tree::Ld;

/// Writes the prefixes of a Turtle document.
pub(super) fn prefixes(out: &mut String) {
    for (name, iri) in [("mcp", VOCABULARY), ("log", LOG), ("prov", PROV), ("rdf", RDF), ("xsd", XSD)] {
        put!(out, "@prefix {name}: <{iri}> .\n");
    }
}

/// Writes one message; `front` are the statements of the log about it, each with its predicate.
pub(super) fn message(tree: &Ld<'_>, front: &[String], out: &mut String) {
    out.push_str("\n[]");
    let mut separator = " ";
    for said in front {
        out.push_str(separator);
        out.push_str(said);
        separator = " ;\n    ";
    }
    if let Ld::Node(members) = tree {
        for (key, value) in members {
            out.push_str(separator);
            property(key, value, 1, out);
            separator = " ;\n    ";
        }
    }
    out.push_str(" .\n");
}

fn property(key: &str, value: &Ld<'_>, depth: usize, out: &mut String) {
    if is_local(key) {
        put!(out, "mcp:{key} ");
    } else {
        put!(out, "<{VOCABULARY}{key}> ");
    }
    match value {
        Ld::Set(items) => {
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                object(item, depth, out);
            }
        }
        single => object(single, depth, out),
    }
}

fn object(value: &Ld<'_>, depth: usize, out: &mut String) {
    match value {
        Ld::Node(members) if members.is_empty() => out.push_str("[ ]"),
        Ld::Node(members) => {
            out.push_str("[ ");
            for (at, (key, value)) in members.iter().enumerate() {
                if at > 0 {
                    out.push_str(" ;\n");
                    out.extend(std::iter::repeat_n("    ", depth + 1));
                }
                property(key, value, depth + 1, out);
            }
            out.push_str(" ]");
        }
        Ld::Set(items) | Ld::List(items) => {
            out.push('(');
            for item in items {
                out.push(' ');
                object(item, depth + 1, out);
            }
            out.push_str(" )");
        }
        Ld::Text(text) => term::quoted(text, out),
        Ld::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
        // Turtle parses both in their bare form: an integer, and a double by its exponent.
        Ld::Number(number) => out.push_str(term::Numeral::of(number).text()),
        Ld::Literal(text) => {
            term::quoted(text, out);
            out.push_str("^^rdf:JSON");
        }
    }
}

/// Whether a key can be written as a prefixed name.
fn is_local(key: &str) -> bool {
    let mut bytes = key.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
