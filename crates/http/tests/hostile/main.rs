//! Peers that mean no good, over sockets of this machine: each ends in a clear error, within bounded memory and time.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod connections;
mod http2;
#[path = "../peer/mod.rs"]
mod peer;
mod raw;
mod replies;
#[path = "../peer/request.rs"]
mod request;
mod requests;
mod rounds;
mod unread;
