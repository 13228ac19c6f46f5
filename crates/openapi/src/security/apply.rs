//! Choosing the credentials of a request, and writing them.

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_auth::{Secret, fetch::Fetcher};
use couplet_core::{Call, Error, ErrorKind};
use http::{HeaderName, HeaderValue, header::AUTHORIZATION};

use super::{Credentials, Entry, Kind, Source};
use crate::operation::{Operation, Place, Requirement};

/// The credentials of one request.
#[derive(Default)]
pub(crate) struct Applied {
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Pairs of a name and a value, not encoded yet.
    pub(crate) query: Vec<(String, Secret)>,
    pub(crate) cookies: Vec<(String, Secret)>,
    /// The values that must not be seen by the model.
    pub(crate) secrets: Vec<Secret>,
    /// The schemes that the operation needs and that have no value.
    pub(crate) missing: Vec<String>,
    /// The scheme and the scopes of a token that can be renewed.
    pub(crate) renewable: Option<(String, String)>,
}

impl Credentials {
    /// Returns the credentials for a request of an operation: of the first alternative that has all its values.
    pub(crate) async fn apply(&self, operation: &Operation, call: &Call, fetcher: &Fetcher) -> Result<Applied, Error> {
        let named = |entries: &mut dyn Iterator<Item = (&String, &Entry)>| -> Requirement {
            entries.map(|(name, _)| (name.clone(), Vec::new())).collect()
        };
        let Some(alternatives) = &operation.security else {
            // The document says nothing: everything that is configured.
            let all = named(&mut self.0.iter());
            return Ok(self.alternative(&all, call, fetcher).await?.unwrap_or_default());
        };
        // Those that the document does not know are for all operations that it does not declare to be open.
        let others = named(&mut self.0.iter().filter(|(_, entry)| !entry.is_described));
        let others = Some(others).filter(|others| !others.is_empty() && !alternatives.is_empty());
        for alternative in alternatives.iter().filter(|alternative| !alternative.is_empty()).chain(&others) {
            if let Some(applied) = self.alternative(alternative, call, fetcher).await? {
                return Ok(applied);
            }
        }
        let missing = alternatives.first().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let is_optional = alternatives.iter().any(Vec::is_empty);
        Ok(Applied { missing: if is_optional { Vec::new() } else { missing }, ..Applied::default() })
    }

    async fn alternative(
        &self,
        schemes: &[(String, Vec<String>)],
        call: &Call,
        fetcher: &Fetcher,
    ) -> Result<Option<Applied>, Error> {
        let mut applied = Applied::default();
        for (name, scopes) in schemes {
            let Some(entry) = self.0.get(name) else { return Ok(None) };
            let value = match &entry.source {
                Source::Fixed(secret) => Some(secret.clone()),
                Source::Caller(callers) => callers.credential(name, call).await?,
            };
            let Some(value) = value else { return Ok(None) };
            entry.write(name, scopes, value, fetcher, &mut applied).await?;
        }
        Ok(Some(applied))
    }

    /// Forgets a token that the API has rejected.
    pub(crate) async fn expire(&self, scheme: &str, scopes: &str) {
        if let Some(entry) = self.0.get(scheme) {
            entry.tokens.expire(scopes).await;
        }
    }
}

impl Entry {
    async fn write(
        &self,
        name: &str,
        scopes: &[String],
        value: Secret,
        fetcher: &Fetcher,
        applied: &mut Applied,
    ) -> Result<(), Error> {
        applied.secrets.push(value.clone());
        if let (Kind::Basic | Kind::OAuth { .. }, Some((_, password))) = (&self.kind, value.reveal().split_once(':')) {
            applied.secrets.push(Secret::new(password));
        }
        match &self.kind {
            Kind::Key { place: Place::Query, name } => applied.query.push((name.clone(), value)),
            Kind::Key { place: Place::Cookie, name } => applied.cookies.push((name.clone(), value)),
            Kind::Key { name: header, .. } => {
                let header = HeaderName::from_bytes(header.as_bytes()).map_err(|_| invalid(name))?;
                applied.headers.push((header, sensitive(name, value.reveal())?));
            }
            Kind::Basic => {
                let login = Secret::new(STANDARD.encode(value.reveal()));
                applied.headers.push((AUTHORIZATION, sensitive(name, &format!("Basic {}", login.reveal()))?));
                applied.secrets.push(login);
            }
            Kind::OAuth { token_url: Some(url) } if value.reveal().contains(':') => {
                let scopes = scopes.join(" ");
                // The tokens of one caller are not those of another.
                let is_shared = matches!(self.source, Source::Fixed(_));
                let token = match is_shared {
                    true => self.tokens.get(url, &value, &scopes, fetcher).await?,
                    false => super::token::request(url, &value, &scopes, fetcher).await?.0,
                };
                applied.headers.push((AUTHORIZATION, sensitive(name, &format!("Bearer {}", token.reveal()))?));
                applied.secrets.push(token);
                applied.renewable = is_shared.then(|| (name.to_owned(), scopes));
            }
            Kind::Bearer | Kind::OAuth { .. } => {
                applied.headers.push((AUTHORIZATION, sensitive(name, &format!("Bearer {}", value.reveal()))?));
            }
        }
        Ok(())
    }
}

fn sensitive(scheme: &str, value: &str) -> Result<HeaderValue, Error> {
    let mut header = HeaderValue::from_str(value).map_err(|_| invalid(scheme))?;
    header.set_sensitive(true);
    Ok(header)
}

fn invalid(scheme: &str) -> Error {
    Error::new(ErrorKind::Config, format!("the credential of `{scheme}` cannot be sent in a header"))
}
