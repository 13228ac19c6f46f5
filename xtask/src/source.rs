//! Rust source as the checks see it: what is code, what is a string, what is a comment, what is a test.

/// A source file, in two views of the same length: what is not in a view is blank there, and lines stay where they are.
#[derive(Debug)]
pub(crate) struct Source {
    /// Code and strings, without comments and without what is compiled for tests only.
    pub(crate) program: String,
    /// The insides of strings of the program.
    pub(crate) strings: String,
    /// The program without its strings.
    pub(crate) code: String,
    /// Modules in files of their own that are compiled for tests only.
    pub(crate) test_modules: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Code,
    Text,
    Comment,
}

impl Source {
    pub(crate) fn new(text: &str) -> Self {
        let mut classes = classify(text.as_bytes());
        let mut test_modules = Vec::new();
        let code = view(text, &classes, |c| c == Class::Code);
        for range in tests(&code, &mut test_modules) {
            classes[range].fill(Class::Comment);
        }
        Self {
            program: view(text, &classes, |c| c != Class::Comment),
            strings: view(text, &classes, |c| c == Class::Text),
            code: view(text, &classes, |c| c == Class::Code),
            test_modules,
        }
    }
}

/// The lines of a view that have something, by number, and what they have.
pub(crate) fn lines_with(view: &str, matches: impl Fn(&str) -> bool) -> Vec<usize> {
    view.lines().enumerate().filter(|(_, line)| matches(line)).map(|(at, _)| at + 1).collect()
}

/// Whether a line has a word, with nothing that belongs to a name around it.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(part_of_name) && !after.is_some_and(part_of_name)
    })
}

fn view(text: &str, classes: &[Class], keep: impl Fn(Class) -> bool) -> String {
    let bytes = text.bytes().zip(classes).map(|(b, class)| if keep(*class) || b == b'\n' { b } else { b' ' });
    String::from_utf8(bytes.collect()).expect("classes begin and end between characters")
}

/// What each byte is.
fn classify(text: &[u8]) -> Vec<Class> {
    let mut classes = vec![Class::Code; text.len()];
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (class, end) = if rest.starts_with(b"//") {
            (Class::Comment, at + find(rest, b"\n"))
        } else if rest.starts_with(b"/*") {
            (Class::Comment, at + block_comment(rest))
        } else if let Some((opening, hashes)) = raw_string(text, at) {
            let closing = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
            let inside = find(&rest[opening..], &closing);
            classes[at + opening..at + opening + inside].fill(Class::Text);
            at += (opening + inside + closing.len()).min(rest.len());
            continue;
        } else if rest[0] == b'"' {
            let inside = string(&rest[1..]);
            classes[at + 1..at + 1 + inside].fill(Class::Text);
            at += (inside + 2).min(rest.len());
            continue;
        } else if rest[0] == b'\'' {
            (Class::Code, at + character(rest))
        } else {
            (Class::Code, at + 1)
        };
        classes[at..end].fill(class);
        at = end;
    }
    classes
}

fn find(text: &[u8], what: &[u8]) -> usize {
    text.windows(what.len()).position(|w| w == what).unwrap_or(text.len())
}

fn block_comment(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// How many bytes open a raw string here, and how many hashes it has.
fn raw_string(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    let prefix =
        if rest.starts_with(b"br") || rest.starts_with(b"cr") { 2 } else { usize::from(rest.starts_with(b"r")) };
    let in_name = at > 0 && (text[at - 1].is_ascii_alphanumeric() || text[at - 1] == b'_');
    if prefix == 0 || in_name {
        return None;
    }
    let hashes = rest[prefix..].iter().take_while(|b| **b == b'#').count();
    (rest.get(prefix + hashes) == Some(&b'"')).then_some((prefix + hashes + 1, hashes))
}

/// How long the inside of a string is.
fn string(inside: &[u8]) -> usize {
    let mut at = 0;
    while at < inside.len() && inside[at] != b'"' {
        at += if inside[at] == b'\\' { 2 } else { 1 };
    }
    at.min(inside.len())
}

/// How long a character literal is; 1 for the quote of a lifetime.
fn character(text: &[u8]) -> usize {
    if text.get(1) == Some(&b'\\') {
        return (3 + find(&text[3.min(text.len())..], b"'") + 1).min(text.len());
    }
    // One character of up to four bytes, and a quote.
    let next = std::str::from_utf8(&text[1..text.len().min(5)]);
    let valid = next.map_or_else(|e| e.valid_up_to(), str::len);
    let first = std::str::from_utf8(&text[1..=valid]).ok().and_then(|s| s.chars().next()).map_or(0, char::len_utf8);
    if first > 0 && text.get(1 + first) == Some(&b'\'') { first + 2 } else { 1 }
}

/// Where the items are that are compiled for tests only.
fn tests(code: &str, modules: &mut Vec<String>) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let mut from = 0;
    while let Some(found) = code[from..].find("#[cfg(test)]") {
        let start = from + found;
        let item = &code[start + "#[cfg(test)]".len()..];
        let length = item_length(item);
        if let Some((_, name)) = item[..length].strip_suffix(';').and_then(|declared| declared.rsplit_once("mod ")) {
            modules.push(name.trim().to_owned());
        }
        from = start + "#[cfg(test)]".len() + length;
        ranges.push(start..from);
    }
    ranges
}

/// Up to the semicolon or the closing brace that ends an item.
fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && byte == b'}' {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squeeze(view: &str) -> String {
        view.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn code_strings_and_comments_are_told_apart() {
        for (text, code, strings) in [
            (r#"a("x") // b "y""#, r#"a(" ")"#, "x"),
            (r#"/* "x" /* y */ z */ a"#, "a", ""),
            ("/// \"doc\"\nfn a() {}", "fn a() {}", ""),
            (r##"r#"x " y"# b"##, r##"r#" "# b"##, r#"x " y"#),
            (r#"br"x" "a\"b" c"#, r#"br" " " " c"#, r#"x a\"b"#),
            (r#"'"' 'a' '\'' '\u{1f}' "x" &'static str"#, r#"'"' 'a' '\'' '\u{1f}' " " &'static str"#, "x"),
            ("'é' \"x\"", "'é' \" \"", "x"),
            ("var\"x\"", "var\" \"", "x"),
            ("\"never ends", "\"", "never ends"),
            ("/* never ends", "", ""),
        ] {
            let source = Source::new(text);
            assert_eq!((squeeze(&source.code), squeeze(&source.strings)), (code.into(), strings.into()), "{text}");
            assert_eq!(source.code.len(), text.len(), "{text}");
        }
    }

    #[test]
    fn tests_are_left_out() {
        let source = Source::new(
            "a(\"1\");\n#[cfg(test)]\nmod tests { fn b() { \"}\"; } }\nc();\n#[cfg(test)]\nmod more;\nd();",
        );
        assert_eq!(squeeze(&source.program), "a(\"1\"); c(); d();");
        assert_eq!(source.test_modules, ["more"]);
        assert_eq!(lines_with(&source.program, |l| l.contains("d()")), [7]);
    }

    #[test]
    fn words_are_whole() {
        for (line, found) in
            [("derive(Ord)", true), ("PartialOrd", false), ("Ordering", false), ("Ord", true), ("a_Ord", false)]
        {
            assert_eq!(has_word(line, "Ord"), found, "{line}");
        }
    }
}
