//! What a bad authorization server does.

/// Something that an authorization server should not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Misbehaviour {
    /// The metadata names another issuer.
    MetadataOfAnother,
    /// The metadata says nothing of PKCE.
    NoPkce,
    /// The metadata sends browsers to a script.
    ScriptPage,
    /// The metadata sends browsers to a command line.
    ShellPage,
    /// The metadata is larger than anybody wants to read.
    EndlessMetadata,
    /// The metadata is somewhere else: in a private network.
    PrivateMetadata,
    /// The redirect names another issuer.
    RedirectOfAnother,
    /// The redirect names no issuer, though the metadata says that it will.
    RedirectOfNobody,
    /// The redirect carries another state.
    AnotherState,
    /// The redirect is an error of another issuer.
    ErrorOfAnother,
    /// Registration is refused.
    NoRegistration,
    /// Tokens cannot be renewed: none comes with a way to.
    NoRefresh,
    /// Tokens cannot be renewed: whoever tries is refused.
    RefreshRefused,
    /// Tokens are for another server.
    AnotherAudience,
    /// Tokens are of another issuer.
    AnotherIssuer,
    /// Tokens have expired when they are made.
    Expired,
    /// Tokens are not signed, and say so.
    Unsigned,
    /// Tokens are signed with the public key as if it were a shared secret.
    SharedSecret,
    /// The token endpoint answers with what is not JSON.
    BrokenToken,
    /// The token endpoint redirects somewhere else.
    RedirectedToken,
    /// The keys cannot be read.
    NoKeys,
    /// There are thousands of keys.
    EndlessKeys,
    /// It is not said whom and what for a token is that is asked about.
    SilentIntrospection,
    /// Whoever asks about a token is not answered.
    NoIntrospection,
}
