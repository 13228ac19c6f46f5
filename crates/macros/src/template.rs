//! The variables of URI templates ([RFC 6570](https://www.rfc-editor.org/rfc/rfc6570)).
//!
//! `couplet-types` parses templates at run time, and rejects some more when they are registered. A macro cannot depend on
//! it without being built after it, so the grammar is here once more; a test compares the two.

/// Returns the names of the variables, in order.
///
/// # Errors
/// If the string is not a template, with a message.
pub(crate) fn variables(template: &str) -> Result<Vec<String>, String> {
    let mut variables = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        let (literal, expression) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
        check_literal(literal)?;
        let Some(expression) = expression.strip_prefix('{') else { break };
        let (body, after) = expression.split_once('}').ok_or("`{` is never closed")?;
        let names = body.strip_prefix(['+', '#', '.', '/', ';', '?', '&']).unwrap_or(body);
        if let Some(reserved) = body.chars().next().filter(|c| "=,!@|".contains(*c)) {
            return Err(format!("the operator `{reserved}` is reserved"));
        }
        for variable in names.split(',') {
            variables.push(name(variable)?.to_owned());
        }
        rest = after;
    }
    Ok(variables)
}

fn check_literal(text: &str) -> Result<(), String> {
    for (at, c) in text.char_indices() {
        let refused = match c {
            '}' => return Err("`}` closes nothing".to_owned()),
            '%' => !starts_with_triplet(&text.as_bytes()[at..]),
            _ => c.is_control() || " \"<>\\^`|".contains(c),
        };
        if refused {
            return Err(format!("{c:?} cannot stand in a uri template, write it percent-encoded"));
        }
    }
    Ok(())
}

/// The name of a variable without its modifier.
fn name(variable: &str) -> Result<&str, String> {
    let name = match (variable.strip_suffix('*'), variable.split_once(':')) {
        (Some(name), _) => name,
        (None, Some((name, digits))) => {
            let number = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
            if !number || digits.starts_with('0') {
                return Err("`:` needs a number from 1 to 9999".to_owned());
            }
            name
        }
        (None, None) => variable,
    };
    if name.is_empty() {
        return Err("a variable name is missing".to_owned());
    }
    let bytes = name.as_bytes();
    let allowed = |(at, b): (usize, &u8)| match b {
        b'%' => starts_with_triplet(&bytes[at..]),
        b'.' => at > 0 && at + 1 < bytes.len() && bytes[at - 1] != b'.',
        _ => b.is_ascii_alphanumeric() || *b == b'_',
    };
    match bytes.iter().enumerate().all(allowed) {
        true => Ok(name),
        false => Err(format!("`{name}` is not a variable name")),
    }
}

fn starts_with_triplet(bytes: &[u8]) -> bool {
    matches!(bytes, [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_read_as_the_server_reads_them() {
        for text in [
            "",
            "calc://pi",
            "calc://square/{n}",
            "repo://{owner}/{name}/{+path}{?rev,page*}{#part}",
            "x://{a:3}{.b}{/c*}{;d}{&e}",
            "x://{a.b}/{%41b}",
            "x://{",
            "x://}",
            "x://{a",
            "x://{}",
            "x://{?}",
            "x://{a,}",
            "x://{a b}",
            "x://{.a.}",
            "x://{a..b}",
            "x://{a:0}",
            "x://{a:10000}",
            "x://{a:x}",
            "x://{=a}",
            "x://{!a}",
            "x://{|a}",
            "x://{a{b}}",
            "x://a b",
            "x://%4",
            "x://%41",
            "x://größe/{n}",
        ] {
            let theirs = couplet::types::UriTemplate::parse(text);
            let theirs = theirs.map(|t| t.variables().map(str::to_owned).collect::<Vec<_>>()).ok();
            assert_eq!(variables(text).ok(), theirs, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, want) in [
            ("x://{a", "`{` is never closed"),
            ("x://a}", "`}` closes nothing"),
            ("x://{=a}", "the operator `=` is reserved"),
            ("x://{a:x}", "`:` needs a number from 1 to 9999"),
            ("x://{}", "a variable name is missing"),
            ("x://{a-b}", "`a-b` is not a variable name"),
        ] {
            assert_eq!(variables(text), Err(want.to_owned()), "{text}");
        }
    }
}
