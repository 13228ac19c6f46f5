//! What somebody may have meant.

/// `: did you mean …?`, or nothing.
pub(crate) fn sentence(wanted: &str, names: impl IntoIterator<Item = String>) -> String {
    let close = names.into_iter().map(|name| (distance(wanted, &name), name)).min();
    let most = wanted.chars().count().max(3) / 3;
    close.filter(|(far, _)| *far <= most).map(|(_, name)| format!(": did you mean `{name}`?")).unwrap_or_default()
}

/// How many characters have to be put in, taken out, changed, or swapped with the next.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<_>, Vec<_>) = (a.chars().collect(), b.chars().collect());
    let mut before = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let change = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            next[j] = change.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                let swapped: usize = before[j - 2];
                next[j] = next[j].min(swapped + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
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
