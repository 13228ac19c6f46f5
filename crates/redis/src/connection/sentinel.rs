//! Sentinels: servers that know which server is the primary.

use std::{fmt, io};

use redis::{
    AsyncConnectionConfig, ErrorKind as Kind, FromRedisValue, RedisError, RedisResult, ServerErrorKind as Server, Value,
};
use tokio::task::JoinSet;

use super::target::{Connection, Target};

/// The sentinels of a primary.
#[derive(Clone)]
pub(crate) struct Sentinels {
    sentinels: Vec<Target>,
    name: String,
}

impl Sentinels {
    pub(crate) fn new(sentinels: Vec<Target>, name: &str) -> Self {
        Self { sentinels, name: name.to_owned() }
    }

    /// The address of the primary, from the first sentinel that knows it. All are asked at once: some may hang.
    pub(crate) async fn primary(&self) -> RedisResult<(String, u16)> {
        let mut asked = JoinSet::new();
        for sentinel in &self.sentinels {
            asked.spawn(ask(sentinel.clone(), self.name.clone()));
        }
        let mut failure = None;
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(Some(primary))) => return Ok(primary),
                Ok(Ok(None)) => {
                    let unknown = "a sentinel does not know the primary; check its name in the URL";
                    failure = Some((Kind::InvalidClientConfig, unknown).into());
                }
                // A sentinel that answers says more than one that does not.
                Ok(Err(error)) => {
                    failure = failure.filter(|known: &RedisError| known.kind() != Kind::Io).or(Some(error));
                }
                Err(_) => {}
            }
        }
        Err(failure.unwrap_or_else(|| io::Error::other("no sentinel has answered").into()))
    }

    #[cfg(feature = "tls")]
    pub(crate) fn each_mut(&mut self) -> impl Iterator<Item = &mut Target> {
        self.sentinels.iter_mut()
    }
}

async fn ask(sentinel: Target, name: String) -> RedisResult<Option<(String, u16)>> {
    let connection = sentinel.connect(AsyncConnectionConfig::new()).await?;
    let mut command = redis::cmd("SENTINEL");
    command.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
    command.query_async(&mut connection.commands.clone()).await
}

/// Checks that a server is a primary: a sentinel may not know yet that it is none any more.
pub(super) async fn check(connection: &Connection) -> RedisResult<()> {
    let role: RedisResult<Vec<Value>> = redis::cmd("ROLE").query_async(&mut connection.commands.clone()).await;
    match role.map(|role| role.into_iter().next().map(String::from_redis_value)) {
        Ok(Some(Ok(role))) if role == "master" => Ok(()),
        // The user may lack the permission; writes will show.
        Err(error) if error.kind() == Kind::Server(Server::NoPerm) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(RedisError::from((Kind::Server(Server::ReadOnly), "it is not the primary yet"))),
    }
}

/// The name and the addresses, without passwords.
impl fmt::Display for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentinels: Vec<_> = self.sentinels.iter().map(Target::to_string).collect();
        write!(f, "{} of {}", self.name, sentinels.join(","))
    }
}
