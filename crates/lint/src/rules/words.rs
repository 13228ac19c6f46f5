//! Splitting and comparing names and texts.

use std::collections::HashMap;

/// The words of a name, in lower case: `getWeather_byCity` has four.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in name.chars() {
        let is_start = !before.is_alphanumeric() || (c.is_uppercase() && !before.is_uppercase());
        if c.is_alphanumeric() {
            match words.last_mut() {
                Some(word) if !is_start => word.extend(c.to_lowercase()),
                _ => words.push(c.to_lowercase().collect()),
            }
        }
        before = c;
    }
    words
}

/// Items with the same key as an earlier one, with that one.
pub(crate) fn doubles<T>(items: &[T], key: impl Fn(&T) -> Option<String>) -> Vec<(&T, &T)> {
    let mut seen: HashMap<String, &T> = HashMap::new();
    let mut found = Vec::new();
    for item in items {
        let Some(key) = key(item) else { continue };
        match seen.get(&key) {
            Some(first) => found.push((item, *first)),
            None => {
                seen.insert(key, item);
            }
        }
    }
    found
}

/// The ASCII letter that a character looks like.
pub(crate) fn lookalike(c: char) -> Option<char> {
    // Cyrillic, Greek capitals and the one small letter that is nothing else, Armenian, phonetic letters.
    const SAME: &[(&str, &str)] = &[
        ("аеорсухіјѕԁһԛԝӏ", "aeopcyxijsdhqwl"),
        ("АВЕКМНОРСТХІЈЅ", "ABEKMHOPCTXIJS"),
        ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABEZHIKMNOPTYXo"),
        ("օսɑɡı", "ouagi"),
    ];
    if c.is_ascii() {
        return None;
    }
    for (theirs, ours) in SAME {
        if let Some(at) = theirs.chars().position(|their| their == c) {
            return ours.chars().nth(at);
        }
    }
    disguised(c)
}

/// The ASCII letter of a mathematical or full-width one.
pub(crate) fn disguised(c: char) -> Option<char> {
    let code = u32::from(c);
    let letter = |at: u32| char::from_u32(if at < 26 { 0x41 + at } else { 0x61 + at - 26 });
    match code {
        0xff01..=0xff5e => char::from_u32(code - 0xfee0),
        0x1d400..=0x1d6a3 => letter((code - 0x1d400) % 52),
        0x1d7ce..=0x1d7ff => char::from_u32(0x30 + (code - 0x1d7ce) % 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        for (name, expected) in [
            ("get_weather", "get weather"),
            ("getWeatherByID", "get weather by id"),
            ("notion-delete.page", "notion delete page"),
            ("", ""),
            ("x2", "x2"),
        ] {
            assert_eq!(words(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn disguises_are_seen_through() {
        for (text, expected) in [
            ("раураl", "paypal"),
            ("ｉｇｎｏｒｅ", "ignore"),
            ("\u{1d422}\u{1d420}\u{1d427}\u{1d428}\u{1d42b}\u{1d41e}", "ignore"),
        ] {
            assert_eq!(text.chars().map(|c| lookalike(c).unwrap_or(c)).collect::<String>(), expected);
        }
        assert!("größer 世界 μm λ".chars().all(|c| lookalike(c).is_none()));
    }
}
