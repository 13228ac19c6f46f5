//! Suggestions for mistyped names.

/// Returns the name nearest to a mistyped one, if any is near.
pub(crate) fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = plain(wrong);
    let allowed = 1 + wrong.chars().count() / 4;
    let rated = names.into_iter().filter_map(|name| {
        let candidate = plain(name);
        let distance = strsim::damerau_levenshtein(&wrong, &candidate);
        let begins = wrong.len() >= 3 && (candidate.starts_with(&wrong) || wrong.starts_with(&candidate));
        (distance <= allowed || begins).then_some((distance, name))
    });
    rated.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// Normalizes case and separators.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = ["add", "get-sum", "trigger-long-running-operation", "echo"];
        for (wrong, expected) in [
            ("ad", Some("add")),
            ("ehco", Some("echo")),
            ("getSum", Some("get-sum")),
            ("get_sum", Some("get-sum")),
            ("trigger", Some("trigger-long-running-operation")),
            ("weather", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, names), expected, "{wrong}");
        }
    }
}
