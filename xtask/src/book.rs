//! `cargo xtask book`: the guide, the documents of single commands and the manual as a book, from the files that are the
//! module `couplet::guide`, from `docs` and from `docs/manual`.
//!
//! A chapter is Markdown with reference links, whose targets are in one file, as paths of items. Here each of them becomes
//! the address of a page, the fences of programs get the name of the language, and a table of contents is added.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Failure,
    workspace::{self, capture, command, root},
};

const MODULE: &str = "crates/couplet/src/guide.rs";
const CHAPTERS: &str = "crates/couplet/src/guide";
const MANUAL: &str = "docs/manual";
const DOCS: &str = "docs";
/// The pages of [`DOCS`] about single commands.
const DOCUMENTS: [&str; 4] = ["inspector", "test", "openapi", "generate"];
/// Where the files are that the book does not have.
const FILES: &str = "https://github.com/couplet-rs/couplet/blob/main/";
const SETTINGS: &str = "[book]\ntitle = \"Couplet\"\nlanguage = \"en\"\nsrc = \"src\"\n";

pub(crate) fn run(_: &[String]) -> Result<(), Failure> {
    let folder = write()?;
    let own = workspace::target()?.join("tools/bin/mdbook").to_string_lossy().into_owned();
    let installed = [own.as_str(), "mdbook"].into_iter().find(|name| capture(command(name).arg("--version")).is_ok());
    match installed {
        Some(mdbook) => build(command(mdbook), &folder),
        None => {
            let how = "`cargo xtask full book` installs mdBook and builds it";
            println!("the sources of the book are in {}; {how}", folder.display());
            Ok(())
        }
    }
}

/// Builds the book. A warning or a link that leads nowhere is a failure.
pub(crate) fn build(mut mdbook: Command, folder: &Path) -> Result<(), Failure> {
    let output = mdbook.arg("build").arg(folder).output().map_err(|e| format!("`mdbook` did not start: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || said.contains("WARN") {
        return Err(format!("`mdbook build`: {}\n{said}", output.status));
    }
    let pages = folder.join("book");
    let broken = broken_links(&pages)?;
    if !broken.is_empty() {
        return Err(format!("links lead nowhere:\n{}", broken.join("\n")));
    }
    println!("the book is {}", pages.join("index.html").display());
    Ok(())
}

/// The links between pages whose file or heading is missing. Links of other sites are not followed.
fn broken_links(pages: &Path) -> Result<Vec<String>, Failure> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let mut broken = Vec::new();
    for path in html(pages)? {
        let text = read(&path)?;
        for link in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            if link.contains(':') || link.is_empty() {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { path.clone() } else { path.with_file_name("").join(file) };
            let is_there = file.exists() && (heading.is_empty() || read(&file)?.contains(&format!("id=\"{heading}\"")));
            if !is_there {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    Ok(broken)
}

/// The pages below a folder. The page with all chapters repeats the others, for a printer.
fn html(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            pages.extend(html(&path)?);
        } else if path.extension().is_some_and(|e| e == "html") && !path.ends_with("print.html") {
            pages.push(path);
        }
    }
    Ok(pages)
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
    // A page that is no longer there must not stay.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(pages.join("manual")).map_err(|e| format!("{}: {e}", pages.display()))?;

    let mut contents = "# Summary\n\n[Introduction](index.md)\n\n# The guide\n\n".to_owned();
    let index = format!("# Couplet\n\n{}", read(&format!("{CHAPTERS}/index.md"))?);
    write(pages.join("index.md"), page(&index, &links))?;
    for name in &names {
        let text = read(&format!("{CHAPTERS}/{name}.md"))?;
        let title = title(&text).ok_or_else(|| format!("{CHAPTERS}/{name}.md does not begin with a title"))?;
        contents += &format!("- [{title}]({name}.md)\n");
        write(pages.join(format!("{name}.md")), page(&text, &links))?;
    }
    contents += "\n# Tools\n\n";
    for name in DOCUMENTS {
        let text = read(&format!("{DOCS}/{name}.md"))?;
        let title = title(&text).ok_or_else(|| format!("{DOCS}/{name}.md does not begin with a title"))?;
        contents += &format!("- [{title}]({name}.md)\n");
        copy_images(&text, &pages)?;
        write(pages.join(format!("{name}.md")), document(&text))?;
    }
    contents += "\n# The command\n\n";
    for (name, title, text) in manual()? {
        contents += &format!("- [{title}](manual/{name})\n");
        write(pages.join("manual").join(name), text)?;
    }
    write(pages.join("SUMMARY.md"), contents)?;
    write(folder.join("book.toml"), SETTINGS.to_owned())?;
    println!("{} chapters in {}", names.len(), pages.display());
    Ok(folder)
}

/// A document of `docs` as a page: its links to files outside of `docs` lead to the repository.
fn document(text: &str) -> String {
    text.replace("](../", &format!("]({FILES}"))
}

/// Copies the images that a document shows.
fn copy_images(text: &str, pages: &Path) -> Result<(), Failure> {
    for image in images(text) {
        let (from, to) = (root().join(DOCS).join(image), pages.join(image));
        let folder = to.parent().unwrap_or(pages);
        let copied = fs::create_dir_all(folder).and_then(|()| fs::copy(&from, &to));
        copied.map_err(|e| format!("{}: {e}", from.display()))?;
    }
    Ok(())
}

fn images(text: &str) -> impl Iterator<Item = &str> {
    text.split("![").skip(1).filter_map(|rest| rest.split_once("](")?.1.split_once(')').map(|(target, _)| target))
}

/// The pages of the manual: files, titles, texts. The list of commands is first.
fn manual() -> Result<Vec<(String, String, String)>, Failure> {
    let folder = root().join(MANUAL);
    let files = fs::read_dir(&folder).map_err(|e| format!("{MANUAL}: {e}"))?.flatten();
    let mut names: Vec<_> = files.filter_map(|file| file.file_name().into_string().ok()).collect();
    names.sort_by_key(|name| (name != "README.md", name.clone()));
    let page = |name: String| -> Result<(String, String, String), Failure> {
        let text = fs::read_to_string(folder.join(&name)).map_err(|e| format!("{MANUAL}/{name}: {e}"))?;
        let title = title(&text).ok_or_else(|| format!("{MANUAL}/{name} does not begin with a title"))?.to_owned();
        Ok((name, title, text))
    };
    names.into_iter().map(page).collect()
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

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let folder = std::env::temp_dir().join(format!("couplet-book-{}", std::process::id()));
        fs::create_dir_all(folder.join("manual")).unwrap();
        let index = "<h1 id=\"a\"></h1><a href=\"manual/b.html#c\"><a href=\"https://example.com/\"><a href=\"#a\">";
        fs::write(folder.join("index.html"), index).unwrap();
        let page = "<h1 id=\"c\"></h1><a href=\"../index.html#a\"><a href=\"none.html\"><a href=\"#none\">";
        fs::write(folder.join("manual/b.html"), page).unwrap();
        let broken = broken_links(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let links: Vec<_> = broken.iter().filter_map(|line| line.rsplit(' ').next()).collect();
        assert_eq!(links, ["none.html", "#none"]);
    }

    #[test]
    fn links_of_documents_lead_somewhere() {
        let mut names = 0;
        for name in DOCUMENTS {
            let text = fs::read_to_string(root().join(DOCS).join(format!("{name}.md"))).expect("the document is there");
            assert!(title(&text).is_some(), "{name}");
            let page = document(&text);
            for target in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let file = target.strip_prefix(FILES).map(|file| file.split('#').next().unwrap_or(file));
                let is_there = match file {
                    Some(file) => root().join(file).exists(),
                    None => {
                        target.starts_with("https://") || target.starts_with('#') || images(&text).any(|i| i == target)
                    }
                };
                assert!(is_there, "{name}: {target}");
                names += 1;
            }
            assert!(images(&text).all(|image| root().join(DOCS).join(image).exists()), "{name}");
        }
        assert!(names > 20, "{names}");
        assert_eq!(images("a ![b](images/c.png) [d](e)").collect::<Vec<_>>(), ["images/c.png"]);
        assert_eq!(document("[a](../b/c.md#d)"), format!("[a]({FILES}b/c.md#d)"));
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
