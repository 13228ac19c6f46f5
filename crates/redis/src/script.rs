//! Lua scripts, each atomic on the server.

use std::{sync::OnceLock, time::Duration};

use couplet_core::Error;
use redis::{Cmd, ErrorKind as Kind, RedisError, Script as Hashed, ServerErrorKind as Server};

/// A script. The server's clock (`TIME`) is the only one that scripts use, so that replicas need not agree on the time.
#[derive(Debug)]
pub(crate) struct Lua {
    text: &'static str,
    hash: OnceLock<String>,
}

/// What a script runs with: its keys, which must have one hash tag, and its arguments.
#[derive(Debug, Default)]
pub(crate) struct Input<'a> {
    keys: Vec<&'a str>,
    arguments: Vec<Vec<u8>>,
}

impl Lua {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text, hash: OnceLock::new() }
    }

    /// Runs the script by its hash.
    pub(crate) fn call(&self, input: &Input<'_>) -> Cmd {
        let hash = self.hash.get_or_init(|| Hashed::new(self.text).get_hash().to_owned());
        input.command("EVALSHA", hash)
    }

    /// Runs the script by its text: from then on the server knows its hash.
    pub(crate) fn call_with_text(&self, input: &Input<'_>) -> Cmd {
        input.command("EVAL", self.text)
    }
}

impl<'a> Input<'a> {
    pub(crate) fn new(key: &'a str) -> Self {
        Self { keys: vec![key], arguments: Vec::new() }
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len()).arg(&self.keys).arg(&self.arguments);
        command
    }

    /// The key that says which server of a cluster has them all.
    pub(crate) fn first_key(&self) -> &'a str {
        self.keys.first().copied().unwrap_or_default()
    }

    pub(crate) fn key(mut self, key: &'a str) -> Self {
        self.keys.push(key);
        self
    }

    pub(crate) fn bytes(mut self, argument: impl Into<Vec<u8>>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub(crate) fn number(self, argument: u64) -> Self {
        self.bytes(argument.to_string())
    }
}

/// Whether the server does not know a script, and so has not run it.
pub(crate) fn is_unknown(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<RedisError>());
    source.is_some_and(|error| error.kind() == Kind::Server(Server::NoScript))
}

/// A duration in milliseconds, at most some centuries: more is not exact in Lua.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).min(1 << 43)
}
