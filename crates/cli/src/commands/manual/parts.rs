//! The long help texts, taken apart: paragraphs, and blocks of lines below a heading.

use clap::Command;

/// A part of a help text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HelpPart {
    /// A paragraph, which may be wrapped anew.
    Prose(String),
    /// A heading, and lines that stay as they are.
    Block(String, Vec<String>),
}

/// Takes apart what follows the options in the long help.
pub(super) fn after_help(command: &Command) -> Vec<HelpPart> {
    let help = command.get_after_long_help().or_else(|| command.get_after_help());
    help.map_or_else(Vec::new, |help| parts(&help.to_string()))
}

/// Takes apart what stands before the usage in the long help, without its first line.
pub(super) fn long_about(command: &Command) -> Vec<HelpPart> {
    let about = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    about.split_once("\n\n").map_or_else(Vec::new, |(_, rest)| parts(rest))
}

/// A heading is the last line before indented ones, if it ends with a colon.
fn parts(text: &str) -> Vec<HelpPart> {
    let mut parts = Vec::new();
    for paragraph in text.split("\n\n") {
        let (prose, block): (Vec<&str>, Vec<&str>) = paragraph.lines().partition(|line| !line.starts_with("  "));
        let mut prose = prose.join(" ");
        if block.is_empty() {
            parts.push(HelpPart::Prose(prose));
            continue;
        }
        let sentence = prose.rfind(". ").map_or(0, |at| at + 2);
        let heading = prose.split_off(sentence).trim_end_matches(':').to_owned();
        if !prose.is_empty() {
            parts.push(HelpPart::Prose(prose.trim_end().to_owned()));
        }
        parts.push(HelpPart::Block(heading, block.iter().map(|line| line[2..].to_owned()).collect()));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_blocks_are_found() {
        let text = "Some text\nthat is long.\n\nSyntax:\n  a=b   c\n  d\n\nMore. A file:\n  x = 1";
        let block = |heading: &str, lines: &[&str]| {
            HelpPart::Block(heading.to_owned(), lines.iter().map(ToString::to_string).collect())
        };
        let expected = [
            HelpPart::Prose("Some text that is long.".to_owned()),
            block("Syntax", &["a=b   c", "d"]),
            HelpPart::Prose("More.".to_owned()),
            block("A file", &["x = 1"]),
        ];
        assert_eq!(parts(text), expected);
    }
}
