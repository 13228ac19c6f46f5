//! The members of a received result that are sent on.

use std::ops::Range;

use bytes::Bytes;

use super::{Long, ResultBody};
use crate::{
    message::{Entry, text::EncodedMessage},
    wire::{append_member, one_line},
};

/// The members that stay: as one piece of the text while they are next to each other, and otherwise a copy of each.
#[derive(Default)]
pub(super) struct Stays {
    piece: Option<Range<usize>>,
    copied: Option<Vec<u8>>,
}

impl Stays {
    /// Adds the next member that stays.
    pub(super) fn add(&mut self, text: &[u8], member: &Entry<'_>) {
        if let Some(copied) = &mut self.copied {
            return append_member(copied, member.text());
        }
        match &mut self.piece {
            None => self.piece = Some(member.place.clone()),
            Some(piece) if is_gap(&text[piece.end..member.place.start]) => piece.end = member.place.end,
            Some(piece) => {
                let mut copied = Vec::with_capacity(text.len());
                copied.push(b'{');
                copied.extend_from_slice(&text[piece.clone()]);
                append_member(&mut copied, member.text());
                self.copied = Some(copied);
            }
        }
    }

    /// Makes them the members of a result. A large piece is not copied, and not passed once more if the text has no line
    /// breaks.
    pub(super) fn into_body(self, text: &Bytes, breaks: bool, done: &mut ResultBody) {
        let one_line = |text: Bytes| if breaks { one_line(text) } else { text };
        if let Some(mut copied) = self.copied {
            copied.push(b'}');
            done.body = one_line(copied.into());
            return;
        }
        let Some(piece) = self.piece else { return };
        if piece == (1..text.len() - 1) {
            done.body = one_line(text.clone());
        } else if piece.len() < EncodedMessage::LARGE {
            let mut body = Vec::with_capacity(piece.len() + 2);
            body.push(b'{');
            body.extend_from_slice(&text[piece]);
            body.push(b'}');
            done.body = one_line(body.into());
        } else {
            done.body = Bytes::from_static(b"{");
            done.long = Some(Long { text: one_line(text.slice(piece)), rest: Bytes::from_static(b"}") });
        }
    }
}

/// Whether there is only a comma between two members, and white space.
fn is_gap(between: &[u8]) -> bool {
    between.trim_ascii() == b","
}
