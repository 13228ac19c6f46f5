//! Comments and literals of TypeScript.

use crate::{json::Json, model::Docs, text, writer::Writer, writer::quoted};

/// A string literal.
pub(super) fn literal(text: &str) -> String {
    quoted(text, |c| format!("\\u{{{:x}}}", u32::from(c)))
}

/// The name of a member: an identifier, or a string.
pub(super) fn key(name: &str) -> String {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_identifier = name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit());
    if is_identifier { name.to_owned() } else { literal(name) }
}

/// A value of JSON as an expression.
pub(super) fn value(json: &Json) -> String {
    match json {
        Json::String(text) => literal(text),
        Json::Array(items) => format!("[{}]", items.iter().map(value).collect::<Vec<_>>().join(", ")),
        Json::Object(members) => {
            // Without brackets, this member would be the prototype.
            let name = |name: &str| if name == "__proto__" { "[\"__proto__\"]".to_owned() } else { key(name) };
            let members = members.iter().map(|(member, json)| format!("{}: {}", name(member), value(json)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", ")).replace("{  }", "{}")
        }
        json => json.to_string(),
    }
}

/// A name of the server in a comment.
pub(super) fn code(name: &str) -> String {
    format!("`{}`", escaped(&text::line(name, 80).replace('`', "'")))
}

/// Writes a comment of documentation, and a paragraph of our own after it.
pub(super) fn docs(docs: &Docs, last: Option<&str>, out: &mut Writer) {
    let mut paragraphs = docs.paragraphs(escaped, code, last);
    if docs.is_deprecated {
        paragraphs.push(vec!["@deprecated".to_owned()]);
    }
    let lines = paragraphs.join(&String::new());
    match lines.as_slice() {
        [] => {}
        [only] => out.line(format!("/** {only} */")),
        lines => {
            out.line("/**");
            lines.iter().for_each(|line| out.line(format!(" * {line}").trim_end()));
            out.line(" */");
        }
    }
}

/// A line that does not end the comment, and has no tags, which compilers and editors obey.
fn escaped(line: &str) -> String {
    line.replace("*/", "*\\/").replace('@', "\\@")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_do_not_end_and_have_no_tags() {
        assert_eq!(escaped("a */ b @ts-ignore"), "a *\\/ b \\@ts-ignore");
        assert_eq!(escaped("**/"), "**\\/");
    }

    #[test]
    fn members_are_identifiers_or_strings() {
        assert_eq!((&*key("a_1"), &*key("1a"), &*key("a-b"), &*key("é")), ("a_1", "\"1a\"", "\"a-b\"", "\"é\""));
        assert_eq!(value(&Json::Object(vec![("__proto__".to_owned(), Json::Null)])), "{ [\"__proto__\"]: null }");
    }
}
