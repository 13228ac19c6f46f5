//! Serializes terms for N-Triples, N-Quads and Turtle.

use serde_json::Number;

use super::{RDF, XSD};

/// A JSON number in RDF, as JSON-LD defines it: an integer if it has no fraction, else a double.
pub(super) enum Numeral {
    Integer(String),
    Double(String),
}

impl Numeral {
    pub(super) fn of(number: &Number) -> Self {
        let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return Self::Integer(number.to_string()) };
        if float.fract() == 0.0 && float.abs() < 1e21 {
            // Adding zero turns minus zero into zero.
            return Self::Integer(format!("{:.0}", float + 0.0));
        }
        let text = format!("{float:E}");
        let (digits, exponent) = text.split_once('E').unwrap_or((&text, "0"));
        let point = if digits.contains('.') { "" } else { ".0" };
        Self::Double(format!("{digits}{point}E{exponent}"))
    }

    pub(super) fn datatype(&self) -> &'static str {
        match self {
            Self::Integer(_) => "integer",
            Self::Double(_) => "double",
        }
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::Integer(text) | Self::Double(text) => text,
        }
    }
}

/// Writes a literal with the full IRI of its datatype.
pub(super) fn literal(text: &str, datatype: Option<Datatype>, out: &mut String) {
    quoted(text, out);
    let (namespace, name) = match datatype {
        None => return,
        Some(Datatype::Xsd(name)) => (XSD, name),
        Some(Datatype::Json) => (RDF, "JSON"),
    };
    for part in ["^^<", namespace, name, ">"] {
        out.push_str(part);
    }
}

#[derive(Clone, Copy)]
pub(super) enum Datatype {
    Xsd(&'static str),
    Json,
}

/// Writes a quoted string with escapes.
pub(crate) fn quoted(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| matches!(c, '"' | '\\') || c.is_control()) {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let mut chars = after.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(control) => put!(out, "\\u{:04X}", u32::from(control)),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Percent-encodes a part of an IRI, except for ASCII letters and digits.
pub(super) fn percent(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => put!(out, "%{byte:02X}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_canonical() {
        for (json, text, datatype) in [
            ("75", "75", "integer"),
            ("-3", "-3", "integer"),
            ("1.0", "1", "integer"),
            ("-0.0", "0", "integer"),
            ("18446744073709551615", "18446744073709551615", "integer"),
            ("1e20", "100000000000000000000", "integer"),
            ("1e21", "1.0E21", "double"),
            ("0.5", "5.0E-1", "double"),
            ("-12.25", "-1.225E1", "double"),
            ("0.30000000000000004", "3.0000000000000004E-1", "double"),
        ] {
            let numeral = Numeral::of(&serde_json::from_str(json).unwrap());
            assert_eq!((numeral.text(), numeral.datatype()), (text, datatype), "{json}");
        }
    }

    #[test]
    fn texts_are_escaped() {
        let mut out = String::new();
        quoted("a\"b\\c\n\r\t\u{7}é\u{85}", &mut out);
        assert_eq!(out, "\"a\\\"b\\\\c\\n\\r\\t\\u0007é\\u0085\"");
    }
}
