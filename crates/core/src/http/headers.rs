//! Headers that mirror the body: their names, how a value is written in one, and which arguments of a tool have one.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::message::{Params, scan::JsonText};

pub use crate::wire::http::{LAST_EVENT_ID, METHOD, NAME, PARAM_PREFIX, PROTOCOL_VERSION, SESSION};

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";
const ANNOTATION: &str = "x-mcp-header";
/// The largest integer that every peer can read.
const SAFE: i64 = (1 << 53) - 1;

/// A text as it stands in a header: as it is, or in Base64 where a header could not carry it.
///
/// ```
/// use couplet_core::http::headers::{decode, encode};
///
/// assert_eq!(encode("us-west 1"), "us-west 1");
/// assert_eq!(encode("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
/// assert_eq!(encode(" padded "), "=?base64?IHBhZGRlZCA=?=");
/// assert_eq!(encode("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
/// assert_eq!(decode(b"=?base64?SGVsbG8=?=").unwrap(), "Hello");
/// ```
pub fn encode(text: &str) -> Cow<'_, str> {
    let edges = |c| c == ' ' || c == '\t';
    let visible = text.bytes().all(|b| matches!(b, 0x20..=0x7e));
    let looks_encoded = text.starts_with(OPEN) && text.ends_with(CLOSE);
    if visible && !looks_encoded && !text.starts_with(edges) && !text.ends_with(edges) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{OPEN}{}{CLOSE}", STANDARD.encode(text)))
}

/// The text that a header carries.
///
/// # Errors
/// What is wrong with it: characters that no header may have, or Base64 that is not strictly that.
pub fn decode(value: &[u8]) -> Result<Cow<'_, str>, &'static str> {
    let text = std::str::from_utf8(value).ok().filter(|t| t.bytes().all(|b| matches!(b, 0x20..=0x7e | b'\t')));
    let text = text.ok_or("it has characters that a header must not have")?.trim_matches([' ', '\t']);
    let Some(inner) = text.strip_prefix(OPEN).and_then(|t| t.strip_suffix(CLOSE)) else {
        return Ok(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(inner).map_err(|_| "it is not valid Base64")?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| "it is not UTF-8 in Base64")
}

/// An argument of a tool that is mirrored in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamHeader {
    /// The name as the schema gives it, to stand behind the prefix.
    name: String,
    /// The keys that lead to the argument.
    path: Vec<String>,
}

impl ParamHeader {
    /// The keyword of a schema that mirrors an argument.
    pub const KEYWORD: &'static str = ANNOTATION;

    /// The arguments that a schema wants mirrored.
    ///
    /// ```
    /// use couplet_core::http::headers::ParamHeader;
    /// use serde_json::json;
    ///
    /// let region = json!({ "type": "string", "x-mcp-header": "Region" });
    /// let found = ParamHeader::all(&json!({ "type": "object", "properties": { "region": region } }));
    /// assert_eq!(found.unwrap()[0].header(), "mcp-param-Region");
    /// let list = json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "Region" } });
    /// assert!(ParamHeader::all(&json!({ "type": "object", "properties": { "regions": list } })).is_err());
    /// ```
    ///
    /// # Errors
    /// What breaks the rules: a tool with such a schema does not exist for clients over HTTP.
    pub fn all(schema: &Value) -> Result<Vec<Self>, String> {
        let mut found: Vec<Self> = Vec::new();
        if schema.get(ANNOTATION).is_some() {
            return Err(format!("`{ANNOTATION}` cannot stand on the whole schema"));
        }
        collect(schema, &mut Vec::new(), &mut found)?;
        for (at, param) in found.iter().enumerate() {
            if found[..at].iter().any(|other| other.name.eq_ignore_ascii_case(&param.name)) {
                return Err(format!("`{ANNOTATION}` names `{}` twice", param.name));
            }
        }
        Ok(found)
    }

    /// The name of the header.
    pub fn header(&self) -> String {
        format!("{PARAM_PREFIX}{}", self.name)
    }

    /// Returns the argument of the tool that is mirrored, or that contains the mirrored member.
    pub fn argument(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }

    /// Returns the header for the same argument under another name.
    #[must_use]
    pub fn renamed(&self, argument: impl Into<String>) -> Self {
        let path = [argument.into()].into_iter().chain(self.path.iter().skip(1).cloned()).collect();
        Self { name: self.name.clone(), path }
    }

    /// What the header says for these arguments, before it is encoded; nothing for an argument that is absent or null.
    ///
    /// # Errors
    /// When the argument has no form that a header could carry, or when readers could differ about what it is: a key on
    /// the way to it is there twice, or there are more keys than are compared.
    pub fn text(&self, arguments: &JsonText) -> Result<Option<String>, String> {
        match self.find(arguments)? {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Bool(flag)) => Ok(Some(flag.to_string())),
            Some(Value::Number(number)) => match integer(&number.to_string()) {
                Some(integer) => Ok(Some(integer.to_string())),
                None => Err(format!("`{}` is not an integer that every peer can read", self.path.join("."))),
            },
            Some(_) => Err(format!("`{}` cannot stand in a header", self.path.join("."))),
        }
    }

    /// Whether a header says what the arguments say.
    ///
    /// # Errors
    /// What differs.
    pub fn check(&self, header: Option<&[u8]>, arguments: &JsonText) -> Result<(), String> {
        let name = self.header();
        let (header, wanted) = match (header, self.text(arguments)?) {
            (None, None) => return Ok(()),
            (Some(_), None) => return Err(format!("the header `{name}` is there, and the body has no such argument")),
            (None, Some(_)) => return Err(format!("the header `{name}` is missing")),
            (Some(header), Some(wanted)) => (header, wanted),
        };
        let said = decode(header).map_err(|what| format!("the header `{name}` cannot be read: {what}"))?;
        let same = said == wanted || integer(&said).is_some_and(|i| i.to_string() == wanted);
        if same { Ok(()) } else { Err(format!("the header `{name}` is not what the body says")) }
    }

    /// The argument, if it is there. Nothing that cannot be read with certainty is taken for absent: the header would
    /// then not be compared with anything.
    fn find(&self, arguments: &JsonText) -> Result<Option<Value>, String> {
        let unclear = |what: &dyn std::fmt::Display| {
            format!("`{}` cannot be compared with the header `{}`: {what}", self.path.join("."), self.header())
        };
        let mut here = arguments.clone();
        for key in &self.path {
            if !here.as_str().trim_start().starts_with('{') {
                return Ok(None);
            }
            match Params::from_text(here).map_err(|fault| unclear(&fault))?.get(key) {
                Some(value) => here = value,
                None => return Ok(None),
            }
        }
        here.parse().map(Some).map_err(|fault| unclear(&fault))
    }
}

/// A number that is an integer and safe, however it is written.
fn integer(text: &str) -> Option<i64> {
    let exact: Option<i64> = text.parse().ok();
    #[expect(clippy::cast_possible_truncation, reason = "it was just found to be a small integer")]
    let written_as_float = || {
        let number: f64 = text.parse().ok()?;
        (number.fract() == 0.0 && number.abs() <= SAFE as f64).then_some(number as i64)
    };
    exact.or_else(written_as_float).filter(|i| (-SAFE..=SAFE).contains(i))
}

/// Goes down along `properties`, the only way on which an annotation may be met.
fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<ParamHeader>) -> Result<(), String> {
    let Value::Object(members) = schema else { return Ok(()) };
    for (key, value) in members {
        match (&**key, value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    path.push(name.clone());
                    if let Some(annotation) = property.get(ANNOTATION) {
                        let name = checked(annotation, property, path)?;
                        found.push(ParamHeader { name, path: path.clone() });
                    }
                    collect(property, path, found)?;
                    path.pop();
                }
            }
            (ANNOTATION, _) => {}
            _ if is_data(key) => {}
            _ => hidden(value)?,
        }
    }
    Ok(())
}

fn checked(annotation: &Value, property: &Value, path: &[String]) -> Result<String, String> {
    let place = path.join(".");
    let is_token = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    let name = annotation.as_str().filter(|n| !n.is_empty() && n.bytes().all(is_token));
    let name = name.ok_or_else(|| format!("`{ANNOTATION}` of `{place}` is not the name of a header"))?;
    match property.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(name.to_owned()),
        _ => Err(format!("`{ANNOTATION}` of `{place}` needs a string, an integer or a boolean")),
    }
}

/// Fails if there is an annotation where none may be.
fn hidden(schema: &Value) -> Result<(), String> {
    match schema {
        Value::Object(members) if members.get(ANNOTATION).is_some_and(|a| !a.is_object() && !a.is_boolean()) => {
            Err(format!("`{ANNOTATION}` stands where it cannot be reached through `properties` alone"))
        }
        Value::Object(members) => members.iter().filter(|(key, _)| !is_data(key)).try_for_each(|(_, v)| hidden(v)),
        Value::Array(items) => items.iter().try_for_each(hidden),
        _ => Ok(()),
    }
}

/// Whether a keyword holds an example and not a schema.
fn is_data(keyword: &str) -> bool {
    matches!(keyword, "default" | "const" | "enum" | "examples" | "example")
}
