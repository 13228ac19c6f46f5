//! Comments, docstrings and literals of Python.

use crate::{json::Json, model::Docs, text, writer::Writer, writer::quoted};

/// A string literal.
pub(super) fn literal(text: &str) -> String {
    quoted(text, |c| match u32::from(c) {
        code @ 0..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    })
}

/// A value of JSON as an expression.
pub(super) fn value(json: &Json) -> String {
    match json {
        Json::Null => "None".to_owned(),
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::String(text) => literal(text),
        Json::Number(number) => number.to_string(),
        Json::Array(items) => format!("[{}]", items.iter().map(value).collect::<Vec<_>>().join(", ")),
        Json::Object(members) => {
            let members = members.iter().map(|(name, json)| format!("{}: {}", literal(name), value(json)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A name of the server in a comment or docstring.
pub(super) fn code(name: &str) -> String {
    format!("`{}`", text::line(name, 80).replace('`', "'"))
}

/// The lines of a documentation, not escaped, and a paragraph of our own after them.
fn lines(docs: &Docs, last: Option<&str>) -> Vec<String> {
    let mut paragraphs = docs.paragraphs(str::to_owned, code, last);
    if docs.is_deprecated {
        paragraphs.push(vec!["Deprecated.".to_owned()]);
    }
    paragraphs.join(&String::new())
}

/// Writes a docstring.
pub(super) fn docstring(docs: &Docs, last: Option<&str>, out: &mut Writer) {
    let lines: Vec<String> = lines(docs, last).iter().map(|line| escaped(line)).collect();
    match lines.as_slice() {
        [] => {}
        [only] if !only.ends_with('"') => out.line(format!("\"\"\"{}{only}\"\"\"", gap(only))),
        [first, rest @ ..] => {
            out.line(format!("\"\"\"{}{first}", gap(first)));
            rest.iter().for_each(|line| out.line(line));
            out.line("\"\"\"");
        }
    }
}

/// What separates a quote at the start from those before it.
fn gap(line: &str) -> &'static str {
    if line.starts_with('"') { " " } else { "" }
}

/// Writes comments above a member or an alias. After the colon, no tool takes them for instructions.
pub(super) fn comments(docs: &Docs, out: &mut Writer) {
    for line in lines(docs, None) {
        out.line(format!("#: {line}").trim_end());
    }
}

/// A line of a docstring: it does not end it, and is no example, which would be executed as a test.
fn escaped(line: &str) -> String {
    line.replace('\\', "\\\\").replace("\"\"\"", "'''").replace(">>>", "> > >")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(lines: &[&str]) -> String {
        let mut out = Writer::default();
        docstring(
            &Docs { lines: lines.iter().map(|line| (*line).to_owned()).collect(), ..Docs::default() },
            None,
            &mut out,
        );
        out.finish()
    }

    #[test]
    fn docstrings_do_not_end_and_have_no_examples() {
        assert_eq!(written(&["a\\"]), "\"\"\"a\\\\\"\"\"\n");
        assert_eq!(written(&["say \"hi\""]), "\"\"\"say \"hi\"\n\"\"\"\n");
        assert_eq!(written(&["\"a\" is"]), "\"\"\" \"a\" is\"\"\"\n");
        assert_eq!(written(&["\"\"\"; x()", ">>> x()"]), "\"\"\"'''; x()\n> > > x()\n\"\"\"\n");
    }

    #[test]
    fn literals_are_one_token() {
        assert_eq!(literal("a\"\\\n\u{202e}\u{1f600}é"), r#""a\"\\\n\u202e\U0001f600é""#);
    }
}
