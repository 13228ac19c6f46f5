//! The server side: authenticating callers.
//!
//! * [`Verifier`] accepts access tokens that an authorization server issued for this server, as JWTs or opaque,
//!   DPoP-bound or not, and serves the protected resource metadata that tells clients where to log in.
//! * [`Tokens`] accepts a fixed set of tokens, each for one caller.
//! * [`provider`] has verifiers for common authorization servers.
//! * [`Claims`] are the verified claims of a token; handlers extract them as `Auth<Claims>`.
//!
//! Pass a [`Verifier`] or [`Tokens`] to `Endpoint::authorize`. Invariants:
//!
//! * A token is never stored, logged or forwarded; caches hold its hash.
//! * A token of another issuer, or for another audience, is invalid, whatever else it contains.
//! * Verification fails closed: a token is rejected if its issuer cannot be reached.
//! * Everything that requests can make grow is bounded: keys, proofs, the cache of tokens, and the rate of requests to
//!   an issuer.

mod algorithm;
mod challenge;
mod check;
mod claims;
mod credential;
mod dpop;
mod introspect;
mod issuer;
mod jws;
mod key;
mod memo;
mod metadata;
pub mod provider;
mod published;
mod refusal;
mod tokens;
mod verifier;

pub use algorithm::Algorithm;
pub use claims::Claims;
pub use issuer::Issuer;
pub use tokens::Tokens;
pub use verifier::Verifier;
