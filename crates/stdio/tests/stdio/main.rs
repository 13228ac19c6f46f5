//! The crate from outside: a server on pipes of every kind, a client on the other end, and children that misbehave.

#[cfg(any())]
mod child;
mod client;
mod serve;
mod support;
