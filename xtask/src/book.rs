//! `cargo xtask book`: the guide as a book, from the files that are the module `couplet::guide`.
//!
//! A chapter is Markdown with reference links, whose targets are in one file, as paths of items. Here each of them becomes
//! the address of a page, the fences of programs get the name of the language, and a table of contents is added.

use std::{fs, path::PathBuf};

use crate::{
    Failure,
    workspace::{self, capture, command, root, show},
};

const MODULE: &str = "crates/couplet/src/guide.rs";
const CHAPTERS: &str = "crates/couplet/src/guide";
const SETTINGS: &str = "[book]\ntitle = \"Couplet\"\nlanguage = \"en\"\nsrc = \"src\"\n";

pub(crate) fn run(_: &[String]) -> Result<(), Failure> {
    let folder = write()?;
    if capture(command("mdbook").arg("--version")).is_err() {
        println!("the sources of the book are in {}; `mdbook` is not installed", folder.display());
        return Ok(());
    }
    show(command("mdbook").arg("build").arg(&folder))
}

/// Writes the sources of the book, and returns its folder.
pub(crate) fn write() -> Result<PathBuf, Failure> {
    let read = |path: &str| fs::read_to_string(root().join(path)).map_err(|e| format!("{path}: {e}"));
    let module = read(MODULE)?;
    let names = chapters(&module);
    let links = links(&read(&format!("{CHAPTERS}/links.md"))?);
    let folder = workspace::target()?.join("book");
    let pages = folder.join("src");
    let write = |path: PathBuf, text: String| fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()));
    fs::create_dir_all(&pages).map_err(|e| format!("{}: {e}", pages.display()))?;

    let mut contents = "# Summary\n\n[Introduction](index.md)\n\n".to_owned();
    let index = format!("# Couplet\n\n{}", read(&format!("{CHAPTERS}/index.md"))?);
    write(pages.join("index.md"), page(&index, &links))?;
    for name in &names {
        let text = read(&format!("{CHAPTERS}/{name}.md"))?;
        let title = title(&text).ok_or_else(|| format!("{CHAPTERS}/{name}.md does not begin with a title"))?;
        contents += &format!("- [{title}]({name}.md)\n");
        write(pages.join(format!("{name}.md")), page(&text, &links))?;
    }
    write(pages.join("SUMMARY.md"), contents)?;
    write(folder.join("book.toml"), SETTINGS.to_owned())?;
    println!("{} chapters in {}", names.len(), pages.display());
    Ok(folder)
}

/// The names of the chapters, in order, as the module declares them: `tools: "tools.md",`.
pub(crate) fn chapters(module: &str) -> Vec<&str> {
    let declared = module.lines().filter_map(|line| line.trim().strip_suffix(".md\",")?.split_once(": \""));
    declared.filter(|(name, file)| name == file).map(|(name, _)| name).collect()
}

/// The definitions of links, with the targets that they have in the book.
fn links(definitions: &str) -> String {
    let defined = definitions.lines().filter_map(|line| line.split_once("]: "));
    defined.map(|(label, target)| format!("{label}]: {}\n", address(target))).collect()
}

/// The address of an item: a chapter of the book, or a search in the documentation of the crate that has it.
fn address(target: &str) -> String {
    let path = target.rsplit_once('@').map_or(target, |(_, path)| path);
    let Some(path) = path.strip_prefix("crate::") else { return target.to_owned() };
    if let Some(chapter) = path.strip_prefix("guide::") {
        return format!("{chapter}.html");
    }
    let (package, item) = match path.split_once("::") {
        Some((module, item)) if module.starts_with(|c: char| c.is_ascii_lowercase()) => {
            (format!("couplet-{module}"), item)
        }
        _ => ("couplet".to_owned(), path),
    };
    let name = item.rsplit("::").next().unwrap_or(item);
    format!("https://docs.rs/{package}/latest/{}/?search={name}", package.replace('-', "_"))
}

fn title(text: &str) -> Option<&str> {
    text.lines().next()?.strip_prefix("# ")
}

/// A chapter as a page: rustdoc takes a fence without a language for Rust, other programs do not.
fn page(text: &str, links: &str) -> String {
    let mut page = String::new();
    let mut inside = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some("") if !inside => page.push_str("```rust"),
            Some("no_run") if !inside => page.push_str("```rust,no_run"),
            _ => page.push_str(line),
        }
        inside ^= line.starts_with("```");
        page.push('\n');
    }
    page + "\n" + links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_are_read_from_the_module() {
        let module = "macro_rules! x { }\nchapters! {\n    tools: \"tools.md\",\n    http: \"http.md\",\n}\n";
        assert_eq!(chapters(module), ["tools", "http"]);
    }

    #[test]
    fn links_lead_to_chapters_and_to_crates() {
        for (target, expected) in [
            ("crate::guide::tools", "tools.html"),
            ("crate::server::Ctx::step", "https://docs.rs/couplet-server/latest/couplet_server/?search=step"),
            ("crate::Server", "https://docs.rs/couplet/latest/couplet/?search=Server"),
            ("macro@crate::tool", "https://docs.rs/couplet/latest/couplet/?search=tool"),
            ("https://example.com/", "https://example.com/"),
        ] {
            assert_eq!(address(target), expected);
        }
        assert_eq!(links("[Tools]: crate::guide::tools\n"), "[Tools]: tools.html\n");
    }

    #[test]
    fn programs_get_their_language() {
        let text = "# A\n\n```\nlet a = 1;\n```\n\n```no_run\n```\n\n```text\n```\n";
        let expected = "# A\n\n```rust\nlet a = 1;\n```\n\n```rust,no_run\n```\n\n```text\n```\n\nX";
        assert_eq!(page(text, "X"), expected);
        assert_eq!(title(text), Some("A"));
    }

    /// Every chapter of the workspace is a page, and every file is a chapter.
    #[test]
    fn the_guide_is_complete() {
        let module = fs::read_to_string(root().join(MODULE)).expect("the module is there");
        let mut names = chapters(&module);
        names.extend(["index", "links"]);
        names.sort_unstable();
        let mut files: Vec<_> = fs::read_dir(root().join(CHAPTERS))
            .expect("the folder is there")
            .filter_map(|file| Some(file.ok()?.file_name().to_str()?.strip_suffix(".md")?.to_owned()))
            .collect();
        files.sort_unstable();
        assert_eq!(files, names);
    }
}
