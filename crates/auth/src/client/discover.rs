//! Finding the authorization server of a server.

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

/// What was found out about a server.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// What tokens are for, as the server writes it.
    pub(crate) resource: String,
    pub(crate) server: ServerMetadata,
    /// All scopes that the server names, if it names any.
    pub(crate) scopes: Option<Vec<String>>,
    /// Whether tokens have to be bound to a key.
    pub(crate) bound: bool,
}

/// A server, and how to ask about it.
#[derive(Debug)]
pub(crate) struct Inquiry<'a> {
    pub(crate) fetcher: &'a Fetcher,
    /// The address as the program gave it.
    pub(crate) url: &'a str,
    pub(crate) server: &'a Uri,
    /// What goes along: the revision that is spoken, if the request said so.
    pub(crate) headers: &'a HeaderMap,
    /// The authorization server that is wanted, if there is a choice.
    pub(crate) wanted: Option<&'a str>,
}

impl Inquiry<'_> {
    pub(crate) async fn discover(&self, challenge: &Challenge) -> Result<Found, Error> {
        let Some(about) = self.resource(challenge).await? else { return self.without_metadata().await };
        if !covers(&about.resource, self.server) {
            let what = format!("the server says that it is `{}`, which it is not", shown(&about.resource));
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

    /// The metadata of the resource: where the challenge says, or else where it has to be.
    async fn resource(&self, challenge: &Challenge) -> Result<Option<ResourceMetadata>, Error> {
        if let Some(place) = &challenge.resource_metadata {
            let answer = self.fetcher.get_with(place, self.headers).await?;
            if answer.status == StatusCode::OK {
                return answer.json().map(Some);
            }
        }
        for place in resource_places(self.server) {
            // Behind some addresses everything is a page for people.
            if let Ok(about) = self.fetcher.get_with(&place, self.headers).await?.json() {
                return Ok(Some(about));
            }
        }
        Ok(None)
    }

    /// The metadata of an authorization server, which has to have the name under which it was asked, to the letter.
    pub(crate) async fn authorization_server(&self, issuer: &str) -> Result<ServerMetadata, Error> {
        let wrong = || failed(format!("`{}` does not name an authorization server", shown(issuer)));
        let uri = parse(issuer).filter(|_| !issuer.contains(['?', '#'])).ok_or_else(wrong)?;
        for place in server_places(&uri) {
            let answer = self.fetcher.get_with(&place, self.headers).await?;
            let Ok(server) = answer.json::<ServerMetadata>() else { continue };
            if server.issuer != issuer {
                let what = format!("`{}` says that it is `{}`", shown(issuer), shown(&server.issuer));
                return Err(failed(what));
            }
            return Ok(server);
        }
        Err(failed(format!("`{}` has no metadata of an authorization server", shown(issuer))))
    }
}
