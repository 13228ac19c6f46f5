//! How an authorization server for tests differs from the usual one.

/// Where the metadata of an authorization server is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Discovery {
    /// Wherever clients look.
    #[default]
    Anywhere,
    /// Where OAuth has it, and nowhere else.
    OAuth,
    /// Where OpenID has it, before the path of the issuer.
    OpenId,
    /// Where OpenID has it, after the path of the issuer.
    OpenIdAfterPath,
    /// Nowhere: clients of 2025-03-26 know the endpoints anyway.
    Nowhere,
}

/// Settings of an authorization server for tests.
///
/// ```
/// use couplet_testing::auth::{AuthSettings, Discovery};
///
/// let settings = AuthSettings::default().path("/tenant").discovery(Discovery::OpenId).dpop_nonces();
/// ```
#[derive(Clone, Debug)]
#[must_use = "an authorization server is started with it"]
pub struct AuthSettings {
    pub(super) port: u16,
    pub(super) path: String,
    pub(super) discovery: Discovery,
    pub(super) scopes: Vec<String>,
    pub(super) registration: bool,
    pub(super) documents: bool,
    pub(super) opaque: bool,
    pub(super) dpop_nonces: bool,
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self {
            port: 0,
            path: String::new(),
            discovery: Discovery::default(),
            scopes: Vec::new(),
            registration: true,
            documents: true,
            opaque: false,
            dpop_nonces: false,
        }
    }
}

impl AuthSettings {
    /// Listens at this port instead of any that is free.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// The issuer has a path, such as `/tenant`.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Where the metadata is.
    pub fn discovery(mut self, discovery: Discovery) -> Self {
        self.discovery = discovery;
        self
    }

    /// The scopes that it says it has.
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Clients cannot register themselves.
    pub fn no_registration(mut self) -> Self {
        self.registration = false;
        self
    }

    /// Clients cannot be named by a document of theirs.
    pub fn no_documents(mut self) -> Self {
        self.documents = false;
        self
    }

    /// Its tokens say nothing by themselves: whoever gets one has to ask.
    pub fn opaque(mut self) -> Self {
        self.opaque = true;
        self
    }

    /// Proofs of a key have to repeat a number that it has given.
    pub fn dpop_nonces(mut self) -> Self {
        self.dpop_nonces = true;
        self
    }
}
