//! Converts messages to RDF (triples, Turtle, N-Triples, TriG and N-Quads) and back.
//!
//! ```
//! use couplet_vocab::rdf;
//!
//! let message = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":[1,1]}}}"#;
//! let triples = rdf::triples(message)?;
//! assert_eq!(rdf::messages(&triples)?, [message]);
//! # Ok::<(), couplet_vocab::Error>(())
//! ```

/// Appends formatted text to a string, which cannot fail.
macro_rules! put {
    ($out:ident, $($text:tt)*) => {{
        use std::fmt::Write as _;
        $out.write_fmt(format_args!($($text)*)).expect("writing to a string cannot fail");
    }};
}

mod read;
mod term;
mod triple;
mod turtle;
mod walk;
mod write;

pub use read::{messages, parse};
pub(crate) use term::quoted as write_quoted;
pub use triple::triples;
pub use write::{Format, Writer};

/// The namespace of the OGC building block, in which every name of a message is a term.
pub const VOCABULARY: &str = "http://modelcontextprotocol.io/ontology#";

/// The namespace of log metadata: `direction`, `position`, `session`, and `json`, the message itself.
pub const LOG: &str = "urn:couplet:log#";

/// The PROV namespace; `generatedAtTime` is the time of a message.
pub const PROV: &str = "http://www.w3.org/ns/prov#";

/// The prefix of the graph names of sessions.
pub const SESSION: &str = "urn:couplet:session:";

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// The datatype of JSON literals.
const JSON: oxrdf::NamedNodeRef<'static> =
    oxrdf::NamedNodeRef::new_unchecked("http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON");
