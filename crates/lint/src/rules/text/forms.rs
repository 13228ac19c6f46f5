//! Markup, encoded data, white space and links in texts.

use super::each;
use crate::{Surface, report::Report, rule::table, visible::quoted};

table! { Text:
    MARKUP = "text-markup" Error
        about "a text contains markup that models take for something else than a description"
        why "Poisoned tools put their instructions between `<IMPORTANT>` and its like, as Invariant Labs showed, or imitate the beginning of a system message."
        fix "Write plain sentences, or Markdown."
    COMMENT = "text-comment" Warning
        about "a text contains an HTML comment"
        why "Hosts that render Markdown hide it, models read it (OWASP/www-project-mcp-top-10#38)."
        fix "Remove it."
    LINK = "text-link" Error
        about "a text contains a link that executes code"
        why "`javascript:` and `data:` links execute in hosts that render links; the specification tells clients to sanitize what they render."
        fix "Use `https:` links."
    IMAGE = "text-image" Warning
        about "a text embeds an image from another server"
        why "Hosts that render Markdown fetch it, which reveals the reader to the other server and can leak data."
        fix "Remove it, or use an icon."
    BLOB = "text-blob" Warning
        about "a text contains a long run of Base64"
        why "Users cannot read it, models can; it can hide instructions."
        fix "Remove it; show a short example instead."
    BLANKS = "text-blanks" Warning
        about "a text contains a long run of white space"
        why "The text after it is out of sight where users approve the tool, but the model reads it."
        fix "Remove it."
}

const MARKS: [&str; 18] = [
    "<important>",
    "<system>",
    "<secret>",
    "<hidden>",
    "<instruction>",
    "<instructions>",
    "<admin>",
    "<assistant>",
    "<system-reminder>",
    "<system_prompt>",
    "<|im_start|>",
    "<|system|>",
    "<|assistant|>",
    "<|endoftext|>",
    "<<sys>>",
    "[inst]",
    "[/inst]",
    "### system:",
];
const LINKS: [&str; 5] =
    ["javascript:", "vbscript:", "data:text/html", "data:text/javascript", "data:application/javascript"];
const LONGEST_BLOB: usize = 80;
const MOST_SPACES: usize = 40;
const MOST_LINES: usize = 10;

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    each(surface, |said| {
        // ASCII lower case preserves offsets.
        let lower = said.text.to_ascii_lowercase();
        let first = |list: &[&str]| list.iter().find_map(|what| Some((lower.find(what)?, what.len())));
        let mut tell = |rule, (at, length): (usize, usize)| {
            report.add(rule, said.place(), format!("it has {}", quoted(said.text, at, at + length)));
        };
        for (rule, found) in [
            (&MARKUP, first(&MARKS)),
            (&COMMENT, first(&["<!--"])),
            (&LINK, first(&LINKS)),
            (&IMAGE, image(&lower)),
            (&BLANKS, blanks(said.text)),
        ] {
            if let Some(found) = found {
                tell(rule, found);
            }
        }
        // A URI may be long, and a pattern may look like Base64.
        if !["uri", "uriTemplate", "pattern", "websiteUrl"].contains(&said.member)
            && let Some((at, length)) = blob(said.text)
        {
            report.add(&BLOB, said.place(), format!("{length} characters, from {} on", quoted(said.text, at, at)));
        }
    });
}

/// Finds a Markdown image that has to be fetched.
fn image(lower: &str) -> Option<(usize, usize)> {
    lower.match_indices("![").find_map(|(at, _)| {
        // The alternative text of an image is short; a longer search would be quadratic.
        let near = lower.as_bytes().get(at..)?.iter().take(200).copied().collect::<Vec<_>>();
        let end = near.windows(6).position(|six| six == b"](http")?;
        Some((at, end + 6))
    })
}

/// Finds a long run of Base64 characters in mixed case.
fn blob(text: &str) -> Option<(usize, usize)> {
    let in_blob = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    let mut at = 0;
    for part in text.split_inclusive(|c| !in_blob(c)) {
        let run = part.trim_end_matches(|c| !in_blob(c));
        let count = |is: fn(&char) -> bool| run.chars().filter(is).count();
        let is_mixed = || {
            count(char::is_ascii_uppercase) >= 8
                && count(char::is_ascii_lowercase) >= 8
                && count(char::is_ascii_digit) >= 4
                && count(|c| "_-/".contains(*c)) * 12 < run.len()
        };
        if run.len() > LONGEST_BLOB && is_mixed() {
            return Some((at, run.len()));
        }
        at += part.len();
    }
    None
}

/// Finds a long run of white space or of empty lines.
fn blanks(text: &str) -> Option<(usize, usize)> {
    let (mut start, mut spaces, mut lines) = (0, 0, 0);
    for (at, c) in text.char_indices() {
        if !c.is_whitespace() {
            (spaces, lines) = (0, 0);
            continue;
        }
        if spaces == 0 && lines == 0 {
            start = at;
        }
        match c {
            '\n' => (lines, spaces) = (lines + 1, 0),
            _ => spaces += 1,
        }
        if spaces > MOST_SPACES || lines > MOST_LINES {
            return Some((start, at - start));
        }
    }
    None
}
