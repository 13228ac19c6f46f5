//! Lua scripts, each atomic on the server.

use std::{sync::OnceLock, time::Duration};

use couplet_core::Error;
use redis::{Cmd, ErrorKind as Kind, RedisError, Script as Hashed, ServerErrorKind as Server};

/// A script. The server's clock (`TIME`) is the only one that scripts use, so that replicas need not agree on the time.
#[derive(Debug)]
pub(crate) struct Lua {
    text: &'static str,
    hash: OnceLock<String>,
    /// Whether it changes what is there and adds next to nothing, such as a lease: a full server runs it, too.
    needs_no_room: bool,
}

/// What a script runs with: its keys, which must have one hash tag, and its arguments.
#[derive(Debug, Default)]
pub(crate) struct Input<'a> {
    keys: Vec<&'a str>,
    arguments: Vec<Vec<u8>>,
}

impl Lua {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text, hash: OnceLock::new(), needs_no_room: false }
    }

    /// A script for leases, which a full server runs, too.
    pub(crate) const fn lease(text: &'static str) -> Self {
        Self { text, hash: OnceLock::new(), needs_no_room: true }
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

    /// Runs the script on a full server; `None` if it needs room. Servers before Redis 7 do not know the flag, and refuse it.
    pub(crate) fn call_without_room(&self, input: &Input<'_>) -> Option<Cmd> {
        self.needs_no_room.then(|| input.command("EVAL", &format!("#!lua flags=allow-oom\n{}", self.text)))
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
    source(error).is_some_and(|error| error.kind() == Kind::Server(Server::NoScript))
}

/// Whether the server has no room for what a script writes.
pub(crate) fn is_full(error: &Error) -> bool {
    source(error).is_some_and(|error| error.code() == Some("OOM"))
}

fn source(error: &Error) -> Option<&RedisError> {
    std::error::Error::source(error)?.downcast_ref()
}

/// A duration in milliseconds, at most some centuries: more is not exact in Lua.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).min(1 << 43)
}
