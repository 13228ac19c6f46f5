//! Discovery before protected resource metadata: the server is its own authorization server.

use couplet_core::Error;

use super::{
    discover::{Found, Inquiry},
    metadata::ServerMetadata,
    words::shown,
};
use crate::{fetch::failed, places::origin};

impl Inquiry<'_> {
    pub(crate) async fn without_metadata(&self) -> Result<Found, Error> {
        let server = self.at_the_server().await?;
        let resource = self.url.split('#').next().unwrap_or_default().to_owned();
        Ok(Found { resource, server, scopes: None, bound: false })
    }

    /// The server as its own authorization server: its metadata, or else the default endpoints.
    pub(crate) async fn at_the_server(&self) -> Result<ServerMetadata, Error> {
        let origin = origin(self.server);
        let place = format!("{origin}/.well-known/oauth-authorization-server");
        match self.fetcher.get_with(&place, self.headers).await?.json::<ServerMetadata>() {
            Ok(server) if server.issuer == origin => Ok(server),
            Ok(server) => {
                Err(failed(format!("the metadata of `{origin}` names another issuer, `{}`", shown(&server.issuer))))
            }
            Err(_) => Ok(assumed(&origin)),
        }
    }
}

fn assumed(origin: &str) -> ServerMetadata {
    ServerMetadata {
        authorization_endpoint: Some(format!("{origin}/authorize")),
        token_endpoint: Some(format!("{origin}/token")),
        registration_endpoint: Some(format!("{origin}/register")),
        // There is no metadata that could declare it, and these revisions require it.
        code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
        ..ServerMetadata::bare(origin)
    }
}
