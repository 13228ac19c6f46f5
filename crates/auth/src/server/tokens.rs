//! A fixed set of tokens.

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

/// An authorizer for a fixed set of tokens, each for one caller: for a personal server, or that of a team.
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
    /// Creates an authorizer without tokens, which rejects every request.
    pub fn new() -> Self {
        let challenges = Challenges { metadata: None, scopes: Vec::new(), proofs: None, proofs_only: false };
        Self { known: Vec::new(), challenges }
    }

    /// Accepts this token for a caller. Only a hash of the token is stored.
    ///
    /// # Panics
    /// Panics if the token is shorter than 8 characters, or has characters that a token cannot have.
    #[track_caller]
    pub fn allow(mut self, token: impl Into<Secret>, caller: Caller) -> Self {
        let token = token.into();
        assert!(token.reveal().len() >= 8, "a token needs at least 8 random characters");
        assert!(is_token(token.reveal()), "a token may contain only letters, digits and `-._~+/=`");
        self.known.push((Hash::hash(token.reveal().as_bytes()), Arc::new(caller)));
        self
    }

    /// The caller of a token. All tokens are compared, each in constant time, so that timing reveals nothing.
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
            _ => Err(Refusal::Invalid("the token is invalid")),
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
