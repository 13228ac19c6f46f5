//! Why somebody is not let in.

/// Why a request is not let in. None of them quotes what was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It says nothing of who sends it.
    Missing,
    /// What it says cannot be understood.
    Malformed(&'static str),
    /// The token is not good.
    Invalid(&'static str),
    /// The proof that goes with the token is not good.
    Proof(&'static str),
    /// The proof needs a number that the server gives.
    Nonce,
    /// The token is good, but not for this.
    Scopes(Vec<String>),
    /// It cannot be found out at the moment.
    Unavailable(&'static str),
}
