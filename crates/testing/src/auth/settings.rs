//! Settings of an authorization server for tests.

/// The location of the metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Discovery {
    /// All locations that clients try.
    #[default]
    Anywhere,
    /// That of OAuth only.
    OAuth,
    /// That of OpenID, inserted before the path of the issuer.
    OpenId,
    /// That of OpenID, appended to the path of the issuer.
    OpenIdAfterPath,
    /// None: clients of 2025-03-26 use default endpoints.
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
    /// Sets the port (default: any that is free).
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Sets the path of the issuer, such as `/tenant`.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets the location of the metadata.
    pub fn discovery(mut self, discovery: Discovery) -> Self {
        self.discovery = discovery;
        self
    }

    /// Sets the declared scopes.
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Disables dynamic registration.
    pub fn no_registration(mut self) -> Self {
        self.registration = false;
        self
    }

    /// Disables client metadata documents.
    pub fn no_documents(mut self) -> Self {
        self.documents = false;
        self
    }

    /// Issues opaque tokens, which have to be introspected.
    pub fn opaque(mut self) -> Self {
        self.opaque = true;
        self
    }

    /// Requires nonces in DPoP proofs.
    pub fn dpop_nonces(mut self) -> Self {
        self.dpop_nonces = true;
        self
    }
}
