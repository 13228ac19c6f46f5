//! Names: from any text of a server to identifiers that are valid and unique.
//!
//! Identifiers consist of ASCII, and of ideographs, kana and hangul. All languages accept these, and no language
//! normalizes them or warns about them. A letter of another script becomes its code point (`u0434`), so that no two
//! identifiers look the same.

use std::collections::HashSet;

/// The maximum length of an identifier that is made of one text, in characters.
const LONGEST: usize = 48;

/// Splits a text into lower-case words, at separators and where the case changes.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let chars: Vec<char> = text.chars().take(4 * LONGEST).collect();
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied().unwrap_or(' ');
        let after = chars.get(at + 1).copied().unwrap_or(' ');
        if c.is_ascii_alphanumeric() || is_safe(c) {
            let ends_lower = c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
            let ends_upper = c.is_ascii_uppercase() && before.is_ascii_uppercase() && after.is_ascii_lowercase();
            if ends_lower || ends_upper {
                words.push(String::new());
            }
            last(&mut words).push(c.to_ascii_lowercase());
        } else if c.is_alphanumeric() {
            words.push(format!("u{:04x}", u32::from(c)));
            words.push(String::new());
        } else {
            words.push(String::new());
        }
    }
    words.retain(|word| !word.is_empty());
    let mut length = 0;
    words.retain(|word| {
        length += word.chars().count();
        length <= LONGEST
    });
    words
}

fn last(words: &mut Vec<String>) -> &mut String {
    if words.is_empty() {
        words.push(String::new());
    }
    let at = words.len() - 1;
    &mut words[at]
}

/// Whether a letter beyond ASCII may be used: ideographs, hiragana, katakana and hangul syllables.
fn is_safe(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{ac00}'..='\u{d7a3}')
}

/// `get_sum`
pub(crate) fn snake(text: &str) -> String {
    words(text).join("_")
}

/// `GetSum`
pub(crate) fn pascal(text: &str) -> String {
    let mut name = String::new();
    for word in words(text) {
        // `V1_0` and `V10` stay apart.
        if name.ends_with(|c: char| c.is_ascii_digit()) && word.starts_with(|c: char| c.is_ascii_digit()) {
            name.push('_');
        }
        let mut chars = word.chars();
        name.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        name.push_str(chars.as_str());
    }
    name
}

/// `getSum`
pub(crate) fn camel(text: &str) -> String {
    let name = pascal(text);
    let mut chars = name.chars();
    let first: String = chars.next().map(|c| c.to_ascii_lowercase()).into_iter().collect();
    first + chars.as_str()
}

/// Identifiers of one scope, all different.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    taken: HashSet<String>,
}

impl Scope {
    /// Creates a scope in which some names are taken: keywords, and names that the generated code uses.
    pub(crate) fn new(reserved: &[&str]) -> Self {
        let words = reserved.iter().flat_map(|line| line.split_whitespace());
        Self { taken: words.map(str::to_owned).collect() }
    }

    /// Whether a name is still free.
    pub(crate) fn is_free(&self, name: &str) -> bool {
        !self.taken.contains(name)
    }

    /// Takes a name. One that begins with a digit, or is empty, gets the prefix; one that is taken, a suffix.
    pub(crate) fn claim(&mut self, name: &str, prefix: &str) -> String {
        let name = match name.chars().next() {
            None => prefix.to_owned(),
            Some(first) if first.is_ascii_digit() => format!("{prefix}{name}"),
            Some(_) => name.to_owned(),
        };
        let suffix = if name.ends_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
        let candidates = std::iter::once(name.clone())
            .chain(std::iter::once(format!("{name}_")).filter(|_| self.is_keyword(&name)))
            .chain((2..).map(|n: u32| format!("{name}{suffix}{n}")));
        let mut free = candidates.skip_while(|candidate| self.taken.contains(candidate));
        let chosen = free.next().unwrap_or(name);
        self.taken.insert(chosen.clone());
        chosen
    }

    /// Whether a lower-case name is a keyword or reserved: those get an underscore.
    fn is_keyword(&self, name: &str) -> bool {
        name.starts_with(|c: char| c.is_ascii_lowercase()) && self.taken.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_identifiers() {
        for (text, snake_case, pascal_case, camel_case) in [
            ("get-sum", "get_sum", "GetSum", "getSum"),
            ("getHTTPData", "get_http_data", "GetHttpData", "getHttpData"),
            ("sha256Of", "sha256_of", "Sha256Of", "sha256Of"),
            ("v1.0", "v1_0", "V1_0", "v1_0"),
            ("2fa", "2fa", "2fa", "2fa"),
            ("查询天气", "查询天气", "查询天气", "查询天气"),
            ("да", "u0434_u0430", "U0434U0430", "u0434U0430"),
            ("naïve", "na_u00ef_ve", "NaU00efVe", "naU00efVe"),
            ("x\u{202e}y*/ */", "x_y", "XY", "xY"),
            ("-- --", "", "", ""),
        ] {
            assert_eq!((&*snake(text), &*pascal(text), &*camel(text)), (snake_case, pascal_case, camel_case), "{text}");
        }
        assert!(snake(&"word-".repeat(1000)).len() < 80);
    }

    #[test]
    fn names_in_a_scope_are_valid_and_unique() {
        let mut scope = Scope::new(&["type fn", "self"]);
        let claimed = ["type", "type", "a", "a", "a2", "a2", "", "2fa", "self"].map(|name| scope.claim(name, "field_"));
        assert_eq!(claimed, ["type_", "type2", "a", "a_", "a2", "a2_", "field_", "field_2fa", "self_"]);
    }
}
