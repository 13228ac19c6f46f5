//! Callers over HTTP: who may connect.

use std::fmt::Write;

use couplet_auth::server::Tokens;
use couplet_core::Caller;
use couplet_hosts::Hosts;

use crate::{
    Config, Error, ErrorKind,
    config::{Listen, ListenAuth},
    secrets::Secrets,
};

/// The least length of a token.
const SHORTEST: usize = 16;

/// The callers that may connect over HTTP.
#[derive(Debug)]
#[non_exhaustive]
pub struct Access {
    /// The authorizer of endpoints; without one, every caller may connect.
    pub tokens: Option<Tokens>,
    /// The token that was generated for this start, to be shown to the user once.
    pub generated: Option<String>,
}

impl Access {
    /// Resolves the tokens of a configuration, or generates one. This may block: files and keyrings are read.
    ///
    /// # Errors
    /// If a token cannot be resolved, is too short, or has characters that no token has.
    pub(crate) fn new(config: &Config, secrets: &Secrets) -> Result<Self, Error> {
        let listen = &config.listen;
        if listen.auth == ListenAuth::None {
            return Ok(Self { tokens: None, generated: None });
        }
        let named = named(listen, config, secrets)?;
        if named.is_empty() {
            let token = generate()?;
            let tokens = Tokens::new().allow(token.as_str(), Caller::new("owner"));
            return Ok(Self { tokens: Some(tokens), generated: Some(token) });
        }
        let allow = |tokens: Tokens, (name, token): (String, String)| tokens.allow(token, Caller::new(name));
        Ok(Self { tokens: Some(named.into_iter().fold(Tokens::new(), allow)), generated: None })
    }
}

/// The configured tokens with the names of their principals.
fn named(listen: &Listen, config: &Config, secrets: &Secrets) -> Result<Vec<(String, String)>, Error> {
    let host = Hosts::builtin().get("mcp-json")?.clone().with_references(&["${env:NAME}"])?;
    let one = listen.token.iter().map(|token| ("owner".to_owned(), token));
    let named = listen.tokens.iter().map(|(name, token)| (name.clone(), token));
    let mut all: Vec<(String, String)> = Vec::new();
    for (name, written) in one.chain(named) {
        let wrong = |what: &str| {
            let what = format!("`{}`: the token of `{name}` {what}", config.path.display());
            Error::new(ErrorKind::Config, what)
        };
        let token = secrets.resolve(&host.read_text(written)).map_err(|why| wrong(&format!("is not known: {why}")))?;
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
    Ok(bytes.iter().fold(String::new(), |mut token, byte| {
        let _ = write!(token, "{byte:02x}");
        token
    }))
}
