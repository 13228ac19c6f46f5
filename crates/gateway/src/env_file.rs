//! Files of variables: `NAME=VALUE` on each line.

/// Parses the variables of a file. Empty lines and comments are left out.
///
/// # Errors
/// The number of the first line that is not a variable.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(at, line)| variable(line).ok_or(at)).collect()
}

fn variable(line: &str) -> Option<(String, String)> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    Some((name.to_owned(), value_of(value.trim())))
}

/// A value without its quotes, or without the comment behind it.
fn value_of(written: &str) -> String {
    let quoted = |quote: char| written.strip_prefix(quote)?.split_once(quote).map(|(value, _)| value);
    match (quoted('"'), quoted('\'')) {
        (Some(value), _) => value.replace("\\n", "\n"),
        (None, Some(value)) => value.to_owned(),
        (None, None) => written.split(" #").next().unwrap_or(written).trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_parsed() {
        for (line, expected) in [
            ("A=1", Some(("A", "1"))),
            ("export A = b c  # why", Some(("A", "b c"))),
            ("A=\"b # c\\nd\" # why", Some(("A", "b # c\nd"))),
            ("A='b\\nc'", Some(("A", "b\\nc"))),
            ("A=b#c", Some(("A", "b#c"))),
            ("A=", Some(("A", ""))),
            ("A=b=c", Some(("A", "b=c"))),
            ("A", None),
            ("=1", None),
            ("A B=1", None),
        ] {
            let expected = expected.map(|(name, value)| vec![(name.to_owned(), value.to_owned())]).ok_or(3);
            assert_eq!(parse(&format!("# first\n\n{line}\r\n")), expected, "{line}");
        }
    }
}
