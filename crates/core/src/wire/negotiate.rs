//! How a client finds out what a server speaks: steps to take, and what each outcome means.

use couplet_types::{DiscoverResult, InitializeResult, ProtocolVersion, RpcError, UnsupportedVersionData, code};

use super::revision::Revision;
use crate::error::{Error, ErrorKind};

/// What to do next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Send `server/discover`, marked with a revision.
    Discover(ProtocolVersion),
    /// Send `initialize`, asking for a revision.
    Initialize(ProtocolVersion),
    /// Speak this revision.
    Speak(ProtocolVersion),
}

/// What came of the probe.
#[derive(Debug)]
pub enum Probe {
    /// The server answered it.
    Answer(Box<DiscoverResult>),
    /// The server refused it.
    Refused(RpcError),
    /// Nothing came back in time, or the server went away.
    Silence,
}

/// A negotiation under way.
///
/// ```
/// use couplet_core::{Negotiation, Probe, Step};
/// use couplet_types::{ProtocolVersion, RpcError};
///
/// let (mut negotiation, step) = Negotiation::new(ProtocolVersion::ALL.to_vec())?;
/// assert!(matches!(step, Step::Discover(_)));
/// // An older server does not know the probe, whatever it says about it.
/// let step = negotiation.probed(&Probe::Refused(RpcError::method_not_found("server/discover")))?;
/// assert!(matches!(step, Step::Initialize(ProtocolVersion::V2025_11_25)));
/// # Ok::<(), couplet_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Negotiation {
    /// What the client speaks, the preferred one first.
    wanted: Vec<Revision>,
    tried: Vec<ProtocolVersion>,
    /// Whether nothing came back from the first probe: a server that starts slowly may answer the next one.
    was_silent: bool,
}

impl Negotiation {
    /// Starts to negotiate for any of these revisions; of two that both sides speak, the later one is chosen.
    ///
    /// # Errors
    /// When the list is empty.
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

    /// What the answer to `server/discover` means.
    ///
    /// # Errors
    /// When the two sides have no revision in common.
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

    /// Whether the handshake can be tried when nothing comes back from the probe.
    pub fn has_fallback(&self) -> bool {
        self.wanted.iter().any(|revision| revision.0.codec.has_sessions())
    }

    /// What the answer to `initialize` means.
    ///
    /// # Errors
    /// When the two sides have no revision in common, or the server reports another error.
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

    /// Goes on with the handshake, because the server does not know the probe.
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
            let what = format!("the server says that it speaks {version}, and refuses it");
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
        let what = format!("no revision in common: the server speaks {theirs}, the client {}", ours.join(", "));
        Error::new(ErrorKind::Version, what)
    }
}
