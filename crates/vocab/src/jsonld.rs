//! Converts messages to JSON-LD and back.
//!
#![doc = include_str!("docs/fidelity.md")]

use std::borrow::Cow;

use oxjsonld::{JsonLdParser, JsonLdRemoteDocument};

use crate::{
    Error, rdf,
    tree::{self, Ld, json::Json},
};

/// The URL of the context, which documents refer to.
pub const CONTEXT_URL: &str = "https://ogcincubator.github.io/modelcontextprotocol/build/annotated/mcp/context.jsonld";

/// The context, embedded: it is never fetched.
pub const CONTEXT: &str = include_str!("context.jsonld");

/// Converts a message to JSON-LD: it adds `@context`, and encodes values that JSON-LD would lose.
///
/// ```
/// let message = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
/// let document = couplet_vocab::jsonld::to_jsonld(message)?;
/// assert!(document.starts_with(r#"{"@context":"https://"#));
/// assert_eq!(couplet_vocab::jsonld::from_jsonld(&document)?, message);
/// # Ok::<(), couplet_vocab::Error>(())
/// ```
///
/// # Errors
/// If the text is not a JSON object, or has a top-level member that RDF cannot express.
pub fn to_jsonld(message: &str) -> Result<String, Error> {
    let tree = tree::guard(serde_json::from_str(message)?)?;
    Ok(print(&document(tree)))
}

/// Converts JSON-LD to a message: the output of [`to_jsonld`], or any other document with the same triples.
///
/// # Errors
/// If the text is not JSON-LD, contains no message or more than one, or needs a context that is not embedded.
pub fn from_jsonld(text: &str) -> Result<String, Error> {
    let Json::Object(mut members) = serde_json::from_str::<Json<'_>>(text)? else { return from_any(text) };
    let Some(at) = members.iter().position(|(key, _)| key == "@context") else { return from_any(text) };
    let (_, context) = members.remove(at);
    let is_ours = is_ours(&context)?;
    match (is_ours, read_members(members)) {
        (true, Some(members)) => Ok(print(&Json::Object(members))),
        _ => from_any(text),
    }
}

/// Converts a JSON-LD document of another origin, through its triples.
fn from_any(text: &str) -> Result<String, Error> {
    let mut messages = rdf::messages(&triples(text)?)?;
    match (messages.pop(), messages.pop()) {
        (Some(message), None) => Ok(message),
        (None, _) => Err(Error::new("the document contains no message: there is no `jsonrpc`")),
        (Some(_), Some(_)) => Err(Error::new("the document contains more than one message")),
    }
}

/// Returns the triples of a JSON-LD document. Only embedded contexts are used; nothing is fetched.
///
/// ```
/// let document = couplet_vocab::jsonld::to_jsonld(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)?;
/// assert_eq!(couplet_vocab::jsonld::triples(&document)?.len(), 3);
/// # Ok::<(), couplet_vocab::Error>(())
/// ```
///
/// # Errors
/// If the text is not JSON-LD, or needs a context that is not embedded.
pub fn triples(text: &str) -> Result<Vec<oxrdf::Triple>, Error> {
    let parser = JsonLdParser::new().for_slice(text).with_load_document_callback(|url, _| {
        if url != CONTEXT_URL {
            return Err(unknown(url).into());
        }
        Ok(JsonLdRemoteDocument { document: CONTEXT.as_bytes().to_vec(), document_url: url.to_owned() })
    });
    parser.map(|quad| quad.map(oxrdf::Triple::from)).collect::<Result<_, _>>().map_err(|error| {
        let what = error.to_string();
        if what.contains(UNKNOWN) { Error::unknown_context(what) } else { Error::new(format!("not JSON-LD: {what}")) }
    })
}

/// The end of the error message for an unknown context.
const UNKNOWN: &str = "is not embedded, and nothing is fetched";

fn unknown(url: &str) -> Error {
    Error::unknown_context(format!("the context `{url}` {UNKNOWN}; known is `{CONTEXT_URL}`"))
}

/// Whether a context is the embedded one, by its URL or by its content; an error if it is another URL.
fn is_ours(context: &Json<'_>) -> Result<bool, Error> {
    match context {
        Json::Text(url) if url == CONTEXT_URL => Ok(true),
        Json::Text(url) => Err(unknown(url)),
        Json::Object(_) => {
            let embedded: Json<'_> = serde_json::from_str(CONTEXT)?;
            Ok(embedded.get("@context").is_some_and(|c| c.canonical() == context.canonical()))
        }
        Json::List(contexts) => {
            let ours = contexts.iter().map(is_ours).collect::<Result<Vec<_>, _>>()?;
            Ok(!ours.is_empty() && ours.into_iter().all(|ours| ours))
        }
        _ => Ok(false),
    }
}

/// The JSON-LD document of a message.
fn document(tree: Ld<'_>) -> Json<'_> {
    let context = (Cow::Borrowed("@context"), Json::Text(Cow::Borrowed(CONTEXT_URL)));
    match write(tree) {
        Json::Object(members) => Json::Object(std::iter::once(context).chain(members).collect()),
        other => other,
    }
}

fn write(tree: Ld<'_>) -> Json<'_> {
    let member = |key: &'static str, value| (Cow::Borrowed(key), value);
    match tree {
        Ld::Node(members) => Json::Object(members.into_iter().map(|(key, value)| (key, write(value))).collect()),
        Ld::Set(items) => Json::List(items.into_iter().map(write).collect()),
        Ld::List(items) => Json::Object(vec![member("@list", Json::List(items.into_iter().map(write).collect()))]),
        Ld::Text(text) => Json::Text(text),
        Ld::Bool(yes) => Json::Bool(yes),
        Ld::Number(number) => Json::Number(number),
        Ld::Literal(text) => {
            let value = serde_json::from_str::<Json<'_>>(&text).map_or(Json::Null, tree::into_owned);
            Json::Object(vec![member("@type", Json::Text(Cow::Borrowed("@json"))), member("@value", value)])
        }
    }
}

/// The members of a message in a document; `None` if it is not in the form of [`to_jsonld`].
fn read_members<'a>(members: Vec<(Cow<'a, str>, Json<'a>)>) -> Option<Vec<(Cow<'a, str>, Json<'a>)>> {
    members
        .into_iter()
        .map(|(key, value)| if key.starts_with('@') { None } else { Some((key, read(value)?)) })
        .collect()
}

fn read(value: Json<'_>) -> Option<Json<'_>> {
    match value {
        Json::List(items) => items.into_iter().map(read).collect::<Option<_>>().map(Json::List),
        Json::Object(mut members) => {
            let has = |name: &str| members.iter().any(|(key, _)| key == name);
            match members.len() {
                1 if has("@list") => read(members.remove(0).1),
                2 if has("@type") && has("@value") => {
                    let is_json = members.iter().any(|(key, value)| key == "@type" && value.as_text() == Some("@json"));
                    let value = members.into_iter().find(|(key, _)| key == "@value").map(|(_, value)| value);
                    value.filter(|_| is_json)
                }
                _ => read_members(members).map(Json::Object),
            }
        }
        other => Some(other),
    }
}

fn print(json: &Json<'_>) -> String {
    serde_json::to_string(json).expect("JSON can always be serialized")
}
