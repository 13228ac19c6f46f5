//! The intermediate form between a message and JSON-LD or RDF.
//!
//! Values that JSON-LD 1.1 would lose or misread are encoded:
//!
//! * `null`, and objects with keys that cannot be part of an IRI or begin with `@`: as JSON literals;
//! * lists that are not lists of the protocol, empty ones, nested ones, and lists with equal items: as ordered lists.

pub(crate) mod json;
pub(crate) mod shape;

use std::borrow::Cow;

use serde_json::Number;

use crate::{Error, table::Definition};
use json::Json;
use shape::{Here, Listing, Members, Place, Value};

/// A value in the data model of RDF.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ld<'a> {
    /// A blank node and its properties.
    Node(Vec<(Cow<'a, str>, Ld<'a>)>),
    /// Several values of one property, without order.
    Set(Vec<Ld<'a>>),
    /// An ordered list.
    List(Vec<Ld<'a>>),
    Text(Cow<'a, str>),
    Bool(bool),
    Number(Number),
    /// A JSON literal: its lexical form.
    Literal(Cow<'a, str>),
}

/// Prefixes of the context, which would be expanded if used as keys.
const PREFIXES: [&str; 3] = ["mcp", "rdfs", "xsd"];

/// Converts a message to the data model of RDF.
pub(crate) fn guard<'a>(message: Json<'a>) -> Result<Ld<'a>, Error> {
    let Json::Object(members) = message else {
        return Err(Error::new("expected a JSON object; write the messages of a batch one by one"));
    };
    if members.iter().any(|(key, _)| key == "@context") {
        return Err(Error::new("expected a message, found JSON-LD"));
    }
    if let Some((key, _)) = members.iter().find(|(key, _)| !is_plain(key)) {
        return Err(Error::new(format!("a message with a member `{key}` cannot be expressed in RDF")));
    }
    let root = Root::new(&members);
    let each = |(key, value): (Cow<'a, str>, Json<'a>)| {
        let below = root.member(&key);
        (key, guard_value(value, &below))
    };
    Ok(Ld::Node(members.into_iter().map(each).collect()))
}

/// Converts the data model of RDF back to a message.
pub(crate) fn restore<'a>(tree: Ld<'a>) -> Json<'a> {
    let Ld::Node(members) = tree else { return restore_value(tree, &Place::unknown()) };
    let root = Root::new(&members);
    let each = |(key, value): (Cow<'a, str>, Ld<'a>)| {
        let below = root.member(&key);
        (key, restore_value(value, &below))
    };
    Json::Object(members.into_iter().map(each).collect())
}

/// Properties of a whole message.
struct Root {
    place: Place,
    fitting: Vec<&'static Definition>,
}

impl Root {
    fn new<V: Value>(members: Members<'_, '_, V>) -> Self {
        let place = Place::message(members);
        let fitting = place.fitting(members);
        Self { place, fitting }
    }

    fn member(&self, key: &str) -> Here {
        match key {
            "result" | "error" => Place::response(key),
            _ => self.place.member(&self.fitting, key),
        }
    }
}

fn guard_value<'a>(value: Json<'a>, place: &Place) -> Ld<'a> {
    match value {
        Json::List(items) => guard_list(items, place),
        // A single value in place of a list would be read back as a list of one.
        value if place.listing() == Listing::Always => Ld::Literal(Cow::Owned(value.canonical())),
        Json::Null => Ld::Literal(Cow::Borrowed("null")),
        Json::Bool(yes) => Ld::Bool(yes),
        Json::Number(number) => Ld::Number(number),
        Json::Text(text) => Ld::Text(text),
        Json::Object(ref members) if !members.iter().all(|(key, _)| is_plain(key)) => {
            Ld::Literal(Cow::Owned(value.canonical()))
        }
        Json::Object(members) => {
            let fitting = place.fitting(&members);
            let each = |(key, value): (Cow<'a, str>, Json<'a>)| {
                let below = place.member(&fitting, &key);
                (key, guard_value(value, &below))
            };
            Ld::Node(members.into_iter().map(each).collect())
        }
    }
}

fn guard_list<'a>(items: Vec<Json<'a>>, place: &Place) -> Ld<'a> {
    let nests = items.iter().any(|item| matches!(item, Json::List(_)));
    let is_set = match place.listing() {
        Listing::Always => true,
        Listing::Sometimes => items.len() > 1,
        Listing::Unknown => false,
    };
    let is_set = is_set && !items.is_empty() && !nests && !has_equals(&items);
    let below = place.item();
    let items = items.into_iter().map(|item| guard_value(item, &below)).collect();
    if is_set { Ld::Set(items) } else { Ld::List(items) }
}

/// Whether two items are equal literals, of which RDF would store only one. Objects are always distinct.
fn has_equals(items: &[Json<'_>]) -> bool {
    let mut texts: Vec<String> = items.iter().filter(|i| !matches!(i, Json::Object(_))).map(Json::canonical).collect();
    texts.sort_unstable();
    texts.windows(2).any(|pair| pair[0] == pair[1])
}

/// Whether a key can be appended to an IRI unchanged, and is not interpreted otherwise.
fn is_plain(key: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=/?@".contains(c) || is_iri_letter(c);
    !key.is_empty() && !key.starts_with('@') && !PREFIXES.contains(&key) && key.chars().all(allowed)
}

/// Whether an IRI may contain this character of another script (RFC 3987, `ucschar`).
fn is_iri_letter(c: char) -> bool {
    let code = u32::from(c);
    let is_plane =
        (0x1_0000..=0xE_FFFD).contains(&code) && code & 0xFFFE != 0xFFFE && !(0xE_0000..0xE_1000).contains(&code);
    matches!(code, 0xA0..=0xD7FF | 0xF900..=0xFDCF | 0xFDF0..=0xFFEF) || is_plane
}

/// Converts a value back to JSON: a single value becomes a list of one where the protocol has only lists.
fn restore_value<'a>(value: Ld<'a>, place: &Place) -> Json<'a> {
    match value {
        Ld::Literal(text) => serde_json::from_str::<Json<'_>>(&text).map_or(Json::Null, into_owned),
        Ld::Set(items) | Ld::List(items) => {
            let below = place.item();
            Json::List(items.into_iter().map(|item| restore_value(item, &below)).collect())
        }
        value if place.listing() == Listing::Always => Json::List(vec![restore_value(value, &place.item())]),
        Ld::Text(text) => Json::Text(text),
        Ld::Bool(yes) => Json::Bool(yes),
        Ld::Number(number) => Json::Number(number),
        Ld::Node(members) => {
            let fitting = place.fitting(&members);
            let each = |(key, value): (Cow<'a, str>, Ld<'a>)| {
                let below = place.member(&fitting, &key);
                (key, restore_value(value, &below))
            };
            Json::Object(members.into_iter().map(each).collect())
        }
    }
}

pub(crate) fn into_owned(json: Json<'_>) -> Json<'static> {
    match json {
        Json::Null => Json::Null,
        Json::Bool(yes) => Json::Bool(yes),
        Json::Number(number) => Json::Number(number),
        Json::Text(text) => Json::Text(Cow::Owned(text.into_owned())),
        Json::List(items) => Json::List(items.into_iter().map(into_owned).collect()),
        Json::Object(members) => Json::Object(
            members.into_iter().map(|(key, value)| (Cow::Owned(key.into_owned()), into_owned(value))).collect(),
        ),
    }
}
