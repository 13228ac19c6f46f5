//! Lines on standard input and output.

use std::io::{BufRead, BufReader, Result, Write, stdin, stdout};

use crate::answer::answer;

const BUFFER: usize = 64 << 10;

/// Output is buffered up to this size, or until no request is pending.
const HELD_BACK: usize = 256 << 10;

/// A blocking loop.
pub(crate) fn blocking() -> Result<()> {
    let mut input = BufReader::with_capacity(BUFFER, stdin().lock());
    let mut output = stdout().lock();
    let (mut line, mut out) = (Vec::new(), Vec::with_capacity(BUFFER));
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let before = out.len();
        match answer(&line, &mut out) {
            Some(()) => out.push(b'\n'),
            None => out.truncate(before),
        }
        if out.len() > HELD_BACK || !input.buffer().contains(&b'\n') {
            output.write_all(&out)?;
            output.flush()?;
            out.clear();
        }
    }
}

/// Tokio's streams, as most programs use them.
#[tokio::main]
pub(crate) async fn with_tokio() -> Result<()> {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stdin, stdout};
    let mut input = BufReader::with_capacity(BUFFER, stdin());
    let mut output = stdout();
    let (mut line, mut out) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).await? == 0 {
            return Ok(());
        }
        out.clear();
        if answer(&line, &mut out).is_some() {
            out.push(b'\n');
            output.write_all(&out).await?;
            output.flush().await?;
        }
    }
}
