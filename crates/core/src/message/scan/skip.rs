//! Passing values whose syntax was checked before.

use std::ops::Range;

use super::{Fault, Scanner, plain::unquoted};

impl Scanner<'_> {
    /// Passes a value that is known to be valid, and returns where it is.
    pub(crate) fn skip(&mut self) -> Result<Range<usize>, Fault> {
        self.space();
        let start = self.pos;
        match self.text.get(start) {
            Some(b'"') => self.skip_string()?,
            Some(b'{' | b'[') => self.skip_nested()?,
            Some(_) => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
                let rest = &self.text[start..];
                self.pos += rest.iter().position(ends).unwrap_or(rest.len());
            }
            None => return Err(self.fault("the text ends where a value should be")),
        }
        Ok(start..self.pos)
    }

    /// Passes an array or an object with all that is in it.
    fn skip_nested(&mut self) -> Result<(), Fault> {
        let mut depth = 0_usize;
        loop {
            match self.text.get(self.pos) {
                Some(b'"') => {
                    self.skip_string()?;
                    continue;
                }
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => depth = depth.saturating_sub(1),
                Some(b'\n' | b'\r') => self.broken = true,
                Some(_) => {}
                None => return Err(self.fault("the text ends inside a value")),
            }
            self.pos += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn skip_string(&mut self) -> Result<(), Fault> {
        self.pos += 1;
        loop {
            self.pos += unquoted(self.text.get(self.pos..).unwrap_or_default());
            match self.text.get(self.pos) {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(());
                }
                // The character after it is part of the escape, also if it is a quote.
                Some(b'\\') => self.pos += 2,
                Some(_) => self.pos += 1,
                None => return Err(self.fault("the text ends inside a string")),
            }
        }
    }
}
