//! Servers that check who asks.
//!
//! * [`Verifier`] lets in whoever has a token that an authorization server made for this server, signed or not, bound to
//!   a key or not, and serves the document that tells clients where to get one.
//! * [`Tokens`] lets in whoever has one of some tokens that the program itself gives out.
//! * [`Claims`] is what a token says; handlers take it as `Auth<Claims>`.
//!
//! Both are for `Endpoint::authorize`. Invariants:
//!
//! * A token is never kept, logged or passed on; what is remembered of it is its hash.
//! * A token of another issuer, or for another server, is not good, whatever else it says.
//! * What cannot be found out is not good either: a token that nobody can be asked about, an issuer that is silent.
//! * Everything that requests can make grow is bounded: keys, proofs, what is remembered of tokens, and how often an
//!   issuer is asked.

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
mod published;
mod refusal;
mod tokens;
mod verifier;

pub use algorithm::Algorithm;
pub use claims::Claims;
pub use issuer::Issuer;
pub use tokens::Tokens;
pub use verifier::Verifier;
