//! One server of a host, in a form that all hosts have in common.

use crate::{Env, Text};

/// How a server is reached.
///
/// ```
/// use couplet_hosts::{Entry, Stdio};
///
/// let entry = Entry::from(Stdio::new("uvx").arg("mcp-server-time").env("TZ", "UTC"));
/// assert_eq!(entry.to_string(), "uvx mcp-server-time");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A program that is started, and talked to over standard input and output.
    Stdio(Stdio),
    /// A server at a URL.
    Remote(Remote),
}

/// A program to start. Equality ignores the order of variables.
#[derive(Clone, Debug, Eq)]
#[non_exhaustive]
pub struct Stdio {
    /// The program.
    pub command: Text,
    /// The arguments.
    pub args: Vec<Text>,
    /// Environment variables, in order.
    pub env: Vec<(String, Text)>,
    /// The working folder.
    pub cwd: Option<Text>,
}

/// A server at a URL. Equality ignores the order of headers.
#[derive(Clone, Debug, Eq)]
#[non_exhaustive]
pub struct Remote {
    /// The transport.
    pub transport: Transport,
    /// The URL.
    pub url: Text,
    /// Headers of every request, in order.
    pub headers: Vec<(String, Text)>,
}

/// The transport of a remote server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE, the deprecated transport of 2024-11-05.
    Sse,
}

impl Stdio {
    /// Creates an entry for a program without arguments.
    pub fn new(command: impl Into<Text>) -> Self {
        Self { command: command.into(), args: Vec::new(), env: Vec::new(), cwd: None }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<Text>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<Text>) -> Self {
        set(&mut self.env, name.into(), value.into());
        self
    }
}

impl Remote {
    /// Creates an entry for a server that uses Streamable HTTP.
    pub fn new(url: impl Into<Text>) -> Self {
        Self { transport: Transport::Http, url: url.into(), headers: Vec::new() }
    }

    /// Sets a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Text>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the transport.
    #[must_use]
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }
}

impl Entry {
    /// Returns every text of the entry with a description, such as ``the argument `-y` ``.
    pub fn texts(&self) -> Vec<(String, &Text)> {
        match self {
            Self::Stdio(stdio) => {
                let mut all = vec![("the command".to_owned(), &stdio.command)];
                all.extend(stdio.args.iter().map(|arg| (format!("the argument `{arg}`"), arg)));
                all.extend(stdio.env.iter().map(|(name, text)| (format!("the variable `{name}`"), text)));
                all.extend(stdio.cwd.iter().map(|cwd| ("the working folder".to_owned(), cwd)));
                all
            }
            Self::Remote(remote) => {
                let mut all = vec![("the URL".to_owned(), &remote.url)];
                all.extend(remote.headers.iter().map(|(name, text)| (format!("the header `{name}`"), text)));
                all
            }
        }
    }

    /// Resolves all references to variables, as a host does when it starts the server.
    ///
    /// # Errors
    /// The reason why a reference cannot be resolved, as a sentence.
    pub fn resolve(&self, env: &Env) -> Result<Self, String> {
        let text = |text: &Text| text.resolve(env).map(Text::from);
        let pairs = |pairs: &[(String, Text)]| {
            pairs.iter().map(|(name, value)| Ok((name.clone(), text(value)?))).collect::<Result<_, String>>()
        };
        Ok(match self {
            Self::Stdio(stdio) => Self::Stdio(Stdio {
                command: text(&stdio.command)?,
                args: stdio.args.iter().map(text).collect::<Result<_, _>>()?,
                env: pairs(&stdio.env)?,
                cwd: stdio.cwd.as_ref().map(text).transpose()?,
            }),
            Self::Remote(remote) => Self::Remote(Remote {
                transport: remote.transport,
                url: text(&remote.url)?,
                headers: pairs(&remote.headers)?,
            }),
        })
    }
}

impl PartialEq for Stdio {
    fn eq(&self, other: &Self) -> bool {
        (&self.command, &self.args, &self.cwd) == (&other.command, &other.args, &other.cwd)
            && is_same(&self.env, &other.env)
    }
}

impl PartialEq for Remote {
    fn eq(&self, other: &Self) -> bool {
        (self.transport, &self.url) == (other.transport, &other.url) && is_same(&self.headers, &other.headers)
    }
}

impl From<Stdio> for Entry {
    fn from(stdio: Stdio) -> Self {
        Self::Stdio(stdio)
    }
}

impl From<Remote> for Entry {
    fn from(remote: Remote) -> Self {
        Self::Remote(remote)
    }
}

/// Formats the command line or the URL. Variables and headers, which may hold secrets, are omitted.
impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Remote(remote) => write!(f, "{}", remote.url),
            Self::Stdio(stdio) => {
                let words = std::iter::once(&stdio.command).chain(&stdio.args).map(ToString::to_string);
                f.write_str(&crate::words::join(words, crate::Os::current()))
            }
        }
    }
}

fn is_same(a: &[(String, Text)], b: &[(String, Text)]) -> bool {
    a.len() == b.len() && a.iter().all(|pair| b.contains(pair))
}

/// Sets a member of an ordered list of pairs.
pub(crate) fn set(pairs: &mut Vec<(String, Text)>, name: String, value: Text) {
    match pairs.iter_mut().find(|(n, _)| *n == name) {
        Some(pair) => pair.1 = value,
        None => pairs.push((name, value)),
    }
}
