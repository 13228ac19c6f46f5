//! URLs: one server, or several.

use std::fmt;

use couplet_core::{Error, ErrorKind};

use super::target::Target;

/// The servers that a URL names.
#[derive(Clone)]
pub(crate) enum Servers {
    One(Box<Target>),
    /// Some nodes of a cluster, at least one.
    #[cfg(feature = "cluster")]
    Cluster(Vec<Target>),
}

impl Servers {
    /// Parses a URL.
    pub(crate) fn parse(url: &str) -> Result<Self, Error> {
        let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
        match (scheme, scheme.split_once('+')) {
            (_, Some(("redis" | "rediss", "cluster"))) => Self::cluster(scheme.starts_with("rediss"), rest),
            (_, Some(("redis" | "rediss", "sentinel"))) => Self::sentinel(scheme.starts_with("rediss"), rest),
            _ => Target::parse(url).map(|target| Self::One(Box::new(target))),
        }
    }

    #[cfg(feature = "cluster")]
    fn cluster(is_tls: bool, rest: &str) -> Result<Self, Error> {
        let wrong =
            || Error::new(ErrorKind::Config, "expected a URL such as `redis+cluster://user:password@a:6379,b:6379`");
        let (user, hosts, path) = parts(rest);
        // A cluster has the database 0 only.
        if !matches!(path, "" | "0") {
            return Err(wrong());
        }
        let seeds = hosts.split(',').map(|host| Target::parse(&plain(is_tls, user, host)).map_err(|_| wrong()));
        Ok(Self::Cluster(seeds.collect::<Result<_, _>>()?))
    }

    #[cfg(not(feature = "cluster"))]
    fn cluster(_: bool, _: &str) -> Result<Self, Error> {
        Err(Error::new(ErrorKind::Config, "`redis+cluster://` needs the feature `cluster` of `couplet-redis`"))
    }

    #[cfg(feature = "sentinel")]
    fn sentinel(is_tls: bool, rest: &str) -> Result<Self, Error> {
        use super::sentinel::Sentinels;

        let expected = "expected a URL such as `redis+sentinel://user:password@a:26379,b:26379/primary-name/0`";
        let wrong = || Error::new(ErrorKind::Config, expected);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (user, hosts, path) = parts(rest);
        let (name, database) = path.split_once('/').unwrap_or((path, ""));
        let own = sentinel_user(query).ok_or_else(wrong)?;
        if name.is_empty() || hosts.is_empty() {
            return Err(wrong());
        }
        let sentinels = hosts.split(',').map(|host| {
            let port = if has_port(host) { "" } else { ":26379" };
            Target::parse(&plain(is_tls, own.as_deref(), &format!("{host}{port}"))).map_err(|_| wrong())
        });
        let sentinels = sentinels.collect::<Result<_, _>>()?;
        // Its address is asked for; the rest is the same.
        let primary = plain(is_tls, user, hosts.split(',').next().unwrap_or_default()) + "/" + database;
        let primary = Target::parse(&primary).map_err(|_| wrong())?;
        Ok(Self::One(Box::new(primary.behind(Sentinels::new(sentinels, name)))))
    }

    #[cfg(not(feature = "sentinel"))]
    fn sentinel(_: bool, _: &str) -> Result<Self, Error> {
        Err(Error::new(ErrorKind::Config, "`redis+sentinel://` needs the feature `sentinel` of `couplet-redis`"))
    }

    /// Replaces the trusted root certificates.
    #[cfg(feature = "tls")]
    pub(crate) fn trust(&mut self, pem: &[u8]) -> Result<(), Error> {
        match self {
            Self::One(target) => target.trust(pem),
            #[cfg(feature = "cluster")]
            Self::Cluster(seeds) => seeds.iter_mut().try_for_each(|seed| seed.trust(pem)),
        }
    }
}

/// The user name and password, the hosts, and the path.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
fn parts(rest: &str) -> (Option<&str>, &str, &str) {
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    match authority.rsplit_once('@') {
        Some((user, hosts)) => (Some(user), hosts, path),
        None => (None, authority, path),
    }
}

/// The URL of one host.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
fn plain(is_tls: bool, user: Option<&str>, host: &str) -> String {
    let scheme = if is_tls { "rediss" } else { "redis" };
    match user {
        Some(user) => format!("{scheme}://{user}@{host}"),
        None => format!("{scheme}://{host}"),
    }
}

/// The user name and password for the sentinels, as a URL has them; `None` if the query has other parameters.
#[cfg(feature = "sentinel")]
fn sentinel_user(query: &str) -> Option<Option<String>> {
    let (mut user, mut password) = ("", None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=')? {
            ("sentinel_username", value) => user = value,
            ("sentinel_password", value) => password = Some(value),
            _ => return None,
        }
    }
    Some(password.map(|password| format!("{user}:{password}")))
}

#[cfg(feature = "sentinel")]
fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'))
}

/// The addresses without user name and password.
impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(target) => target.fmt(f),
            #[cfg(feature = "cluster")]
            Self::Cluster(seeds) => {
                let seeds: Vec<_> = seeds.iter().map(Target::to_string).collect();
                f.write_str(&seeds.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_several_servers() {
        for (url, shown) in [
            ("redis://ann:secret@localhost:7000/3", Some("localhost:7000")),
            #[cfg(feature = "cluster")]
            ("redis+cluster://a,b:7000,[::1]:7001", Some("a:6379,b:7000,::1:7001")),
            #[cfg(feature = "cluster")]
            ("redis+cluster://ann:secret@a/0", Some("a:6379")),
            #[cfg(feature = "sentinel")]
            ("redis+sentinel://a,b:7000,[::1]/main", Some("main of a:26379,b:7000,::1:26379")),
            #[cfg(feature = "sentinel")]
            ("redis+sentinel://ann:secret@a/main/2?sentinel_password=secret", Some("main of a:26379")),
            #[cfg(all(feature = "cluster", feature = "tls"))]
            ("rediss+cluster://a", Some("a:6379")),
            ("redis+cluster://", None),
            ("redis+cluster://:secret@a,,b", None),
            ("redis+cluster://:secret@a/1", None),
            ("redis+sentinel://:secret@a", None),
            ("redis+sentinel:///main", None),
            ("redis+sentinel://a/main/x", None),
            ("redis+sentinel://a/main?password=secret", None),
            ("http+cluster://a", None),
        ] {
            match Servers::parse(url) {
                Ok(servers) => assert_eq!(Some(servers.to_string().as_str()), shown, "{url}"),
                Err(error) => {
                    assert_eq!(shown, None, "{url}: {error}");
                    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
                }
            }
        }
    }
}
