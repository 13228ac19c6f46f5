//! Reasons for rejected requests.

/// The reason why a request is rejected. It never quotes the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is no credential.
    Missing,
    /// The credential is malformed.
    Malformed(&'static str),
    /// The token is invalid.
    Invalid(&'static str),
    /// The DPoP proof is invalid.
    Proof(&'static str),
    /// The DPoP proof needs a nonce.
    Nonce,
    /// The token lacks scopes.
    Scopes(Vec<String>),
    /// Verification is unavailable.
    Unavailable(&'static str),
}
