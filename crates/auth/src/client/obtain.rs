//! Obtaining tokens, with each grant.

use std::sync::Arc;

use couplet_core::Error;
use tokio::time::timeout;

use super::{
    browser,
    config::{Config, Enterprise, Grant, Page, Source, Way},
    discover::Found,
    dpop::Nonces,
    identity::Identity,
    listen::Door,
    login::{BoundKey, Login, Registration, first_issuer},
    metadata::ServerMetadata,
    page::{Visit, Wish},
    register::register,
    token::{Endpoint, Issued, Refused},
};
use crate::{
    Secret,
    fetch::{Fetcher, Reach, failed},
};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// A token request.
#[derive(Debug)]
pub(crate) struct Obtain<'a> {
    pub(crate) config: &'a Config,
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) reach: Reach,
    /// The server's URL, as configured.
    pub(crate) url: &'a str,
    pub(crate) found: &'a Found,
    pub(crate) nonces: &'a Nonces,
    pub(crate) key: Option<BoundKey>,
    pub(crate) scopes: Vec<String>,
}

impl Obtain<'_> {
    /// Obtains a token with the configured grant.
    pub(crate) async fn grant(self) -> Result<Login, Error> {
        let issued = match &self.config.grant {
            Grant::Page(page) => self.by_page(page).await,
            Grant::Device(show) => self.by_device(show).await,
            Grant::Client => self.by_itself().await,
            Grant::Enterprise(enterprise) => self.by_enterprise(enterprise).await,
            Grant::Workload(source) => self.by_platform(source).await,
        };
        let issued = match issued {
            Ok(issued) => issued,
            Err(Refused { code, error }) => {
                if matches!(code.as_deref(), Some("invalid_client" | "unauthorized_client")) {
                    // The registration is no longer valid; the next login registers anew.
                    Registration::forget(&*self.config.store, self.issuer()).await?;
                }
                return Err(error);
            }
        };
        Ok(self.login(issued))
    }

    /// Obtains a token with a refresh token.
    pub(crate) async fn refresh(self, old: &Login, token: &Secret) -> Result<Login, Refused> {
        let identity = self.known().await?.ok_or_else(|| failed("the client is no longer registered"))?;
        let fields = [("grant_type", "refresh_token"), ("refresh_token", token.reveal()), self.resource()];
        let mut issued = self.endpoint(&identity).ask(&fields).await?;
        issued.refresh.get_or_insert_with(|| token.clone());
        let mut login = self.login(issued);
        login.asked.clone_from(&old.asked);
        Ok(login)
    }

    /// The client's identity, if it is preregistered or registered.
    pub(crate) async fn known(&self) -> Result<Option<Identity>, Error> {
        if let Some(agreed) = self.agreed().await? {
            return Ok(Some(agreed));
        }
        let registration = Registration::load(&*self.config.store, self.issuer()).await?;
        Ok(registration.map(Registration::identity))
    }

    async fn by_page(&self, page: &Page) -> Result<Issued, Refused> {
        let server = &self.found.server;
        let visit = Arc::new(Visit::new(server, &self.config.trusted_pkce)?);
        let (identity, redirect, door) = self.introduce(page).await?;
        let resource = &self.found.resource;
        let wish = Wish { client: &identity.id, redirect: &redirect, resource, scopes: &self.scopes };
        let address = visit.page(server, &wish)?;
        let address = browser::checked(&address, self.reach)?.to_owned();
        let query = async {
            match (&page.way, door) {
                (Way::Visited(visitor), _) => returned(&redirect, &visitor(address).await?),
                (_, None) => Err(failed("the login has no redirect URI")),
                (Way::Pasted(visitor), Some(door)) => tokio::select! {
                    answer = door.answer(visit.clone()) => answer,
                    pasted = visitor(address) => returned(&redirect, pasted?.trim()),
                },
                (Way::Browser, Some(door)) => {
                    browser::open(&address);
                    door.answer(visit.clone()).await
                }
                (Way::Opened(opener), Some(door)) => {
                    let (answer, ()) = tokio::try_join!(door.answer(visit.clone()), opener(address))?;
                    Ok(answer)
                }
            }
        };
        let late = |_| failed(format!("the login did not complete within {:?}", page.timeout));
        let query = timeout(page.timeout, query).await.map_err(late)??;
        let code = visit.code(&query)?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("redirect_uri", &redirect),
            ("code_verifier", visit.verifier.reveal()),
            self.resource(),
        ];
        self.endpoint(&identity).ask(&fields).await
    }

    /// The client's identity and its redirect URI, which the authorization server must both know.
    async fn introduce(&self, page: &Page) -> Result<(Identity, String, Option<Door>), Error> {
        let store = &*self.config.store;
        let agreed = self.agreed().await?;
        let known = match agreed {
            Some(_) => None,
            None => Registration::load(store, self.issuer()).await?,
        };
        let door = match (&page.way, &page.redirect, &known) {
            (Way::Visited(_), ..) => None,
            (_, Some(redirect), _) => Some(Door::at(redirect).await?),
            (_, None, Some(known)) => match Door::at(&known.redirect).await {
                Ok(door) => Some(door),
                Err(_) => Some(Door::anywhere().await?),
            },
            (_, None, None) => Some(Door::anywhere().await?),
        };
        let redirect = door.as_ref().map(|door| door.redirect.clone()).or_else(|| page.redirect.clone());
        let redirect = redirect.ok_or_else(|| failed("the login has no redirect URI"))?;
        let identity = match (agreed, known.filter(|known| known.redirect == redirect)) {
            (Some(identity), _) => identity,
            (None, Some(known)) => known.identity(),
            (None, None) => self.register(&redirect).await?,
        };
        Ok((identity, redirect, door))
    }

    pub(crate) async fn register(&self, redirect: &str) -> Result<Identity, Error> {
        let registration = register(self.fetcher, &self.found.server, &self.config.name, redirect).await?;
        registration.save(&*self.config.store, self.issuer()).await?;
        Ok(registration.identity())
    }

    /// The client's identity without registration: preregistered, or by a metadata document.
    async fn agreed(&self) -> Result<Option<Identity>, Error> {
        let issuer = self.issuer();
        if let Some((id, credential)) = &self.config.fixed {
            let expected = match &self.config.issuer {
                Some(issuer) => issuer.clone(),
                None => first_issuer(&*self.config.store, id, self.url, issuer).await?,
            };
            if expected != issuer {
                let what =
                    format!("the client `{id}` is registered with `{expected}`, but the server now uses `{issuer}`");
                return Err(failed(format!("{what}; configure credentials for that issuer")));
            }
            return Ok(Some(Identity { id: id.clone(), credential: credential.clone(), method: None }));
        }
        let document =
            self.config.document.as_ref().filter(|_| self.found.server.client_id_metadata_document_supported);
        let method = Some("none".to_owned());
        Ok(document.map(|(id, credential)| Identity { id: id.clone(), credential: credential.clone(), method }))
    }

    async fn by_itself(&self) -> Result<Issued, Refused> {
        let identity = self.fixed().await?;
        let scope = self.scopes.join(" ");
        let mut fields = vec![("grant_type", "client_credentials"), self.resource()];
        fields.extend((!scope.is_empty()).then_some(("scope", &*scope)));
        self.endpoint(&identity).ask(&fields).await
    }

    async fn by_platform(&self, source: &Source) -> Result<Issued, Refused> {
        let assertion = source.get(self.issuer()).await?;
        self.by_assertion(&assertion).await
    }

    /// Exchanges the user's identity at the identity provider for an assertion that the authorization server trusts.
    async fn by_enterprise(&self, enterprise: &Enterprise) -> Result<Issued, Refused> {
        let subject = enterprise.subject.get(&enterprise.endpoint).await?;
        let scope = self.scopes.join(" ");
        let mut fields = vec![
            ("grant_type", TOKEN_EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("audience", self.issuer()),
            self.resource(),
            ("subject_token", subject.reveal()),
            ("subject_token_type", enterprise.subject_type),
        ];
        fields.extend((!scope.is_empty()).then_some(("scope", &*scope)));
        let fetcher = self.config.fetcher(self.reach.max(Reach::Private))?;
        let mut provider = ServerMetadata::bare(&enterprise.endpoint);
        provider.token_endpoint = Some(enterprise.endpoint.clone());
        let identity = Identity { id: enterprise.id.clone(), credential: enterprise.credential.clone(), method: None };
        let endpoint =
            Endpoint { fetcher: &fetcher, server: &provider, identity: &identity, key: None, nonces: self.nonces };
        let assertion = endpoint.exchange(&fields, ID_JAG).await?;
        self.by_assertion(&assertion).await
    }

    async fn by_assertion(&self, assertion: &Secret) -> Result<Issued, Refused> {
        let identity = self.fixed().await?;
        let scope = self.scopes.join(" ");
        let mut fields = vec![("grant_type", JWT_BEARER), ("assertion", assertion.reveal()), self.resource()];
        fields.extend((!scope.is_empty()).then_some(("scope", &*scope)));
        self.endpoint(&identity).ask(&fields).await
    }

    async fn fixed(&self) -> Result<Identity, Error> {
        self.agreed().await?.ok_or_else(|| failed("the client has no client id"))
    }

    fn issuer(&self) -> &str {
        &self.found.server.issuer
    }

    pub(crate) fn resource(&self) -> (&'static str, &str) {
        ("resource", &self.found.resource)
    }

    pub(crate) fn endpoint<'a>(&'a self, identity: &'a Identity) -> Endpoint<'a> {
        let key = self.key.as_ref().map(|bound| &bound.key);
        Endpoint { fetcher: self.fetcher, server: &self.found.server, identity, key, nonces: self.nonces }
    }

    fn login(self, issued: Issued) -> Login {
        Login::new(&self.found.server.issuer, issued, self.scopes, self.key)
    }
}

/// The query of the redirect URL.
fn returned(redirect: &str, address: &str) -> Result<String, Error> {
    let (place, query) = address.split_once('?').unwrap_or((address, ""));
    if place != redirect {
        return Err(failed("the redirect does not match the redirect URI of the login"));
    }
    Ok(query.split('#').next().unwrap_or_default().to_owned())
}
