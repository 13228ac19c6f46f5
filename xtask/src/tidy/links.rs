//! Links of documents lead to files and headings that exist. Nothing is fetched: addresses of others are not checked.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;

/// Where the files of this repository are for readers of the published documentation.
const PUBLISHED: &str = "https://github.com/couplet-rs/couplet/";

const GUIDE: &str = "crates/couplet/src/guide/";
const DEFINITIONS: &str = "crates/couplet/src/guide/links.md";

/// Checks the documents; `exists` knows files and folders, from the root on.
pub(super) fn check(texts: &[(&str, String)], exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let documents: BTreeMap<&str, &str> =
        texts.iter().filter(|(file, _)| is_document(file)).map(|(file, text)| (*file, text.as_str())).collect();
    let definitions = documents.get(DEFINITIONS).copied().unwrap_or_default();
    let labels: BTreeSet<&str> = definitions.lines().filter_map(label).collect();
    let mut findings = Vec::new();
    for (file, text) in &documents {
        for (at, line) in prose(text) {
            let wrong = between(line, "](", ')').filter_map(|target| mistake(file, target, &documents, &exists));
            findings.extend(wrong.map(|what| Finding::new(file, at, what)));
            if file.starts_with(GUIDE) {
                let unknown = between(line, "][", ']').filter(|label| !labels.contains(label));
                findings
                    .extend(unknown.map(|l| Finding::new(file, at, format!("`{DEFINITIONS}` does not define `{l}`"))));
                let examples = line.split('`').skip(1).step_by(2).filter(|word| word.starts_with("examples/"));
                let gone = examples.filter(|path| !exists(path));
                findings.extend(gone.map(|path| Finding::new(file, at, format!("`{path}` does not exist"))));
            }
        }
    }
    for (at, line) in definitions.lines().enumerate() {
        let chapter = line.split_once("]: crate::guide::").map(|(_, name)| format!("{GUIDE}{name}.md"));
        if let Some(missing) = chapter.filter(|file| !exists(file)) {
            findings.push(Finding::new(DEFINITIONS, at + 1, format!("`{missing}` does not exist")));
        }
    }
    findings
}

/// Documents at the root, in `docs`, the guide, and the first pages of folders.
fn is_document(file: &str) -> bool {
    let is_page = !file.contains('/') || file.starts_with("docs/") || file.starts_with(GUIDE);
    file.ends_with(".md") && (is_page || file.ends_with("/README.md"))
}

/// The label of a definition, `[label]: target`.
fn label(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.split_once("]: ").map(|(label, _)| label)
}

/// The lines outside of fences, by number.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        inside ^= is_fence;
        (!inside && !is_fence).then_some((at + 1, line))
    })
}

/// What stands between two marks, outside of code.
fn between<'l>(line: &'l str, open: &'l str, close: char) -> impl Iterator<Item = &'l str> {
    let is_code = move |at: usize| line[..at].matches('`').count() % 2 == 1;
    let starts = line.match_indices(open).filter(move |(at, _)| !is_code(*at)).map(|(at, open)| at + open.len());
    starts.filter_map(move |start| line[start..].split_once(close).map(|(inside, _)| inside))
}

/// Says what is wrong with a link of a file.
fn mistake(file: &str, link: &str, documents: &BTreeMap<&str, &str>, exists: &impl Fn(&str) -> bool) -> Option<String> {
    let target = link.split(' ').next().unwrap_or(link).trim_matches(['<', '>']);
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let place = match path.strip_prefix(PUBLISHED) {
        Some(rest) => rest.strip_prefix("blob/main/").or_else(|| rest.strip_prefix("tree/main/"))?.to_owned(),
        None if path.contains("://") || path.starts_with("mailto:") => return None,
        None if path.is_empty() => file.to_owned(),
        None => join(file, path),
    };
    if !exists(&place) {
        return Some(format!("the link `{target}` leads to `{place}`, which does not exist"));
    }
    let (anchor, document) = (anchor?, documents.get(&*place)?);
    let has_heading = prose(document).any(|(_, line)| heading(line).is_some_and(|heading| slug(heading) == anchor));
    (!has_heading).then(|| format!("`{place}` has no heading `#{anchor}`"))
}

/// The path of a file beside another one.
fn join(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    (text.len() < line.len()).then(|| text.strip_prefix(' '))?
}

/// The anchor of a heading.
fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &'static str, text: &str) -> Vec<String> {
        let texts = [
            (file, text.to_owned()),
            ("docs/b.md", "# A title\n\n```\n# no title\n```\n\n## Why `it` is, so\n".to_owned()),
            (DEFINITIONS, "[Tools]: crate::guide::tools\n[Gone]: crate::guide::gone\n".to_owned()),
        ];
        let files = ["README.md", "docs/a.md", "docs/b.md", "docs/images/c.png", "crates/couplet/src/guide/tools.md"];
        let exists = |path: &str| path == "docs" || files.contains(&path);
        let found = check(&texts, exists).into_iter().filter(|finding| finding.file == file);
        found.map(|finding| finding.what).collect()
    }

    #[test]
    fn links_are_followed() {
        for (file, text, count) in [
            ("README.md", "[a](docs/a.md), [b](docs/b.md#why-it-is-so), [c](docs/images/c.png), [d](docs/)", 0),
            ("docs/a.md", "# Here\n[a](#here) [b](b.md#a-title) [r](../README.md) [x](https://example.com/y)", 0),
            ("docs/a.md", "[a](#there)", 1),
            ("docs/a.md", "[b](b.md#no-title) [c](c.md) [d](images/d.png)", 3),
            ("docs/a.md", "`[c](c.md)`\n\n```\n[c](c.md)\n```", 0),
            ("docs/a.md", "[b](https://github.com/couplet-rs/couplet/blob/main/docs/b.md)", 0),
            ("docs/a.md", "[c](https://github.com/couplet-rs/couplet/tree/main/docs/c.md)", 1),
            ("crates/couplet/src/guide/tools.md", "[these][Tools] and [those][Nothing]", 1),
            ("crates/a/src/docs/lib.md", "[c](c.md)", 0),
        ] {
            assert_eq!(found(file, text).len(), count, "{file}: {text}: {:?}", found(file, text));
        }
    }

    #[test]
    fn chapters_must_exist() {
        let texts = [(DEFINITIONS, "[Tools]: crate::guide::tools\n[Gone]: crate::guide::gone\n".to_owned())];
        let found = check(&texts, |path| path.ends_with("tools.md"));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2]);
    }
}
