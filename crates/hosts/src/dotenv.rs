//! A parser for `.env` files: `NAME=value` on each line.

/// Parses the text of a `.env` file into pairs of name and value.
///
/// Lines that are empty or begin with `#` are skipped, and `export` before a name is allowed. A value may be in single
/// quotes, taken literally, or in double quotes, with the escapes `\n`, `\t`, `\"`, `\\` and `\$`. References to
/// variables are not expanded.
///
/// ```
/// let text = "# keys\nexport TOKEN=\"a b\"\nURL = https://example.com # mine\n";
/// let vars = couplet_hosts::dotenv::parse(text).unwrap();
/// assert_eq!(vars, [("TOKEN".into(), "a b".into()), ("URL".into(), "https://example.com".into())]);
/// ```
///
/// # Errors
/// The number of the first invalid line, with the reason.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut vars = Vec::new();
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let pair = line.strip_prefix("export ").unwrap_or(line).split_once('=');
        let pair = pair.map(|(name, value)| (name.trim(), value.trim())).filter(|(name, _)| is_name(name));
        let Some((name, value)) = pair else {
            return Err(format!("line {} is not `NAME=value`", number + 1));
        };
        vars.push((name.to_owned(), unquoted(value).map_err(|what| format!("line {}: {what}", number + 1))?));
    }
    Ok(vars)
}

/// Whether this is a valid name of a variable.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn unquoted(value: &str) -> Result<String, String> {
    let (quote, rest) = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => (quote, &value[1..]),
        // A comment begins with ` #`; a `#` inside of a word is part of it.
        _ => return Ok(value.split_once(" #").map_or(value, |(value, _)| value).trim_end().to_owned()),
    };
    let mut made = String::new();
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => {
                let after = chars.as_str().trim();
                let is_end = after.is_empty() || after.starts_with('#');
                return if is_end { Ok(made) } else { Err(format!("something follows the closing quote: `{after}`")) };
            }
            '\\' if quote == '"' => match chars.next() {
                Some('n') => made.push('\n'),
                Some('t') => made.push('\t'),
                Some(c @ ('"' | '\\' | '$')) => made.push(c),
                Some(c) => made.extend(['\\', c]),
                None => break,
            },
            c => made.push(c),
        }
    }
    Err("the quote is not closed on the same line".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_shells_would() {
        for (line, expected) in [
            ("A=b", "b"),
            ("A=", ""),
            ("A = b c ", "b c"),
            ("A=b#c # d", "b#c"),
            ("A='b \\n # c' # d", "b \\n # c"),
            ("A=\"b\\n\\\"c\\\"\"", "b\n\"c\""),
            ("export A=b", "b"),
            ("A=b=c", "b=c"),
        ] {
            assert_eq!(parse(line), Ok(vec![("A".to_owned(), expected.to_owned())]), "{line}");
        }
        assert_eq!(parse("\u{feff}\r\n# a\r\n"), Ok(Vec::new()));
        for (text, expected) in [
            ("A=b\nC", "line 2 is not `NAME=value`"),
            ("1A=b", "line 1 is not `NAME=value`"),
            ("A='b", "line 1: the quote is not closed on the same line"),
            ("A='b' c", "line 1: something follows the closing quote: `c`"),
        ] {
            assert_eq!(parse(text), Err(expected.to_owned()), "{text}");
        }
    }
}
