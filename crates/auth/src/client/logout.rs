//! Logging out (RFC 7009).

use std::sync::Arc;

use couplet_core::{Error, ErrorKind};
use http::HeaderMap;

use super::{
    config::Config,
    discover::{Found, Inquiry},
    dpop::Nonces,
    login::Login,
    obtain::Obtain,
};
use crate::fetch::{Reach, failed, parse};

/// The outcome of [`OAuth::log_out`](super::OAuth::log_out). The stored login is deleted in any case.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LogOut {
    /// There was no login.
    NotLoggedIn,
    /// The authorization server has revoked the tokens.
    Revoked,
    /// The authorization server does not support revocation; the tokens stay valid until they expire.
    NotOffered,
    /// Revocation failed; the tokens stay valid until they expire.
    Failed(Error),
}

pub(crate) async fn log_out(config: &Arc<Config>, server: &str) -> Result<LogOut, Error> {
    let Some(login) = Login::load(&*config.store, server).await? else {
        Login::forget(&*config.store, server).await?;
        return Ok(LogOut::NotLoggedIn);
    };
    let outcome = revoke(config, server, &login).await;
    Login::forget(&*config.store, server).await?;
    Ok(match outcome {
        Ok(true) => LogOut::Revoked,
        Ok(false) => LogOut::NotOffered,
        Err(error) => LogOut::Failed(error),
    })
}

/// Revokes the tokens; `false` if that is not supported.
async fn revoke(config: &Config, url: &str, login: &Login) -> Result<bool, Error> {
    let wrong = || Error::new(ErrorKind::Config, "the server's URL must be `http` or `https`");
    let uri = parse(url).ok_or_else(wrong)?;
    let reach = config.reach.unwrap_or_else(|| Reach::of(&uri));
    let client = config.settings.clone().build()?;
    let fetcher = config.fetcher(reach)?.trust_origin(&uri, Arc::new(client));
    let headers = HeaderMap::new();
    let inquiry = Inquiry { fetcher: &fetcher, url, server: &uri, headers: &headers, wanted: None };
    let server = inquiry.authorization_server(&login.issuer).await?;
    let Some(endpoint) = server.revocation_endpoint.clone() else { return Ok(false) };
    let found = Found { resource: url.to_owned(), server, scopes: None, bound: false };
    let nonces = Nonces::default();
    let obtain =
        Obtain { config, fetcher: &fetcher, reach, url, found: &found, nonces: &nonces, key: None, scopes: Vec::new() };
    let identity = obtain.known().await?.ok_or_else(|| failed("the client is no longer registered; log in again"))?;
    // The refresh token first: without it, no further token can be issued.
    let refresh = login.refresh.as_ref().map(|token| ("refresh_token", token));
    for (hint, token) in refresh.into_iter().chain([("access_token", &login.access)]) {
        let fields = [("token", token.reveal()), ("token_type_hint", hint)];
        let answer = obtain.endpoint(&identity).post(&endpoint, &fields).await;
        match answer {
            Ok(_) => {}
            // Some servers revoke refresh tokens only (section 2.2.1).
            Err(refused) if hint == "access_token" && refused.code.as_deref() == Some("unsupported_token_type") => {}
            Err(refused) => return Err(refused.error),
        }
    }
    Ok(true)
}
