//! Suggestions for misspelled names.

/// Returns `: did you mean …?`, or an empty string if no name is close.
///
/// ```
/// let names = ["command", "args"].map(str::to_owned);
/// assert_eq!(couplet_hosts::suggest::sentence("comand", names), ": did you mean `command`?");
/// ```
pub fn sentence(wanted: &str, names: impl IntoIterator<Item = String>) -> String {
    let close = names.into_iter().map(|name| (strsim::osa_distance(wanted, &name), name)).min();
    let most = wanted.chars().count().max(3) / 3;
    close.filter(|(far, _)| *far <= most).map(|(_, name)| format!(": did you mean `{name}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_close_is_suggested() {
        let names = || ["cursor", "codex", "zed"].map(str::to_owned);
        for (wanted, expected) in [
            ("curser", ": did you mean `cursor`?"),
            ("cdoex", ": did you mean `codex`?"),
            ("zde", ": did you mean `zed`?"),
            ("emacs", ""),
            ("", ""),
        ] {
            assert_eq!(sentence(wanted, names()), expected, "{wanted}");
        }
    }
}
