//! Formatting of JSON; the order of members and the digits of numbers stay.

use super::{Paint, text};

/// Indents JSON. The output for text that is not JSON is unspecified.
pub(crate) fn pretty(json: &str, paint: Paint) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut rest = json.trim();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_end(rest),
            '{' | '[' | '}' | ']' | ',' | ':' => 1,
            c if c.is_whitespace() => c.len_utf8(),
            _ => rest.find([',', '}', ']', ':', ' ', '\n', '\t', '\r']).unwrap_or(rest.len()),
        };
        let (token, tail) = rest.split_at(length);
        let after = tail.trim_start();
        match first {
            '{' | '[' if after.starts_with(['}', ']']) => {
                out.push(first);
                out.push_str(&after[..1]);
                rest = &after[1..];
                continue;
            }
            '{' | '[' => {
                depth += 1;
                out.push(first);
                new_line(&mut out, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(first);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_whitespace() => {}
            '"' if after.starts_with(':') => out.push_str(&paint.name(shown(token, paint))),
            '"' => out.push_str(&paint.good(shown(token, paint))),
            _ => out.push_str(&shown(token, paint)),
        }
        rest = tail;
    }
    out
}

/// Removes the whitespace between tokens.
pub(crate) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let end = if c == '"' { string_end(rest) } else { c.len_utf8() };
        if !c.is_ascii_whitespace() {
            out.push_str(&rest[..end]);
        }
        rest = &rest[end..];
    }
    out
}

/// Returns the length of a string token, quotes included.
fn string_end(json: &str) -> usize {
    let mut escaped = false;
    let end = json.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        is_end
    });
    end.map_or(json.len(), |(at, _)| at + 1)
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// Escapes a token for a terminal.
fn shown(token: &str, paint: Paint) -> std::borrow::Cow<'_, str> {
    if paint.terminal { text::visible(token) } else { token.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_numbers_stay() {
        let plain = Paint { colour: false, terminal: false };
        for (json, expected) in [
            ("{}", "{}"),
            ("[ ]", "[]"),
            ("1.50", "1.50"),
            (
                r#"{"b":1.0,"a":[1e9,{"x":null}]}"#,
                "{\n  \"b\": 1.0,\n  \"a\": [\n    1e9,\n    {\n      \"x\": null\n    }\n  ]\n}",
            ),
            (r#"{"say \"hi\" {":"a, b: c\\"}"#, "{\n  \"say \\\"hi\\\" {\": \"a, b: c\\\\\"\n}"),
        ] {
            assert_eq!(pretty(json, plain), expected);
        }
    }

    #[test]
    fn one_line_is_one_line() {
        let json = "[\n  {\n    \"b c\": 1.50,\n    \"a\": \"x \\\" y\"\n  }\n]\n";
        assert_eq!(compact(json), r#"[{"b c":1.50,"a":"x \" y"}]"#);
    }

    #[test]
    fn a_broken_text_ends() {
        let plain = Paint { colour: false, terminal: false };
        for json in ["\"", "{\"a", "}}}}", "[1,", "é\u{1b}"] {
            let _ = (pretty(json, plain), compact(json));
        }
    }
}
