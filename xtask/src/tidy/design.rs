//! DESIGN.md: every entry has its parts, a link in the contents, and paths that exist. The recipes of CONTRIBUTING.md: each
//! begins its bullets with a path that exists.

use super::Finding;

const FILE: &str = "DESIGN.md";
const RECIPES: &str = "CONTRIBUTING.md";
const PARTS: [&str; 3] = ["Decision", "Why", "Where"];

/// Checks each `###` entry and each bullet of a recipe. A path starts at the root of the repository or in `crates/`.
pub(super) fn check(texts: &[(&str, String)]) -> Vec<Finding> {
    let text = |name| texts.iter().find(|(file, _)| *file == name).map_or("", |(_, text)| text);
    let (design, recipes) = (text(FILE), text(RECIPES));
    let exists = |path: &str| texts.iter().any(|(file, _)| is_at(file, path));
    let mut findings: Vec<_> = entries(design).iter().flat_map(|entry| entry.problems(design, &exists)).collect();
    for (at, line) in recipes.lines().enumerate() {
        let path = line.strip_prefix("- `").and_then(|rest| rest.split_once('`'));
        if let Some((path, _)) = path.filter(|(path, _)| !exists(path)) {
            findings.push(Finding::new(RECIPES, at + 1, format!("`{path}` does not exist")));
        }
    }
    findings
}

/// Whether a file is at a path, or in the folder at a path.
pub(super) fn is_at(file: &str, path: &str) -> bool {
    let inside = |root: &str| file.strip_prefix(root).and_then(|file| file.strip_prefix(path));
    ["", "crates/"].iter().filter_map(|root| inside(root)).any(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A heading, its line number, and the text below it.
struct Entry<'a> {
    heading: &'a str,
    line: usize,
    body: Vec<&'a str>,
}

fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut is_inside = false;
    for (at, line) in text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("### ") {
            entries.push(Entry { heading, line: at + 1, body: Vec::new() });
            is_inside = true;
        } else if line.starts_with('#') {
            is_inside = false;
        } else if let Some(entry) = entries.last_mut().filter(|_| is_inside) {
            entry.body.push(line);
        }
    }
    entries
}

impl Entry<'_> {
    fn problems(&self, design: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
        let find = |what: String| Finding::new(FILE, self.line, what);
        let mut findings = Vec::new();
        if !design.contains(&format!("](#{})", anchor(self.heading))) {
            findings.push(find(format!("the contents have no link to `#{}`", anchor(self.heading))));
        }
        for part in PARTS.iter().filter(|part| self.part(part).is_none()) {
            findings.push(find(format!("the entry has no `- **{part}**: `")));
        }
        let Some(places) = self.part("Where") else { return findings };
        let paths: Vec<&str> = places.split('`').skip(1).step_by(2).collect();
        if paths.is_empty() {
            findings.push(find("`Where` names no path in backticks".to_owned()));
        }
        let missing = paths.into_iter().filter(|path| !exists(path));
        findings.extend(missing.map(|path| find(format!("`{path}` does not exist"))));
        findings
    }

    /// The text of a part, up to the next one.
    fn part(&self, name: &str) -> Option<String> {
        let start = format!("- **{name}**: ");
        let at = self.body.iter().position(|line| line.starts_with(&start))?;
        let rest = self.body[at + 1..].iter().take_while(|line| line.starts_with("  "));
        Some(std::iter::once(&self.body[at]).chain(rest).copied().collect::<Vec<_>>().join(" "))
    }
}

/// The anchor of a heading, as GitHub writes it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "- [One `a`](#one-a)\n## Core\n### One `a`\n- **Decision**: x\n- **Why**: y\n- **Where**: `core/a.rs`,\n  `b`\n";

    fn found(text: &str) -> Vec<String> {
        let file = |name| (name, String::new());
        let texts = [(FILE, text.to_owned()), file("crates/core/a.rs"), file("b/c.rs")];
        check(&texts).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_part_of_an_entry_is_required() {
        for (from, to, expected) in [
            ("", "", None),
            ("(#one-a)", "(#two)", Some("3: the contents have no link to `#one-a`")),
            ("**Decision**", "**Choice**", Some("3: the entry has no `- **Decision**: `")),
            ("- **Why**", "**Why**", Some("3: the entry has no `- **Why**: `")),
            ("`core/a.rs`", "`core/b.rs`", Some("3: `core/b.rs` does not exist")),
            ("  `b`", "  `c`", Some("3: `c` does not exist")),
            ("`core/a.rs`,\n  `b`", "here", Some("3: `Where` names no path")),
            ("- **Where**", "## Next\n- **Where**", Some("3: the entry has no `- **Where**: `")),
        ] {
            let found = found(&GOOD.replacen(from, to, 1));
            match expected {
                None => assert!(found.is_empty(), "{found:?}"),
                Some(what) => assert!(found.len() == 1 && found[0].contains(what), "{to}: {found:?}"),
            }
        }
    }
    #[test]
    fn recipes_begin_with_a_path() {
        let file = |name| (name, String::new());
        let text = "- `crates/a/b.rs`: see `c`\n- `c.rs`: a row\n* `d.rs`\n".to_owned();
        let found = check(&[(RECIPES, text), file("crates/a/b.rs")]);
        assert_eq!(found, [Finding::new(RECIPES, 2, "`c.rs` does not exist")]);
    }
}
