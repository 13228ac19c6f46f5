//! The nearest known word to a misspelt one.

/// Returns the message for an unknown word, with the nearest known one.
pub(super) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let word = couplet_core::visible(&couplet_core::excerpt(word, 60));
    let near = known.iter().map(|known| (strsim::osa_distance(&word, known), known)).min();
    match near {
        Some((distance, near)) if distance <= 1 + near.len() / 4 => {
            format!("unknown {what} `{word}`: did you mean `{near}`?")
        }
        _ => format!("unknown {what} `{word}`: expected one of `{}`", known.join("`, `")),
    }
}
