//! A streaming writer of messages and logs as RDF.

use std::{
    fmt,
    io::{self, Write},
    str::FromStr,
};

use super::{
    LOG, PROV, RDF, SESSION, VOCABULARY,
    term::{self, Datatype},
    turtle,
    walk::{Object, Predicate, walk},
};
use crate::{
    Error, jsonld,
    log::Entry,
    tree::{self, Ld},
};

/// A serialization format of RDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Turtle, with nested nodes.
    Turtle,
    /// N-Triples, one triple per line.
    NTriples,
    /// TriG: Turtle with one graph per session.
    TriG,
    /// N-Quads: N-Triples with one graph per session.
    NQuads,
    /// JSON-LD, one document per line, without the metadata of logs.
    JsonLd,
}

impl Format {
    /// All formats.
    pub const ALL: &'static [Self] = &[Self::Turtle, Self::NTriples, Self::TriG, Self::NQuads, Self::JsonLd];

    /// Returns the name of the format, as in command lines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Turtle => "turtle",
            Self::NTriples => "ntriples",
            Self::TriG => "trig",
            Self::NQuads => "nquads",
            Self::JsonLd => "jsonld",
        }
    }

    /// Returns the file extension of the format.
    ///
    /// ```
    /// use couplet_vocab::rdf::Format;
    ///
    /// assert_eq!(Format::NTriples.extension(), "nt");
    /// assert_eq!("nt".parse(), Ok(Format::NTriples));
    /// ```
    pub fn extension(self) -> &'static str {
        match self {
            Self::Turtle => "ttl",
            Self::NTriples => "nt",
            Self::TriG => "trig",
            Self::NQuads => "nq",
            Self::JsonLd => "jsonld",
        }
    }

    /// Whether each session has its own graph.
    fn has_graphs(self) -> bool {
        matches!(self, Self::TriG | Self::NQuads)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.iter().copied().find(|f| [f.as_str(), f.extension()].contains(&text)).ok_or_else(|| {
            let known = Self::ALL.iter().map(|format| format.as_str()).collect::<Vec<_>>().join(", ");
            Error::new(format!("`{text}` is not a format; expected one of {known}"))
        })
    }
}

/// A streaming writer of messages as RDF, in bounded memory.
///
/// ```
/// use couplet_vocab::rdf::{Format, Writer};
///
/// let mut writer = Writer::new(Vec::new(), Format::NTriples);
/// writer.message(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
/// let text = String::from_utf8(writer.finish()?)?;
/// assert_eq!(text.lines().count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    format: Format,
    keeps_json: bool,
    /// The number of the next message.
    count: u64,
    begun: bool,
    /// The session whose graph is open.
    open: Option<String>,
    buffer: String,
}

impl<W: Write> Writer<W> {
    /// Creates a writer to `out`, which should be buffered.
    pub fn new(out: W, format: Format) -> Self {
        Self { out, format, keeps_json: false, count: 0, begun: false, open: None, buffer: String::new() }
    }

    /// Adds each message as a JSON literal (`log:json`), so that [`messages`](super::messages) restores it exactly.
    #[must_use]
    pub fn keep_json(mut self) -> Self {
        self.keeps_json = true;
        self
    }

    /// Writes a message without log metadata.
    ///
    /// # Errors
    /// If the text is not a message, or writing fails. An invalid message writes nothing.
    pub fn message(&mut self, message: &str) -> io::Result<()> {
        let message = serde_json::from_str(message).map_err(|e| invalid(&e))?;
        self.entry(&Entry::new(message))
    }

    /// Writes an entry of a log: each message in it, with its time, direction and position in the log.
    ///
    /// # Errors
    /// If the message or the time is invalid, or writing fails. An invalid entry writes nothing.
    pub fn entry(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let text = entry.message.get();
        if !text.starts_with('[') {
            return self.single(text, entry);
        }
        let items: Vec<&serde_json::value::RawValue> = serde_json::from_str(text).map_err(|e| invalid(&e))?;
        items.into_iter().try_for_each(|item| self.single(item.get(), entry))
    }

    /// Closes open graphs, and returns the underlying writer.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.buffer.clear();
        self.begin();
        self.close_graph();
        self.flush_buffer()?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn single(&mut self, text: &str, entry: &Entry<'_>) -> io::Result<()> {
        self.buffer.clear();
        if self.format == Format::JsonLd {
            self.buffer.push_str(&jsonld::to_jsonld(text).map_err(|e| invalid(&e))?);
            self.buffer.push('\n');
            return self.flush_buffer();
        }
        let message = serde_json::from_str(text).map_err(|e| invalid(&e))?;
        let tree = tree::guard(message).map_err(|e| invalid(&e))?;
        let said = self.said(text, entry)?;
        self.begin();
        match self.format {
            Format::Turtle | Format::TriG => {
                self.open_graph(entry);
                let front: Vec<String> = said.iter().map(Said::turtle).collect();
                turtle::message(&tree, &front, &mut self.buffer);
            }
            _ => self.lines(&tree, &said, entry),
        }
        self.count += 1;
        self.flush_buffer()
    }

    /// The log metadata of a message.
    fn said<'e>(&self, text: &'e str, entry: &'e Entry<'_>) -> io::Result<Vec<Said<'e>>> {
        let mut said = Vec::new();
        if let Some(time) = &entry.time {
            said.push(Said::Time(
                time.to_rfc3339().ok_or_else(|| invalid(&"the time is not in the format of RFC 3339"))?.into(),
            ));
        }
        if let Some(direction) = entry.direction {
            said.push(Said::Direction(direction.as_str()));
        }
        if let (Some(session), false) = (&entry.session, self.format.has_graphs()) {
            said.push(Said::Session(session));
        }
        if !said.is_empty() || entry.session.is_some() {
            said.push(Said::Position(self.count));
        }
        if self.keeps_json {
            said.push(Said::Json(text));
        }
        Ok(said)
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) && matches!(self.format, Format::Turtle | Format::TriG) {
            turtle::prefixes(&mut self.buffer);
        }
    }

    /// Opens the graph of a session, unless it is open already.
    fn open_graph(&mut self, entry: &Entry<'_>) {
        let session = entry.session.as_deref().filter(|_| self.format.has_graphs());
        if self.open.as_deref() == session {
            return;
        }
        self.close_graph();
        if let Some(session) = session {
            self.buffer.push_str("\nGRAPH <");
            session_iri(session, &mut self.buffer);
            self.buffer.push_str("> {");
            self.open = Some(session.to_owned());
        }
    }

    fn close_graph(&mut self) {
        if self.open.take().is_some() {
            self.buffer.push_str("}\n");
        }
    }

    /// Writes one triple or quad per line.
    fn lines(&mut self, tree: &Ld<'_>, said: &[Said<'_>], entry: &Entry<'_>) {
        let mut graph = String::new();
        if let (Some(session), true) = (&entry.session, self.format.has_graphs()) {
            graph.push_str(" <");
            session_iri(session, &mut graph);
            graph.push('>');
        }
        let mut name = String::new();
        put!(name, "_:m{}", self.count);
        let out = &mut self.buffer;
        walk(tree, &mut |subject, predicate, object| {
            label(&name, subject, out);
            let (namespace, term) = match predicate {
                Predicate::Term(key) => (VOCABULARY, key),
                Predicate::First => (RDF, "first"),
                Predicate::Rest => (RDF, "rest"),
            };
            for part in [" <", namespace, term, "> "] {
                out.push_str(part);
            }
            match object {
                Object::Node(number) => label(&name, number, out),
                Object::Nil => put!(out, "<{RDF}nil>"),
                Object::Value(value) => literal(value, out),
            }
            out.push_str(&graph);
            out.push_str(" .\n");
        });
        for said in said {
            label(&name, 0, out);
            out.push(' ');
            said.line(out);
            out.push_str(&graph);
            out.push_str(" .\n");
        }
    }

    fn flush_buffer(&mut self) -> io::Result<()> {
        self.out.write_all(self.buffer.as_bytes())?;
        // Memory for one very large message is not held until the end.
        self.buffer.clear();
        self.buffer.shrink_to(1 << 20);
        Ok(())
    }
}

fn invalid(error: &dyn fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// The label of a node, unique in this document: the number of the message, and the number of the node in it.
fn label(message: &str, node: u32, out: &mut String) {
    out.push_str(message);
    if node > 0 {
        put!(out, "n{node}");
    }
}

fn literal(value: &Ld<'_>, out: &mut String) {
    match value {
        Ld::Text(text) => term::literal(text, None, out),
        Ld::Bool(yes) => term::literal(if *yes { "true" } else { "false" }, Some(Datatype::Xsd("boolean")), out),
        Ld::Literal(text) => term::literal(text, Some(Datatype::Json), out),
        Ld::Number(number) => {
            let numeral = term::Numeral::of(number);
            term::literal(numeral.text(), Some(Datatype::Xsd(numeral.datatype())), out);
        }
        Ld::Node(_) | Ld::Set(_) | Ld::List(_) => unreachable!("these are nodes"),
    }
}

fn session_iri(session: &str, out: &mut String) {
    out.push_str(SESSION);
    term::percent(session, out);
}

/// A statement of the log about a message.
enum Said<'e> {
    Time(String),
    Direction(&'static str),
    Session(&'e str),
    Position(u64),
    Json(&'e str),
}

impl Said<'_> {
    /// Formats predicate and object with prefixes.
    fn turtle(&self) -> String {
        let mut out = String::new();
        match self {
            Self::Time(time) => put!(out, "prov:generatedAtTime \"{time}\"^^xsd:dateTime"),
            Self::Direction(direction) => put!(out, "log:direction log:{direction}"),
            Self::Session(session) => {
                out.push_str("log:session <");
                session_iri(session, &mut out);
                out.push('>');
            }
            Self::Position(position) => put!(out, "log:position {position}"),
            Self::Json(text) => {
                out.push_str("log:json ");
                term::quoted(text, &mut out);
                out.push_str("^^rdf:JSON");
            }
        }
        out
    }

    /// Formats predicate and object with full IRIs.
    fn line(&self, out: &mut String) {
        match self {
            Self::Time(time) => {
                put!(out, "<{PROV}generatedAtTime> ");
                term::literal(time, Some(Datatype::Xsd("dateTime")), out);
            }
            Self::Direction(direction) => put!(out, "<{LOG}direction> <{LOG}{direction}>"),
            Self::Session(session) => {
                put!(out, "<{LOG}session> <");
                session_iri(session, out);
                out.push('>');
            }
            Self::Position(position) => {
                put!(out, "<{LOG}position> ");
                term::literal(&position.to_string(), Some(Datatype::Xsd("integer")), out);
            }
            Self::Json(text) => {
                put!(out, "<{LOG}json> ");
                term::literal(text, Some(Datatype::Json), out);
            }
        }
    }
}
