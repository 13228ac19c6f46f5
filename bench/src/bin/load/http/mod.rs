//! HTTP/1.1 over keep-alive connections, one request in flight on each, in one loop.

mod connection;
mod request;
mod response;

use std::time::Instant;

use connection::Connection;
use mio::{Events, Interest, Poll, Token};
use serde_json::{Value, json};

pub(crate) use request::{Url, open_session};
pub(crate) use response::Response;

use crate::{
    Failure,
    args::Args,
    cases::{Case, FIRST_ID, Life, NAMES},
    window::Window,
};

/// The range of ids per connection; the ranges do not overlap.
const IDS: u64 = 1_000_000;

pub(crate) fn run(args: &Args) -> Result<Value, Failure> {
    let url = Url::new(args.needed("url")?)?;
    let life = Life::new(args.needed("life")?)?;
    let case = Case::new(args.needed("case")?, life, args)?;
    idle_sessions(&url, args.number("sessions", 0)?)?;

    let mut poll = Poll::new()?;
    let mut connections = Vec::new();
    for at in 0..args.number("conns", 1)? {
        let mut connection = Connection::open(&url, life, &case, FIRST_ID + at as u64 * IDS)?;
        let both = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut connection.stream, Token(at), both)?;
        connections.push(connection);
    }
    let mut window = Window::new(args, &case, args.number("pid", 0)?)?;
    for connection in &mut connections {
        if window.asks() {
            connection.ask(Instant::now())?;
        }
    }
    let mut events = Events::with_capacity(256);
    let mut chunk = vec![0; 256 << 10];
    while window.goes_on(Instant::now())? {
        poll.poll(&mut events, Some(window.patience()))?;
        for event in &events {
            let Some(connection) = connections.get_mut(event.token().0) else { continue };
            if event.is_writable() {
                connection.write()?;
            }
            if event.is_readable() && connection.read(&mut chunk)? {
                let now = Instant::now();
                let response = &connection.response;
                let size = if response.status == 200 { response.body.len() } else { 0 };
                window.answered(now - connection.asked, size, || response.check(&case, connection.id));
                connection.response.reset();
                if window.asks() {
                    connection.ask(now)?;
                }
            }
        }
    }
    Ok(window.result())
}

/// Opens idle sessions, to measure their effect on active ones.
fn idle_sessions(url: &Url, count: usize) -> Result<(), Failure> {
    if count == 0 {
        return Ok(());
    }
    let mut stream = url.connect()?;
    let mut response = Response::default();
    for _ in 0..count {
        open_session(url, &mut stream, &mut response)?;
    }
    Ok(())
}

/// Verifies one request of each case, each on its own connection.
pub(crate) fn check(args: &Args) -> Result<Value, Failure> {
    let url = Url::new(args.needed("url")?)?;
    let life = Life::new(args.needed("life")?)?;
    let mut wrong = json!({});
    for name in NAMES {
        let case = Case::new(name, life, args)?;
        if let Err(why) = Connection::once(&url, life, &case) {
            wrong[name] = json!(why.to_string());
        }
    }
    Ok(json!({ "wrong": wrong }))
}
