//! Misbehaviour of authorization servers.

/// A misbehaviour of an authorization server, for tests of clients and servers against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Misbehaviour {
    /// The metadata names another issuer.
    MetadataOfAnother,
    /// The metadata does not declare PKCE.
    NoPkce,
    /// The authorization endpoint is a `javascript:` URL.
    ScriptPage,
    /// The authorization endpoint is a shell command.
    ShellPage,
    /// The metadata is too large.
    EndlessMetadata,
    /// The metadata redirects to a private network.
    PrivateMetadata,
    /// The redirect names another issuer.
    RedirectOfAnother,
    /// The redirect has no issuer, although the metadata declares one.
    RedirectWithoutIssuer,
    /// The redirect has another state.
    AnotherState,
    /// The redirect is an error from another issuer.
    ErrorOfAnother,
    /// Registration is refused.
    NoRegistration,
    /// No refresh tokens are issued.
    NoRefresh,
    /// Refresh tokens are refused.
    RefreshRefused,
    /// Tokens have another audience.
    AnotherAudience,
    /// Tokens have another issuer.
    AnotherIssuer,
    /// Tokens are expired when they are issued.
    Expired,
    /// Tokens are unsigned (`alg` is `none`).
    Unsigned,
    /// Tokens are signed with the public key as a shared secret (HS256).
    SharedSecret,
    /// The token endpoint does not respond with JSON.
    BrokenToken,
    /// The token endpoint redirects.
    RedirectedToken,
    /// The keys are not available.
    NoKeys,
    /// There are thousands of keys.
    EndlessKeys,
    /// Introspection does not return the subject and the audience.
    SilentIntrospection,
    /// Introspection is not available.
    NoIntrospection,
}
