//! Invisible and misleading characters.

use couplet_core::is_blank;

use super::{Said, each};
use crate::{
    Surface,
    report::Report,
    rule::table,
    rules::words::{disguised, lookalike},
    visible::{quoted, shown},
};

table! { Text:
    INVISIBLE = "text-invisible" Error
        about "a text contains invisible characters"
        why "Users who approve the server do not see the text that the model reads; OWASP lists it as a sign of tool poisoning (OWASP/www-project-mcp-top-10#38)."
        fix "Remove them."
    BIDI = "text-bidi" Error
        about "a text contains characters that change the text direction"
        why "Users then see the text in another order than the model."
        fix "Remove them."
    TAGS = "text-tags" Error
        about "a text contains tag characters, which hide a second text"
        why "Models read them as letters and users see nothing: Unit 42 showed attacks on MCP with them (coproduct-opensource/nucleus#1332), and goose and Hermes strip them (NousResearch/hermes-agent#80689)."
        fix "Remove them."
    CONTROL = "text-control" Error
        about "a text contains control characters"
        why "In a terminal they move the cursor, change colours or clear the screen, so users see another text than the model."
        fix "Remove them."
    HOMOGLYPH = "text-homoglyph" Error
        about "a word mixes letters of two scripts that look alike"
        why "It looks like another word: users and word filters do not recognise it, models do."
        fix "Write the word in one script."
    STYLED = "text-styled" Warning
        about "a text uses mathematical letters"
        why "Models read them as plain letters, filters do not."
        fix "Use plain letters."
}

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    each(surface, |said| {
        // The common case.
        if said.text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\t' | b'\r')) {
            return;
        }
        hidden(said, report);
        homoglyphs(said, report);
        let styled = said.text.char_indices().filter(|(_, c)| !c.is_ascii() && is_formula(*c)).count();
        if styled >= 4 {
            let at = said.text.find(is_formula).unwrap_or(0);
            let what = format!("{styled} letters, in {}", quoted(said.text, at, at));
            report.add(&STYLED, said.place(), what);
        }
    });
}

/// The flags of England, Scotland and Wales, the only emoji that use tags.
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

fn hidden(said: &Said<'_>, report: &mut Report<'_>) {
    let text = said.text;
    let is_right_to_left = text.chars().any(|c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fefc}'));
    let mut found: [(usize, usize); 3] = [(0, 0); 3];
    let mut tags = String::new();
    let mut first_tag = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let after = text[at + c.len_utf8()..].chars().next().unwrap_or(' ');
        let kind = match c {
            '\u{e0000}'..='\u{e007f}' => {
                first_tag.get_or_insert(at);
                tags.extend(char::from_u32(u32::from(c) - 0xe0000).filter(|c| !c.is_control()));
                None
            }
            '\n' | '\t' | '\r' => None,
            c if c.is_control() => Some(2),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(1),
            '\u{200e}' | '\u{200f}' | '\u{61c}' => (!is_right_to_left).then_some(1),
            c if is_invisible(c, before, after) => Some(0),
            _ => None,
        };
        if let Some((first, count)) = kind.and_then(|kind| found.get_mut(kind)) {
            *first = if *count == 0 { at } else { *first };
            *count += 1;
        }
        before = c;
    }
    for (rule, (first, count)) in [&INVISIBLE, &BIDI, &CONTROL].into_iter().zip(found) {
        if count > 0 {
            let number = if count == 1 { "a character".to_owned() } else { format!("{count} characters") };
            report.add(rule, said.place(), format!("{number}, in {}", quoted(text, first, first)));
        }
    }
    if let Some(first) = first_tag.filter(|_| !FLAGS.contains(&&*tags)) {
        let what = format!("they say `{}`, in {}", shown(&tags, 120), quoted(text, first, first));
        report.add(&TAGS, said.place(), what);
    }
}

/// Whether a character is invisible in its context. Some are needed for certain languages and for emoji.
fn is_invisible(c: char, before: char, after: char) -> bool {
    let joins = |c: char| !c.is_ascii() && !c.is_control();
    match c {
        '\u{200c}' | '\u{200d}' => !(joins(before) && joins(after)),
        // A variation selector changes the character before it; repeated or behind a letter it is invisible.
        '\u{fe00}'..='\u{fe0f}' => !(joins(before) || matches!(before, '0'..='9' | '#' | '*')) || is_selector(before),
        '\u{e0100}'..='\u{e01ef}' => !matches!(before, '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}'),
        '\u{ad}' | '\u{34f}' | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{2028}' | '\u{2029}' => true,
        '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{e000}'..='\u{f8ff}' | '\u{e0080}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}' => true,
        '\u{1d173}'..='\u{1d17a}' => true,
        _ => is_blank(c),
    }
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether a letter is a styled one, except for full-width letters, which belong to East Asian typography.
fn is_formula(c: char) -> bool {
    u32::from(c) >= 0x1d400 && disguised(c).is_some()
}

fn homoglyphs(said: &Said<'_>, report: &mut Report<'_>) {
    let foreign = |c: char| lookalike(c).is_some() && disguised(c).is_none();
    for word in said.text.split(|c: char| !c.is_alphanumeric()) {
        let mixed = word.chars().any(|c| c.is_ascii_alphabetic()) && word.chars().any(foreign);
        if mixed {
            let plain: String = word.chars().map(|c| lookalike(c).unwrap_or(c)).collect();
            let escaped: String = word
                .chars()
                .map(|c| if foreign(c) { format!("\\u{{{:x}}}", u32::from(c)) } else { c.to_string() })
                .collect();
            let what = format!("`{}` looks like `{}`", shown(&escaped, 120), shown(&plain, 80));
            return report.add(&HOMOGLYPH, said.place(), what);
        }
    }
}
