//! Text of a server for comments: without control and invisible characters, bounded, in lines.
//!
//! Each language then escapes what would end a comment, or would be executed in one, such as examples.

/// The maximum number of lines of a comment, and of characters.
const MOST: (usize, usize) = (40, 3000);
/// The width of a comment.
const WIDTH: usize = 96;

/// Splits a text into lines that contain no control characters and no invisible ones.
pub(crate) fn lines(text: &str) -> Vec<String> {
    let truncated: String = text.chars().take(MOST.1).collect();
    let is_truncated = truncated.len() < text.len();
    let mut lines: Vec<String> = Vec::new();
    for line in truncated.replace("\r\n", "\n").split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) {
        let visible: String = line.chars().filter(|c| !is_invisible(*c)).map(spaced).collect();
        let line = visible.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        let is_repeated_gap = line.is_empty() && lines.last().is_none_or(String::is_empty);
        if !is_repeated_gap {
            lines.extend(wrapped(&line));
        }
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    if is_truncated || lines.len() > MOST.0 {
        lines.truncate(MOST.0);
        lines.push("…".to_owned());
    }
    lines
}

/// The same in one line, of at most so many characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let lines: Vec<String> = lines(text).into_iter().filter(|line| !line.is_empty()).collect();
    let whole = lines.join(" ");
    match whole.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", whole.get(..at).unwrap_or_default()),
        None => whole,
    }
}

fn spaced(c: char) -> char {
    if c.is_control() || c.is_whitespace() { ' ' } else { c }
}

/// Whether a character changes the direction of text, or is not seen.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Breaks a line between words; a code span stays in one line.
fn wrapped(line: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut words = line.split(' ');
    while let Some(word) = words.next() {
        let mut word = word.to_owned();
        if word.matches('`').count() % 2 == 1 && words.clone().any(|next| next.contains('`')) {
            for next in words.by_ref() {
                word = format!("{word} {next}");
                if next.contains('`') {
                    break;
                }
            }
        }
        match lines.last_mut() {
            Some(last) if last.is_empty() => *last = word,
            Some(last) if last.chars().count() + 1 + word.chars().count() <= WIDTH => {
                last.push(' ');
                last.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_clean_and_bounded() {
        for (text, expected) in [
            ("one\r\ntwo\rthree\u{2028}four", &["one", "two", "three", "four"][..]),
            ("\n\n  a\t b \u{0}c\n\n\n\nd\n\n", &["a b c", "", "d"]),
            ("a\u{202e}b\u{200b}c\u{e0041}", &["abc"]),
        ] {
            assert_eq!(lines(text), expected);
        }
        assert!(lines(&"x\n".repeat(5000)).len() <= 41);
        assert!(lines(&"word ".repeat(500)).iter().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(line("a\n\nb c", 3), "a b…");
    }

    #[test]
    fn code_spans_are_not_broken() {
        let text = format!("{} `{}` end", "x".repeat(90), "a b c d e f");
        assert_eq!(lines(&text), [&"x".repeat(90), "`a b c d e f` end"]);
    }
}
