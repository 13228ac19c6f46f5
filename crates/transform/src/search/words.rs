//! The words of a text.

/// Splits a text into words in lower case: at everything that is neither a letter nor a digit, and inside of `camelCase`.
/// A plural `s` is removed; characters of scripts without spaces are words of their own.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut was_lower) = (String::new(), false);
    for c in text.chars() {
        let is_alone = is_ideographic(c);
        if !c.is_alphanumeric() || is_alone || (was_lower && c.is_uppercase()) {
            push(&mut words, &mut word);
        }
        if is_alone {
            words.push(c.to_string());
        } else if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    push(&mut words, &mut word);
    words
}

fn push(words: &mut Vec<String>, word: &mut String) {
    let is_plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
    if is_plural {
        word.pop();
    }
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

/// Chinese, Japanese and Korean characters, and Thai ones.
fn is_ideographic(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{e7f}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
        && c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split() {
        for (text, expected) in [
            ("createPull_request-v2.now", "create pull request v2 now"),
            ("HTTPServer lists Issues, addresses & class!", "httpserver list issue addresse class"),
            ("", ""),
            ("天气 now", "天 气 now"),
            ("Über ÄPFEL", "über äpfel"),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }
}
