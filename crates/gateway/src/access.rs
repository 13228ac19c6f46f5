//! Callers over HTTP: who may connect.

use std::sync::Arc;

use couplet_auth::server::Tokens;
use couplet_core::Caller;
use couplet_hosts::Env;
use tokio::sync::watch;

use crate::{Config, Error, ErrorKind, files, secrets::Secrets};

/// The least length of a token.
const SHORTEST: usize = 16;

/// The callers that may connect over HTTP.
#[derive(Debug)]
#[non_exhaustive]
pub struct Access {
    /// The tokens, which follow the configuration; without them, every caller may connect.
    pub tokens: Option<watch::Receiver<Arc<Tokens>>>,
    /// The token that was generated for this start, to be shown to the user once.
    pub generated: Option<String>,
}

/// The tokens that are in use.
pub(crate) struct TokensInUse {
    current: watch::Sender<Arc<Tokens>>,
    is_generated: bool,
}

impl Access {
    /// Creates the access with configured tokens, or with one that is generated if there are none.
    ///
    /// # Errors
    /// If there is no randomness.
    pub(crate) fn new(named: Vec<Named>) -> Result<(Self, TokensInUse), Error> {
        let generated = if named.is_empty() { Some(generate()?) } else { None };
        let all = generated.iter().map(|token| ("owner".to_owned(), token.clone())).chain(named);
        let current = watch::Sender::new(Arc::new(tokens(all)));
        let access = Self { tokens: Some(current.subscribe()), generated };
        let is_generated = access.generated.is_some();
        Ok((access, TokensInUse { current, is_generated }))
    }

    /// Creates the access without tokens.
    pub(crate) fn open() -> Self {
        Self { tokens: None, generated: None }
    }
}

impl TokensInUse {
    /// Replaces the tokens by those of another configuration. The generated one stays until there are others.
    pub(crate) fn replace(&mut self, named: Vec<Named>) {
        if named.is_empty() && self.is_generated {
            return;
        }
        if named.is_empty() {
            tracing::warn!(
                "the configuration has no token any more, and every caller is refused: a restart generates one"
            );
        }
        self.is_generated = false;
        self.current.send_replace(Arc::new(tokens(named)));
    }
}

fn tokens(named: impl IntoIterator<Item = Named>) -> Tokens {
    named.into_iter().fold(Tokens::new(), |tokens, (name, token)| tokens.allow(token, Caller::new(name)))
}

/// The name of a principal, and its token.
type Named = (String, String);

/// Resolves the configured tokens with the names of their principals. This may block: files and keyrings are read.
///
/// # Errors
/// If a token cannot be resolved, is too short, or has characters that no token has.
pub(crate) fn named(config: &Config, env: &Env) -> Result<Vec<Named>, Error> {
    let (listen, secrets) = (&config.listen, Secrets::new(env.clone(), config.folder()));
    let one = listen.token.iter().map(|token| ("owner".to_owned(), token));
    let named = listen.tokens.iter().map(|(name, token)| (name.clone(), token));
    let mut all: Vec<Named> = Vec::new();
    for (name, written) in one.chain(named) {
        let wrong = |what: &str| {
            let what = format!("`{}`: the token of `{name}` {what}", config.path.display());
            Error::new(ErrorKind::Config, what)
        };
        let token = secrets.resolve_written(written).map_err(|why| wrong(&format!("is not known: {why}")))?;
        let is_token = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
        if token.len() < SHORTEST || !token.chars().all(is_token) {
            return Err(wrong(&format!("must have at least {SHORTEST} letters, digits or `-._~+/=`"))
                .hinted("`openssl rand -hex 32` makes one"));
        }
        if all.iter().any(|(_, other)| *other == token) {
            return Err(wrong("is that of another principal, too"));
        }
        all.push((name, token));
    }
    Ok(all)
}

fn generate() -> Result<String, Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::new(ErrorKind::Io, format!("there is no randomness: {error}")))?;
    Ok(files::hex(&bytes))
}
