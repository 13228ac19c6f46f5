//! JSON lines over the pipes of a child process, with many requests in flight.

mod server;

use std::{
    io::{ErrorKind, Read, Write},
    time::{Duration, Instant},
};

use mio::{Events, Interest, Poll, Token};
use serde_json::{Value, json};

pub(crate) use server::{Server, read_answer};

use crate::{
    Failure,
    args::Args,
    cases::{Case, FIRST_ID, Life, NAMES, patch_id},
    window::Window,
};

/// The poll timeout, after which the clock is checked.
const TICK: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &Args) -> Result<Value, Failure> {
    let life = Life::new(args.needed("life")?)?;
    let mut case = Case::new(args.needed("case")?, life, args)?;
    case.body.push(b'\n');
    let mut server = Server::start(&args.command)?;
    server.handshake(life)?;
    let mut window = Window::new(args, &case, server.pid())?;
    let mut asking = Asking::new(args.number("depth", 1)?);

    let (mut input, mut output, ending) = server.into_pipes()?;
    let mut poll = Poll::new()?;
    poll.registry().register(&mut input, Token(0), Interest::WRITABLE)?;
    poll.registry().register(&mut output, Token(1), Interest::READABLE)?;
    let mut events = Events::with_capacity(2);
    let mut chunk = vec![0; 1 << 20];
    while window.goes_on(Instant::now())? {
        asking.fill(&case, &mut window);
        asking.write(&mut input)?;
        poll.poll(&mut events, Some(TICK))?;
        // Readiness is edge-triggered: read everything before the next wait.
        loop {
            match output.read(&mut chunk) {
                Ok(0) => return Err("the server exited".into()),
                Ok(count) => asking.take(&chunk[..count], &case, &mut window),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
            asking.fill(&case, &mut window);
            asking.write(&mut input)?;
            if !window.goes_on(Instant::now())? {
                break;
            }
        }
    }
    let result = window.result();
    drop(input);
    ending.wait(args.text("count").is_some());
    Ok(result)
}

/// The buffers and requests in flight.
struct Asking {
    depth: usize,
    in_flight: usize,
    next: u64,
    /// The send time of each request, by id.
    asked: Vec<Instant>,
    out: Vec<u8>,
    written: usize,
    input: Vec<u8>,
    scanned: usize,
}

impl Asking {
    fn new(depth: usize) -> Self {
        let asked = vec![Instant::now(); depth * 4];
        let (out, input) = (Vec::new(), Vec::with_capacity(4 << 20));
        Self { depth, in_flight: 0, next: FIRST_ID, asked, out, written: 0, input, scanned: 0 }
    }

    /// Queues requests up to the limit in flight.
    fn fill(&mut self, case: &Case, window: &mut Window) {
        let now = Instant::now();
        while self.in_flight < self.depth && window.asks() {
            let at = self.out.len();
            self.out.extend_from_slice(&case.body);
            patch_id(&mut self.out, at + case.id_at, self.next);
            let slot = self.slot(self.next);
            self.asked[slot] = now;
            self.next += 1;
            self.in_flight += 1;
        }
    }

    fn slot(&self, id: u64) -> usize {
        (id % self.asked.len() as u64) as usize
    }

    fn write(&mut self, pipe: &mut impl Write) -> Result<(), Failure> {
        while self.written < self.out.len() {
            match pipe.write(&self.out[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        self.out.clear();
        self.written = 0;
        Ok(())
    }

    /// Parses received lines: responses, or other messages of the server.
    fn take(&mut self, bytes: &[u8], case: &Case, window: &mut Window) {
        let now = Instant::now();
        self.input.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(end) = memchr::memchr(b'\n', &self.input[self.scanned..]) {
            let line = &self.input[from..self.scanned + end];
            self.scanned += end + 1;
            from = self.scanned;
            let Some(id) = id_of(line) else { continue };
            self.in_flight -= 1;
            window.answered(now - self.asked[self.slot(id)], line.len(), || {
                let message = serde_json::from_slice(line).map_err(|error| error.to_string())?;
                case.check(id, &message)
            });
        }
        self.input.drain(..from);
        self.scanned = self.input.len();
    }
}

/// Finds the id of a response: usually at the start or end.
fn id_of(line: &[u8]) -> Option<u64> {
    let ends = [&line[..line.len().min(96)], &line[line.len().saturating_sub(64)..], line];
    let found = ends.iter().filter_map(|part| {
        let at = memchr::memmem::find(part, b"\"id\":")? + 5;
        let digits = part[at..].iter().skip_while(|byte| **byte == b' ').take_while(|byte| byte.is_ascii_digit());
        Some(digits.fold(0_u64, |number, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))))
    });
    found.into_iter().find(|id| *id >= FIRST_ID)
}

/// Verifies one request of each case.
pub(crate) fn check(args: &Args) -> Result<Value, Failure> {
    let life = Life::new(args.needed("life")?)?;
    let mut server = Server::start(&args.command)?;
    server.handshake(life)?;
    let mut wrong = json!({});
    for (id, name) in (FIRST_ID..).zip(NAMES) {
        let mut case = Case::new(name, life, args)?;
        patch_id(&mut case.body, case.id_at, id);
        case.body.push(b'\n');
        server.input.write_all(&case.body)?;
        let line = read_answer(&mut server.output)?;
        let verdict = serde_json::from_str(&line).map_err(|error| error.to_string());
        if let Err(why) = verdict.and_then(|message| case.check(id, &message)) {
            wrong[name] = json!(why);
        }
    }
    Ok(json!({ "wrong": wrong }))
}
