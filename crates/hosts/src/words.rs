//! Splits command lines into words and joins them, with the quoting rules of a shell.

use crate::Os;

/// Splits a command line into words, without running a shell.
///
/// Quotes and backslashes have the meaning of a POSIX shell; on Windows a backslash is part of a path. Nothing is
/// expanded: `$HOME`, `*` and `|` are literal text.
///
/// ```
/// use couplet_hosts::{Os, words};
///
/// assert_eq!(words::split(r#"node "my server.js" --port=1"#, Os::Linux).unwrap(), ["node", "my server.js", "--port=1"]);
/// assert_eq!(words::split(r"C:\bin\time.exe", Os::Windows).unwrap(), [r"C:\bin\time.exe"]);
/// ```
///
/// # Errors
/// If a quote is not closed, or the line ends with a backslash; as a sentence.
pub fn split(line: &str, os: Os) -> Result<Vec<String>, String> {
    let escapes = os != Os::Windows;
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' if escapes => quoted(&mut chars, '\'', false, word.get_or_insert_default())?,
            '"' => quoted(&mut chars, '"', escapes, word.get_or_insert_default())?,
            '\\' if escapes => {
                let next = chars.next().ok_or("the command ends with a backslash that nothing follows")?;
                word.get_or_insert_default().push(next);
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Joins words so that [`split`] returns them unchanged. On Windows a double quote cannot be escaped.
pub fn join(words: impl IntoIterator<Item = String>, os: Os) -> String {
    let on_windows = os == Os::Windows;
    let quote = |word: String| {
        let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@,+%~".contains(c) || (c == '\\' && on_windows);
        match () {
            () if word.chars().all(is_plain) && !word.is_empty() => word,
            () if on_windows => format!("\"{word}\""),
            () => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")),
        }
    };
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

fn quoted(chars: &mut std::str::Chars<'_>, end: char, escapes: bool, word: &mut String) -> Result<(), String> {
    while let Some(c) = chars.next() {
        match c {
            c if c == end => return Ok(()),
            '\\' if escapes => match chars.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => break,
            },
            c => word.push(c),
        }
    }
    Err(format!("a quote ({end}) is not closed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_by_a_shell() {
        for (line, os, expected) in [
            ("a  b\tc\n", Os::Linux, ["a", "b", "c"].as_slice()),
            (r#"a 'b  "c' "d'e""#, Os::Linux, &["a", "b  \"c", "d'e"]),
            (r#"a\ b "\"\$x\n""#, Os::Linux, &["a b", "\"$x\\n"]),
            (r#"a"b"'c'd ''"#, Os::MacOs, &["abcd", ""]),
            (r#""C:\Program Files\x.exe" it's"#, Os::Windows, &[r"C:\Program Files\x.exe", "it's"]),
            ("", Os::Linux, &[]),
        ] {
            assert_eq!(
                split(line, os).as_deref(),
                Ok(expected.iter().map(|&w| w.to_owned()).collect::<Vec<_>>().as_slice())
            );
        }
        for line in ["a 'b", "a \"b", "a \"b\\", "a\\"] {
            assert!(split(line, Os::Linux).is_err(), "{line}");
        }
    }

    #[test]
    fn joined_words_are_split_into_the_same() {
        let words = ["a", "", "b c", "d\"e", "f\\ g", "h's", "$i", "--k=l,m"].map(str::to_owned);
        assert_eq!(split(&join(words.clone(), Os::Linux), Os::Linux).unwrap(), words);
    }
}
