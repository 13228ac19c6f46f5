//! Token verification, with a cache.

use std::{sync::Arc, time::Duration};

use couplet_core::Caller;
use http::request::Parts;
use serde::Deserialize;

use super::{
    claims::{Claims, Unchecked, Wanted},
    credential::Credential,
    jws::Jws,
    memo::{Found, Memo, Verified},
    published::Known,
    refusal::Refusal,
    verifier::Verifier,
};

impl Verifier {
    /// Authenticates the caller of a request.
    pub(crate) async fn admit(&self, request: &Parts, now: u64) -> Result<Arc<Caller>, Refusal> {
        let credential = Credential::of(&request.headers)?;
        let verified = self.look_up(credential.token, now).await?;
        match (&verified.key, credential.with_proof) {
            (Some(key), true) => self.proofs.check(request, &self.at, credential.token, key, now)?,
            (Some(_), false) => return Err(Refusal::Invalid("the token is DPoP-bound and must be sent with a proof")),
            (None, true) => return Err(Refusal::Invalid("the token is not DPoP-bound; send it as `Bearer`")),
            (None, false) if self.proofs.required => return Err(Refusal::Invalid("the token must be DPoP-bound")),
            (None, false) => {}
        }
        if !verified.caller.has_scopes(&self.challenges.scopes) {
            return Err(Refusal::Scopes(Vec::new()));
        }
        Ok(verified.caller.clone())
    }

    /// Verifies a token, from the cache if possible.
    async fn look_up(&self, token: &str, now: u64) -> Found {
        let digest = Memo::digest(token);
        if let Some(found) = self.memo.get(&digest) {
            return found;
        }
        let (found, asked) = self.find(token, now).await;
        let found = found.and_then(|claims| self.verified(claims)).map(Arc::new);
        let good_for = match &found {
            Ok(verified) => {
                let left =
                    verified.expires.map(|at| Duration::from_secs(at.saturating_add(self.leeway).saturating_sub(now)));
                self.cache_ttl.min(left.unwrap_or(Duration::MAX))
            }
            // The issuer is not asked repeatedly about an invalid token, which may become valid.
            Err(Refusal::Invalid(_)) if asked => self.cache_ttl.min(Duration::from_secs(5)),
            Err(_) => Duration::ZERO,
        };
        self.memo.put(digest, found.clone(), good_for);
        found
    }

    /// Verifies a token; the flag is whether the issuer was asked.
    async fn find(&self, token: &str, now: u64) -> (Result<Claims, Refusal>, bool) {
        #[derive(Deserialize)]
        struct Named {
            iss: String,
        }
        let jws = Jws::parse(token);
        let named = jws.as_ref().and_then(|jws| jws.claims::<Named>());
        let known = match &named {
            Some(named) => self.issuers.iter().find(|known| known.issuer.name == named.iss),
            None => self.issuers.iter().find(|known| known.issuer.asks.is_some()),
        };
        let Some(known) = known else {
            return (Err(Refusal::Invalid("the token's issuer is not trusted by this server")), false);
        };
        let wanted = Wanted { issuer: &known.issuer.name, audience: &self.audience, now, leeway: self.leeway };
        match (&known.issuer.asks, &jws) {
            (Some(asks), _) => (known.ask(asks, token, &wanted).await, true),
            (None, Some(jws)) => (signed(known, jws, &wanted).await, false),
            (None, None) => (Err(Refusal::Invalid("the token cannot be parsed")), false),
        }
    }

    fn verified(&self, claims: Claims) -> Result<Verified, Refusal> {
        if !self.required.iter().all(|(name, values)| claims.has(name, values)) {
            return Err(Refusal::Invalid("the token lacks a claim that this server requires"));
        }
        let mut scopes = claims.scopes.clone();
        let mut at = 0;
        // Implied scopes may imply further ones; each is expanded once.
        while let Some(scope) = scopes.get(at) {
            let implied = self.implied.iter().filter(|(by, _)| by == scope).flat_map(|(_, others)| others);
            let new: Vec<String> = implied.filter(|other| !scopes.contains(other)).cloned().collect();
            scopes.extend(new);
            at += 1;
        }
        let (key, expires) = (claims.key.clone(), claims.expires);
        let mut caller = Caller::new(claims.principal()).with_scopes(scopes);
        if let Some(expires) = expires {
            caller = caller.with_expiry(expires.saturating_add(self.leeway));
        }
        let unknown = Refusal::Invalid("the token's subject is not accepted by this server");
        let caller = (self.describe)(caller, claims).ok_or(unknown)?;
        Ok(Verified { caller: Arc::new(caller), key, expires })
    }
}

/// Verifies a signed token.
async fn signed(known: &Known, jws: &Jws<'_>, wanted: &Wanted<'_>) -> Result<Claims, Refusal> {
    // A JWT that was signed for another purpose is not an access token.
    if !jws.is_of_type(&["", "jwt", "at+jwt"]) {
        return Err(Refusal::Invalid("the token is not an access token"));
    }
    known.signed(jws).await?;
    let token = jws.claims::<Unchecked>().ok_or(Refusal::Invalid("the token cannot be parsed"))?;
    if !token.ends() {
        return Err(Refusal::Invalid("the token has no expiry (`exp`)"));
    }
    token.check(wanted)
}
