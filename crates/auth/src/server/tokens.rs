//! Tokens that the program itself gives out.

use std::{fmt, sync::Arc};

use couplet_core::{BoxFuture, Caller};
use couplet_http::server::{Authorize, Challenge};
use hmac_sha256::Hash;
use http::request::Parts;
use subtle::{ConditionallySelectable, ConstantTimeEq};

use super::{
    challenge::Challenges,
    credential::{Credential, is_token},
    refusal::Refusal,
};
use crate::Secret;

/// Lets in whoever sends one of some tokens that are known from the start: for a server of one's own, or of one team.
///
/// ```
/// use couplet_auth::server::Tokens;
/// use couplet_core::Caller;
///
/// let tokens = Tokens::new()
///     .allow("zv3-long-and-random-9Qk", Caller::new("alice").with_scopes(["files:read", "files:write"]))
///     .allow("another-token-7hT", Caller::new("build machine").with_scopes(["files:read"]));
/// ```
#[must_use = "an endpoint uses it"]
pub struct Tokens {
    known: Vec<([u8; 32], Arc<Caller>)>,
    challenges: Challenges,
}

impl Tokens {
    /// Nobody yet.
    pub fn new() -> Self {
        let challenges = Challenges { metadata: None, scopes: Vec::new(), proofs: None, proofs_only: false };
        Self { known: Vec::new(), challenges }
    }

    /// Lets in whoever sends this token, as this caller. The token is not kept.
    ///
    /// # Panics
    /// When the token is shorter than 8 characters, which anybody could guess, or has characters that no token has.
    #[track_caller]
    pub fn allow(mut self, token: impl Into<Secret>, caller: Caller) -> Self {
        let token = token.into();
        assert!(token.reveal().len() >= 8, "a token needs at least 8 characters, random ones");
        assert!(
            is_token(token.reveal()),
            "a token with other characters than letters, digits and `-._~+/=` cannot be sent"
        );
        self.known.push((Hash::hash(token.reveal().as_bytes()), Arc::new(caller)));
        self
    }

    /// Whoever has this token. All are looked at, each from the first to the last byte, so that the time it takes says
    /// nothing about any of them.
    fn find(&self, token: &str) -> Option<&Arc<Caller>> {
        let sent = Hash::hash(token.as_bytes());
        let mut found = u64::MAX;
        for (at, (own, _)) in (0_u64..).zip(&self.known) {
            found.conditional_assign(&at, own.ct_eq(&sent));
        }
        self.known.get(usize::try_from(found).ok()?).map(|(_, caller)| caller)
    }
}

impl Default for Tokens {
    fn default() -> Self {
        Self::new()
    }
}

impl Authorize for Tokens {
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
        let found = Credential::of(&request.headers).and_then(|sent| match self.find(sent.token) {
            Some(caller) if !sent.with_proof => Ok(Some(caller.clone())),
            _ => Err(Refusal::Invalid("the token is not known here")),
        });
        Box::pin(std::future::ready(found.map_err(|refusal| self.challenges.answer(&refusal, None))))
    }

    fn insufficient(&self, _: &Parts, _: Option<&Caller>, needed: &[String]) -> Challenge {
        self.challenges.answer(&Refusal::Scopes(needed.to_vec()), None)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("known", &self.known.len()).finish_non_exhaustive()
    }
}
