//! A log of a million messages as N-Triples: how many in a second, and in how much memory.
//!
//! `cargo bench -p couplet-vocab` prints both and fails above 64 MB. `COUPLET_VOCAB_MESSAGES=n` takes another number.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use std::{
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    time::Instant,
};

use couplet_vocab::{
    log::{self, Entry},
    rdf::{Format, Writer},
};

/// As much as the whole program may have had at once, in bytes.
const MEMORY: u64 = 64_000_000;

fn main() -> io::Result<()> {
    // Under `cargo test` it only has to work.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let wanted = std::env::var("COUPLET_VOCAB_MESSAGES").ok().and_then(|n| n.parse().ok());
    let count = wanted.unwrap_or(if is_bench { 1_000_000 } else { 1_000 });
    let formats: &[Format] = if is_bench { &[Format::NTriples, Format::TriG] } else { Format::ALL };
    for format in formats {
        run(*format, count)?;
    }
    Ok(())
}

fn run(format: Format, count: u64) -> io::Result<()> {
    let mut read = Counted { inner: Log::new(count), bytes: 0 };
    let mut written = Counted { inner: io::sink(), bytes: 0 };
    let began = Instant::now();
    let mut writer = Writer::new(BufWriter::with_capacity(1 << 16, &mut written), format);
    let reader = BufReader::with_capacity(1 << 16, &mut read);
    copy(reader, &mut writer)?;
    writer.finish()?;
    let seconds = began.elapsed().as_secs_f64();
    let rate = count as f64 / seconds;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    println!(
        "{format}: {count} messages in {seconds:.2} s: {rate:.0} messages/s, {:.1} MB/s read, {:.1} MB/s written",
        megabytes(read.bytes) / seconds,
        megabytes(written.bytes) / seconds,
    );
    if let Some(peak) = peak() {
        println!("{format}: at most {:.1} MB of memory at once", megabytes(peak));
        assert!(peak <= MEMORY, "that is more than {} MB", MEMORY / 1_000_000);
    }
    Ok(())
}

fn copy(reader: impl BufRead, writer: &mut Writer<impl Write>) -> io::Result<()> {
    log::for_each(reader, &mut |_, line| writer.entry(&Entry::parse(line)?))
}

/// The most memory that the program has had, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// A log that is made while it is read: calls, answers with content, lists and notifications, in a few sessions.
struct Log {
    next: u64,
    count: u64,
    line: Vec<u8>,
    at: usize,
}

impl Log {
    fn new(count: u64) -> Self {
        Self { next: 0, count, line: Vec::new(), at: 0 }
    }

    fn refill(&mut self) {
        let n = self.next;
        self.next += 1;
        self.at = 0;
        self.line.clear();
        let (direction, message) = message(n);
        let (time, session) = (1_785_240_000_000 + n, n / 1000 % 8);
        let line = &mut self.line;
        writeln!(
            line,
            r#"{{"time":{time},"direction":"{direction}","session":"session-{session}","message":{message}}}"#
        )
        .expect("a vector takes everything");
    }
}

fn message(n: u64) -> (&'static str, String) {
    let id = n / 2;
    match n % 10 {
        0 | 4 | 8 => (
            "client-to-server",
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"search","arguments":{{"query":"number {n}","limit":10,"tags":["a","b"]}},"_meta":{{"progressToken":{id}}}}}}}"#
            ),
        ),
        1 | 5 | 9 => (
            "server-to-client",
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"found {n} \"things\"\nand more"}},{{"type":"resource_link","uri":"file:///a/{n}","name":"a"}}],"structuredContent":{{"count":{n},"score":0.25}},"isError":false}}}}"#
            ),
        ),
        2 => ("client-to-server", format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#)),
        3 => (
            "server-to-client",
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"search","description":"Searches.","inputSchema":{{"type":"object","properties":{{"query":{{"type":"string"}}}},"required":["query"]}}}}]}}}}"#
            ),
        ),
        6 => (
            "server-to-client",
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":0.5,"total":1}}}}"#
            ),
        ),
        _ => (
            "server-to-client",
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"at":"here"}}}"#
                .into(),
        ),
    }
}

impl Read for Log {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            if self.next == self.count {
                return Ok(0);
            }
            self.refill();
        }
        let length = buffer.len().min(self.line.len() - self.at);
        buffer[..length].copy_from_slice(&self.line[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// Counts what goes through.
struct Counted<T> {
    inner: T,
    bytes: u64,
}

impl<T: Read> Read for Counted<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

impl<T: Write> Write for Counted<T> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buffer)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
