//! Inline images, in terminals that support them.

use std::{env, fmt::Write};

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet::types::mime;

/// A protocol for inline images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inline {
    Kitty,
    Iterm,
}

impl Inline {
    /// Detects the protocol of the terminal from the environment.
    pub(crate) fn detect() -> Option<Self> {
        Self::of(|name| env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        // Multiplexers drop unknown escape sequences.
        if variable("TMUX").is_some() || variable("STY").is_some() {
            return None;
        }
        let program = variable("TERM_PROGRAM").unwrap_or_default();
        let term = variable("TERM").unwrap_or_default();
        match program.as_str() {
            "iTerm.app" | "WezTerm" | "mintty" => Some(Self::Iterm),
            "ghostty" => Some(Self::Kitty),
            _ if term == "xterm-kitty" || variable("KITTY_WINDOW_ID").is_some() => Some(Self::Kitty),
            _ => None,
        }
    }

    /// Encodes an image, if the terminal supports its format. The format is detected from the bytes.
    pub(crate) fn print(self, bytes: &[u8]) -> Option<String> {
        let kind = mime::sniff(bytes)?;
        match self {
            Self::Kitty if kind == "image/png" => Some(kitty(&STANDARD.encode(bytes))),
            Self::Iterm if kind.starts_with("image/") && kind != "image/svg+xml" => {
                let (size, data) = (bytes.len(), STANDARD.encode(bytes));
                Some(format!("\x1b]1337;File=inline=1;size={size}:{data}\x07\n"))
            }
            _ => None,
        }
    }
}

/// Encodes data in chunks of at most 4 KiB.
fn kitty(data: &str) -> String {
    const CHUNK: usize = 4096;
    let mut out = String::with_capacity(data.len() + data.len() / CHUNK * 16 + 64);
    let mut rest = data;
    let mut head = "a=T,f=100,";
    while !rest.is_empty() {
        let (chunk, tail) = rest.split_at(rest.len().min(CHUNK));
        let more = u8::from(!tail.is_empty());
        let _ = write!(out, "\x1b_G{head}m={more};{chunk}\x1b\\");
        (rest, head) = (tail, "");
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_detected_by_their_variables() {
        for (variables, expected) in [
            (&[("TERM", "xterm-256color")][..], None),
            (&[("TERM", "xterm-kitty")], Some(Inline::Kitty)),
            (&[("TERM_PROGRAM", "iTerm.app")], Some(Inline::Iterm)),
            (&[("TERM_PROGRAM", "ghostty")], Some(Inline::Kitty)),
            (&[("TERM_PROGRAM", "WezTerm"), ("TMUX", "x")], None),
        ] {
            let found = Inline::of(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()));
            assert_eq!(found, expected, "{variables:?}");
        }
    }

    #[test]
    fn only_images_are_printed() {
        let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 5000]].concat();
        let printed = Inline::Kitty.print(&png).unwrap();
        assert!(printed.starts_with("\x1b_Ga=T,f=100,m=1;iVBOR"));
        assert_eq!(printed.matches("\x1b_G").count(), 2, "two chunks");
        assert!(printed.contains("\x1b_Gm=0;"));
        assert!(Inline::Kitty.print(b"GIF89a..").is_none());
        assert!(Inline::Iterm.print(b"GIF89a..").is_some());
        assert!(Inline::Iterm.print(b"<svg>").is_none());
        assert!(Inline::Iterm.print(b"just text").is_none());
    }
}
