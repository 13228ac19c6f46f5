//! The connection that all stores share.

use std::{fmt, sync::Arc, time::Duration};

use couplet_core::{Error, ErrorKind};
use redis::{Arg, Cmd, FromRedisValue, Pipeline, Value};

use crate::{
    connection::{Link, Repeat, Servers},
    error::failed,
    names::Names,
    script::{Input, Lua, is_full, is_unknown},
    seal::{Keys, Place},
};

/// A connection to Redis or Valkey, which any number of stores share. A clone is another handle to it.
///
/// It connects with the first operation, and again after a failure. Operations are sent without waiting for the answers
/// of others, up to 512 at a time.
///
/// # Errors
/// Each operation fails with [`ErrorKind::Timeout`] if there is no answer in time, with [`ErrorKind::Transport`] if there
/// is no connection or the server is not ready or full, and with [`ErrorKind::Config`] if the URL, the keys or the prefix are not
/// those of the stored data.
///
/// ```
/// # fn main() -> Result<(), couplet_core::Error> {
/// use couplet_redis::Redis;
///
/// let key = [7; 32]; // 32 random bytes, the same for all replicas
/// let redis = Redis::builder("redis://:secret@localhost:6379/0", key).prefix("notes:").build()?;
/// assert_eq!(format!("{redis:?}"), r#"Redis { address: "localhost:6379", prefix: "notes:", timeout: 2s }"#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Redis(Arc<Shared>);

struct Shared {
    link: Link,
    names: Names,
    keys: Keys,
}

/// The configuration of a [`Redis`].
#[derive(Clone)]
#[must_use]
pub struct RedisBuilder {
    url: String,
    keys: Keys,
    prefix: String,
    timeout: Duration,
    #[cfg(feature = "tls")]
    roots: Option<Vec<u8>>,
}

impl Redis {
    /// Creates a connection with the default configuration: see [`Redis::builder`].
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if the URL is not valid.
    pub fn new(url: &str, keys: impl Into<Keys>) -> Result<Self, Error> {
        Self::builder(url, keys).build()
    }

    /// Configures a connection to the server with a URL: `redis://user:password@host:port/database` or
    /// `redis+unix:///path`; with the feature `cluster` `redis+cluster://user:password@host:port,host:port`, some nodes of
    /// a cluster; with the feature `sentinel` `redis+sentinel://user:password@host:port,host:port/name/database`, the
    /// sentinels of the primary with this name. With the feature `tls` each may begin with `rediss` instead. The keys seal
    /// the stored values.
    pub fn builder(url: &str, keys: impl Into<Keys>) -> RedisBuilder {
        RedisBuilder {
            url: url.to_owned(),
            keys: keys.into(),
            prefix: "couplet:".to_owned(),
            timeout: Duration::from_secs(2),
            #[cfg(feature = "tls")]
            roots: None,
        }
    }

    /// Checks that the server can be reached and answers, for readiness probes.
    ///
    /// # Errors
    /// See [`Redis`].
    pub async fn ping(&self) -> Result<(), Error> {
        let _: Value = self.ask(redis::cmd("PING")).await?;
        Ok(())
    }

    pub(crate) fn link(&self) -> &Link {
        &self.0.link
    }

    pub(crate) fn names(&self) -> &Names {
        &self.0.names
    }

    /// Seals a value for its place.
    pub(crate) fn seal(&self, key: &str, field: &str, value: &[u8]) -> Result<Vec<u8>, Error> {
        self.0.keys.seal(Place { key, field }, value)
    }

    /// Opens the value of a place.
    pub(crate) fn open(&self, key: &str, field: &str, value: &[u8]) -> Result<Vec<u8>, Error> {
        self.0.keys.open(Place { key, field }, value)
    }

    /// Sends a command that may be repeated.
    pub(crate) async fn ask<T: FromRedisValue>(&self, command: Cmd) -> Result<T, Error> {
        let mut commands = Pipeline::with_capacity(1);
        commands.add_command(command);
        let key = command_key(&commands);
        let answer = self.0.link.send(&commands, key, Repeat::Safe).await?;
        self.parse(answer.into_iter().next().unwrap_or(Value::Nil))
    }

    /// Runs a script.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        script: &Lua,
        input: Input<'_>,
        repeat: Repeat,
    ) -> Result<T, Error> {
        let answer = self.evaluate(script, &[&input], repeat).await?;
        self.parse(answer.into_iter().next().unwrap_or(Value::Nil))
    }

    /// Runs a script with each of several inputs. It may be repeated.
    pub(crate) async fn run_all<T: FromRedisValue>(&self, script: &Lua, inputs: &[Input<'_>]) -> Result<Vec<T>, Error> {
        let keys: Vec<_> = inputs.iter().map(Input::first_key).collect();
        let mut answers: Vec<(usize, Value)> = Vec::with_capacity(inputs.len());
        for group in self.0.link.together(&keys).await? {
            let some: Vec<_> = group.iter().map(|at| &inputs[*at]).collect();
            match self.evaluate(script, &some, Repeat::Safe).await {
                Ok(found) => answers.extend(group.into_iter().zip(found)),
                // Some of them are elsewhere by now.
                Err(_) if group.len() > 1 && self.0.link.is_cluster() => {
                    for at in group {
                        let found = self.evaluate(script, &[&inputs[at]], Repeat::Safe).await?;
                        answers.extend(found.into_iter().map(|answer| (at, answer)));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        answers.sort_unstable_by_key(|(at, _)| *at);
        answers.into_iter().map(|(_, answer)| self.parse(answer)).collect()
    }

    /// By its hash; a server that does not know the script, because it was restarted, gets its text. A full server gets it
    /// with a flag, if it needs no room.
    async fn evaluate(&self, script: &Lua, inputs: &[&Input<'_>], repeat: Repeat) -> Result<Vec<Value>, Error> {
        let Some((first, others)) = inputs.split_first() else { return Ok(Vec::new()) };
        let calls = |first: Cmd| {
            let mut calls = Pipeline::with_capacity(inputs.len());
            calls.add_command(first);
            others.iter().for_each(|input| {
                calls.add_command(script.call(input));
            });
            calls
        };
        let (link, key) = (&self.0.link, Some(first.first_key()));
        let answer = match link.send(&calls(script.call(first)), key, repeat).await {
            // It was not executed. The server that does is known only when it does, in a cluster, so the text goes along.
            Err(error) if is_unknown(&error) => link.send(&calls(script.call_with_text(first)), key, repeat).await,
            answer => answer,
        };
        match answer {
            Err(error) if is_full(&error) => {
                let flagged: Option<Vec<Cmd>> = inputs.iter().map(|input| script.call_without_room(input)).collect();
                let Some(flagged) = flagged else { return Err(error) };
                let mut calls = Pipeline::with_capacity(flagged.len());
                flagged.into_iter().for_each(|call| {
                    calls.add_command(call);
                });
                link.send(&calls, key, repeat).await.map_err(|_| error)
            }
            answer => answer,
        }
    }

    fn parse<T: FromRedisValue>(&self, answer: Value) -> Result<T, Error> {
        T::from_redis_value(answer).map_err(|error| failed(self.0.link.address(), error.into()))
    }
}

/// The key that a command is about, or its channel, which is its first argument; `None` if any server can answer. All
/// messages of a channel go to one server, so that they stay in order.
fn command_key(commands: &Pipeline) -> Option<&str> {
    let mut words = commands.cmd_iter().next()?.args_iter().map(|word| match word {
        Arg::Simple(word) => std::str::from_utf8(word).ok(),
        _ => None,
    });
    match words.next()?? {
        "PING" => None,
        _ => words.next()?,
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { link, names, .. } = &*self.0;
        f.debug_struct("Redis")
            .field("address", &link.address())
            .field("prefix", &names.prefix())
            .field("timeout", &link.timeout())
            .finish()
    }
}

impl RedisBuilder {
    /// Sets the prefix of all keys and channels (default: `couplet:`). Servers with different state need different ones.
    pub fn prefix(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// Sets the timeout of each operation, connecting included (default: 2 seconds). It should be shorter than the
    /// timeouts of the callers, such as those of sessions and tasks for their stores.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the root certificates to trust for `rediss://`, in PEM, instead of those that Mozilla trusts.
    #[cfg(feature = "tls")]
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots = Some(pem.into());
        self
    }

    /// Creates the connection. It is opened by the first operation.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if the URL, the prefix or a certificate is not valid.
    pub fn build(self) -> Result<Redis, Error> {
        if self.prefix.contains(['{', '}']) || self.prefix.chars().any(char::is_control) {
            let what = "expected a prefix without braces, which are the hash tags of clusters, and control characters";
            return Err(Error::new(ErrorKind::Config, what));
        }
        #[cfg_attr(not(feature = "tls"), expect(unused_mut, reason = "roots are of TLS"))]
        let mut servers = Servers::parse(&self.url)?;
        #[cfg(feature = "tls")]
        if let Some(pem) = &self.roots {
            servers.trust(pem)?;
        }
        let link = Link::new(servers, self.timeout);
        Ok(Redis(Arc::new(Shared { link, names: Names::new(&self.prefix), keys: self.keys })))
    }
}

impl fmt::Debug for RedisBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Servers::parse(&self.url).map(|servers| servers.to_string()).ok();
        f.debug_struct("RedisBuilder")
            .field("address", &address)
            .field("prefix", &self.prefix)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let builder = Redis::builder("redis://ann:secret@localhost", [7; 32]);
        let shown = format!("{builder:?} {:?}", builder.clone().build().unwrap());
        assert!(shown.contains("localhost:6379") && !shown.contains("secret") && !shown.contains("7, 7"), "{shown}");
    }

    #[test]
    fn a_prefix_has_no_braces() {
        for (prefix, expected) in [("a:", true), ("", true), ("{a}:", false), ("a\n", false)] {
            assert_eq!(
                Redis::builder("redis://localhost", [7; 32]).prefix(prefix).build().is_ok(),
                expected,
                "{prefix}"
            );
        }
    }
}
