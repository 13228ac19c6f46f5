//! Version negotiation of a client: the steps, and their outcomes.

use couplet_types::{DiscoverResult, InitializeResult, ProtocolVersion, RpcError, UnsupportedVersionData, code};

use super::revision::Revision;
use crate::error::{Error, ErrorKind};

/// The next step of a negotiation.
#[derive(Clone, Debug)]
pub enum Step {
    /// Send `server/discover` in this revision.
    Discover(ProtocolVersion),
    /// Send `initialize` with this revision.
    Initialize(ProtocolVersion),
    /// Use this revision.
    Speak(ProtocolVersion),
}

/// The outcome of the `server/discover` probe.
#[derive(Debug)]
pub enum Probe {
    /// The server answered it.
    Answer(Box<DiscoverResult>),
    /// The server answered with an error.
    Refused(RpcError),
    /// The server did not answer in time, or closed the connection.
    Silence,
}

/// A version negotiation.
///
/// ```
/// use couplet_core::{Negotiation, Probe, Step};
/// use couplet_types::{ProtocolVersion, RpcError};
///
/// let (mut negotiation, step) = Negotiation::new(ProtocolVersion::ALL.to_vec())?;
/// assert!(matches!(step, Step::Discover(_)));
/// // An older server does not know the probe, whatever its error.
/// let step = negotiation.probed(&Probe::Refused(RpcError::method_not_found("server/discover")))?;
/// assert!(matches!(step, Step::Initialize(ProtocolVersion::V2025_11_25)));
/// # Ok::<(), couplet_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Negotiation {
    /// The client's revisions, the preferred one first.
    wanted: Vec<Revision>,
    tried: Vec<ProtocolVersion>,
    /// Whether the first probe was not answered: a server that starts slowly may answer the next one.
    was_silent: bool,
}

impl Negotiation {
    /// Starts to negotiate one of these revisions; of two that both sides support, the later one is chosen.
    ///
    /// # Errors
    /// If the list is empty.
    pub fn new(versions: Vec<ProtocolVersion>) -> Result<(Self, Step), Error> {
        let mut wanted: Vec<Revision> = versions.into_iter().map(Revision::of).collect();
        wanted.sort_by_key(|s| std::cmp::Reverse(s.index()));
        let mut this = Self { wanted, tried: Vec::new(), was_silent: false };
        let step = match this.wanted.first().copied() {
            None => return Err(Error::new(ErrorKind::Config, "the client must speak at least one revision")),
            Some(first) => this.open_with(first)?,
        };
        Ok((this, step))
    }

    /// Continues after `server/discover`.
    ///
    /// # Errors
    /// If the two sides have no revision in common.
    pub fn probed(&mut self, outcome: &Probe) -> Result<Step, Error> {
        match outcome {
            Probe::Answer(result) => self.common(&result.supported_versions).and_then(|revision| {
                if revision.0.codec.has_sessions() {
                    self.open_with(revision)
                } else {
                    Ok(Step::Speak(revision.version()))
                }
            }),
            Probe::Refused(error) if error.code == code::UNSUPPORTED_VERSION => {
                let supported = error.data.as_ref().and_then(|d| d.parse::<UnsupportedVersionData>().ok());
                let revision = self.common(&supported.map(|d| d.supported).unwrap_or_default())?;
                self.open_with(revision)
            }
            // The two other errors that only a stateless server knows: it is one, and something else is wrong.
            Probe::Refused(error) if matches!(error.code, code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY) => {
                Err(error.clone().into())
            }
            Probe::Refused(_) => self.handshake(),
            Probe::Silence => {
                if !self.was_silent {
                    self.tried.pop();
                    self.was_silent = true;
                }
                self.handshake()
            }
        }
    }

    /// Whether to try the handshake if the probe is not answered.
    pub fn has_fallback(&self) -> bool {
        self.wanted.iter().any(|revision| revision.0.codec.has_sessions())
    }

    /// Continues after `initialize`.
    ///
    /// # Errors
    /// If the two sides have no revision in common, or the server returns another error.
    pub fn initialized(&mut self, outcome: Result<&InitializeResult, RpcError>) -> Result<Step, Error> {
        match outcome {
            Ok(result) => {
                let chosen = result.protocol_version.parse::<ProtocolVersion>().ok();
                let mut sessions = self.wanted.iter().filter(|s| s.0.codec.has_sessions());
                let revision = sessions.find(|s| Some(s.version()) == chosen);
                revision.map(|s| Step::Speak(s.version())).ok_or_else(|| self.nothing(&result.protocol_version))
            }
            Err(error) => {
                let supported = error.data.as_ref().and_then(|d| d.parse::<UnsupportedVersionData>().ok());
                match supported {
                    Some(data) => self.common(&data.supported).and_then(|revision| self.open_with(revision)),
                    None => Err(error.into()),
                }
            }
        }
    }

    /// Falls back to the handshake, because the server does not know the probe.
    fn handshake(&mut self) -> Result<Step, Error> {
        let latest = self.wanted.iter().copied().find(|s| s.0.codec.has_sessions());
        match latest {
            Some(revision) if self.tried.contains(&revision.version()) => {
                let what = "the server refuses `initialize`, and does not answer `server/discover`";
                Err(Error::new(ErrorKind::Version, what))
            }
            Some(revision) => self.open_with(revision),
            None => Err(self.nothing("only revisions that begin with `initialize`")),
        }
    }

    fn open_with(&mut self, revision: Revision) -> Result<Step, Error> {
        let version = revision.version();
        if self.tried.contains(&version) {
            let what = format!("the server claims to support {version}, and rejects it");
            return Err(Error::new(ErrorKind::Version, what));
        }
        self.tried.push(version);
        Ok(if revision.0.codec.has_sessions() { Step::Initialize(version) } else { Step::Discover(version) })
    }

    fn common(&self, supported: &[String]) -> Result<Revision, Error> {
        let revision = self.wanted.iter().find(|s| supported.iter().any(|v| v == s.version().as_str()));
        revision.copied().ok_or_else(|| self.nothing(&supported.join(", ")))
    }

    fn nothing(&self, theirs: &str) -> Error {
        let ours: Vec<_> = self.wanted.iter().map(|s| s.version().as_str()).collect();
        let what = format!("no revision in common: the server supports {theirs}, the client {}", ours.join(", "));
        Error::new(ErrorKind::Version, what)
    }
}

#[cfg(test)]
mod tests;
