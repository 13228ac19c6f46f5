//! A command line as a shell reads it, up to the cursor.

/// Splits a line as a shell does. The last word may be empty or in an open quote; its start is returned too.
pub(crate) fn split(line: &str) -> (Vec<String>, usize) {
    let (mut words, mut word, mut start) = (Vec::new(), String::new(), 0);
    let mut quote = None;
    let mut rest = line.char_indices();
    while let Some((at, c)) = rest.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => word.extend(rest.next().map(|(_, c)| c)),
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.push(c),
            ('\'' | '"', None) => quote = Some(c),
            (c, None) if c.is_whitespace() => {
                // Several spaces count as one.
                if start < at {
                    words.push(std::mem::take(&mut word));
                }
                start = at + c.len_utf8();
            }
            (c, None) => word.push(c),
        }
    }
    words.push(word);
    (words, start)
}

/// Quotes a word for the command line; in `key=value`, the value only.
pub(crate) fn quoted(word: &str) -> String {
    let (key, value) = match word.split_once('=') {
        Some((key, value)) => (format!("{key}="), value),
        None => (String::new(), word),
    };
    match (value, shlex::try_quote(value)) {
        ("", _) => key,
        (_, Ok(quoted)) => key + &quoted,
        (value, Err(_)) => key + value,
    }
}
