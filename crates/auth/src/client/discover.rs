//! Discovery of a server's authorization server.

use couplet_core::Error;
use http::{HeaderMap, StatusCode, Uri};

use super::{
    challenge::Challenge,
    metadata::{ResourceMetadata, ServerMetadata, covers, resource_places},
    words::shown,
};
use crate::{
    fetch::{Fetcher, failed, parse},
    places::server_places,
};

/// The result of discovery.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The resource identifier, as the server writes it.
    pub(crate) resource: String,
    pub(crate) server: ServerMetadata,
    /// The scopes that the server supports, if it lists them.
    pub(crate) scopes: Option<Vec<String>>,
    /// Whether tokens must be DPoP-bound.
    pub(crate) bound: bool,
}

/// A discovery request.
#[derive(Debug)]
pub(crate) struct Inquiry<'a> {
    pub(crate) fetcher: &'a Fetcher,
    /// The server's URL, as configured.
    pub(crate) url: &'a str,
    pub(crate) server: &'a Uri,
    /// Headers to send along: the protocol version, if the request had it.
    pub(crate) headers: &'a HeaderMap,
    /// The preferred authorization server, if there are several.
    pub(crate) wanted: Option<&'a str>,
}

impl Inquiry<'_> {
    pub(crate) async fn discover(&self, challenge: &Challenge) -> Result<Found, Error> {
        let Some(about) = self.resource(challenge).await? else { return self.without_metadata().await };
        if !covers(&about.resource, self.server) {
            let what = format!("the server's metadata is for another resource, `{}`", shown(&about.resource));
            return Err(failed(what));
        }
        let listed = &about.authorization_servers;
        let issuer = listed.iter().find(|s| Some(s.as_str()) == self.wanted).or(listed.first());
        let server = match issuer {
            Some(issuer) => self.authorization_server(issuer).await?,
            None => self.at_the_server().await?,
        };
        let bound = about.dpop_bound_access_tokens_required;
        Ok(Found { resource: about.resource, server, scopes: about.scopes_supported, bound })
    }

    /// The protected resource metadata: from the URL in the challenge, or else from the well-known URLs.
    async fn resource(&self, challenge: &Challenge) -> Result<Option<ResourceMetadata>, Error> {
        if let Some(place) = &challenge.resource_metadata {
            let answer = self.fetcher.get_with(place, self.headers).await?;
            if answer.status == StatusCode::OK {
                return answer.json().map(Some);
            }
        }
        for place in resource_places(self.server) {
            // Some servers answer every URL with an HTML page.
            if let Ok(about) = self.fetcher.get_with(&place, self.headers).await?.json() {
                return Ok(Some(about));
            }
        }
        Ok(None)
    }

    /// The metadata of an authorization server. Its `issuer` must be identical to the name that was requested.
    pub(crate) async fn authorization_server(&self, issuer: &str) -> Result<ServerMetadata, Error> {
        let wrong = || failed(format!("`{}` is not a valid issuer URL", shown(issuer)));
        let uri = parse(issuer).filter(|_| !issuer.contains(['?', '#'])).ok_or_else(wrong)?;
        for place in server_places(&uri) {
            let answer = self.fetcher.get_with(&place, self.headers).await?;
            let Ok(server) = answer.json::<ServerMetadata>() else { continue };
            if server.issuer != issuer {
                let what =
                    format!("the metadata of `{}` names another issuer, `{}`", shown(issuer), shown(&server.issuer));
                return Err(failed(what));
            }
            return Ok(server);
        }
        Err(failed(format!("`{}` publishes no authorization server metadata", shown(issuer))))
    }
}
