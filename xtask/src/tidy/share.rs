//! The share of documentation in the crates that users read most: doc comments and the pages that they include, of all
//! lines that are neither empty, nor plain comments, nor tests.

use super::Finding;

/// The crates, and the lowest share in percent.
const LOWEST: &[(&str, usize)] = &[("crates/client", 25), ("crates/http", 25), ("crates/server", 25)];

pub(super) fn check(texts: &[(&str, String)]) -> Vec<Finding> {
    LOWEST.iter().filter_map(|(folder, lowest)| short(texts, folder, *lowest)).collect()
}

/// The finding for a crate with too little of it.
fn short(texts: &[(&str, String)], folder: &str, lowest: usize) -> Option<Finding> {
    let sources = format!("{folder}/src/");
    let (mut code, mut docs) = (0, 0);
    for (file, text) in texts.iter().filter(|(file, _)| file.starts_with(&sources)) {
        let (more_code, more_docs) = lines(file, text);
        code += more_code;
        docs += more_docs;
    }
    let needed = (code * lowest).div_ceil(100 - lowest);
    let what = || format!("documentation is below {lowest} %: {docs} lines of {needed} beside {code} lines of code");
    (docs < needed).then(|| Finding::new(&format!("{folder}/src/lib.rs"), 1, what()))
}

/// The lines of code and of documentation in a file.
fn lines(file: &str, text: &str) -> (usize, usize) {
    let filled = text.lines().map(str::trim).filter(|line| !line.is_empty());
    if file.ends_with(".md") {
        return (0, filled.count());
    }
    if !file.ends_with(".rs") || file.contains("/tests") {
        return (0, 0);
    }
    let (mut code, mut docs) = (0, 0);
    for line in filled.take_while(|line| *line != "#[cfg(test)]") {
        match line {
            line if line.starts_with("///") || line.starts_with("//!") => docs += 1,
            line if line.starts_with("//") => {}
            _ => code += 1,
        }
    }
    (code, docs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_kind() {
        for (file, text, expected) in [
            ("a.rs", "//! A.\n\n/// B.\nfn b() {\n    // c\n    d();\n}\n", (3, 2)),
            ("a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n}\n", (1, 0)),
            ("docs/a.md", "# A\n\nb\n", (0, 2)),
            ("src/tests/a.rs", "fn a() {}\n", (0, 0)),
            ("a.txt", "a\n", (0, 0)),
        ] {
            assert_eq!(lines(file, text), expected, "{text}");
        }
    }

    #[test]
    fn too_little_is_a_finding() {
        let texts = [("crates/a/src/lib.rs", "//! A.\nfn a() {}\nfn b() {}\nfn c() {}\n".to_owned())];
        assert_eq!(short(&texts, "crates/a", 25), None);
        let found = short(&texts, "crates/a", 26).unwrap();
        assert_eq!(found.what, "documentation is below 26 %: 1 lines of 2 beside 3 lines of code");
    }
}
