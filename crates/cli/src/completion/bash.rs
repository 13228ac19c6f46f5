//! Candidates as bash wants them: the text from the last break of a word on, quoted.

use super::Candidate;

/// Returns the replacements for the end of a line that was split into words, of which the last begins at `start`.
///
/// bash breaks words at some characters, such as `:` and `=`, and replaces only what follows. A word in an open quote is
/// not broken, and bash closes the quote by itself; candidates that need an escape in it are left out.
pub(crate) fn replacements(line: &str, start: usize, breaks: &str, words: &[Candidate]) -> Vec<String> {
    let typed = line.get(start..).unwrap_or_default();
    match typed.chars().next().filter(|quote| matches!(quote, '\'' | '"')) {
        Some(quote) => {
            let special: &[char] = if quote == '"' { &['"', '$', '`', '\\', '!'] } else { &['\''] };
            words.iter().map(|word| word.value.clone()).filter(|value| !value.contains(special)).collect()
        }
        None => {
            let is_break = |c: char| breaks.contains(c) && !c.is_whitespace() && !matches!(c, '\'' | '"');
            let kept = typed.rfind(is_break).map_or("", |at| &typed[..=at]);
            words.iter().filter_map(|word| Some(escaped(&word.value).strip_prefix(kept)?.to_owned())).collect()
        }
    }
}

/// Escapes each character that a shell does not take as it is.
fn escaped(value: &str) -> String {
    let mut escaped = String::new();
    for c in value.chars() {
        if !(c.is_alphanumeric() || "-_./:=@%+,^".contains(c)) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completion::line::split;

    #[track_caller]
    fn check(line: &str, candidates: &[&str], expected: &[&str]) {
        let words: Vec<_> = candidates.iter().map(|word| Candidate::plain(*word)).collect();
        let found = replacements(line, split(line).1, " \t\n\"'@><=;|&(:", &words);
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn only_what_follows_a_break_is_replaced() {
        check("couplet call s a", &["add"], &["add"]);
        check("couplet call s add size=S", &["size=Small"], &["Small"]);
        check("couplet read s shop://i", &["shop://item"], &["//item"]);
        check("couplet call s add size=", &["size=Extra large"], &["Extra\\ large"]);
        check("couplet call s add size=Extra\\ l", &["size=Extra large"], &["Extra\\ large"]);
    }

    #[test]
    fn names_of_servers_cannot_do_anything() {
        let nasty = ["a$(touch x)", "a;b", "a`b`", "a'b", "a\"b"];
        check("couplet call s a", &nasty, &["a\\$\\(touch\\ x\\)", "a\\;b", "a\\`b\\`", "a\\'b", "a\\\"b"]);
        check("couplet call s 'a", &nasty, &["a$(touch x)", "a;b", "a`b`", "a\"b"]);
        check("couplet call s \"a", &nasty, &["a;b", "a'b"]);
    }
}
