//! Ending a login (RFC 7009).

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

/// What became of a login that was ended. It is forgotten here in any case.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LogOut {
    /// There was none.
    NotLoggedIn,
    /// The authorization server has revoked its tokens.
    Revoked,
    /// The authorization server revokes no tokens; they are good until they expire.
    NotOffered,
    /// The tokens could not be revoked; they are good until they expire.
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

/// Whether the tokens were revoked; false if that is not offered.
async fn revoke(config: &Config, url: &str, login: &Login) -> Result<bool, Error> {
    let wrong = || Error::new(ErrorKind::Config, "the address of the server is not one of http");
    let uri = parse(url).ok_or_else(wrong)?;
    let reach = config.reach.unwrap_or_else(|| Reach::of(&uri));
    let client = config.settings.clone().build()?;
    let fetcher = config.fetcher(reach)?.home(&uri, Arc::new(client));
    let headers = HeaderMap::new();
    let inquiry = Inquiry { fetcher: &fetcher, url, server: &uri, headers: &headers, wanted: None };
    let server = inquiry.authorization_server(&login.issuer).await?;
    let Some(endpoint) = server.revocation_endpoint.clone() else { return Ok(false) };
    let found = Found { resource: url.to_owned(), server, scopes: None, bound: false };
    let nonces = Nonces::default();
    let obtain =
        Obtain { config, fetcher: &fetcher, reach, url, found: &found, nonces: &nonces, key: None, scopes: Vec::new() };
    let identity = obtain.known().await?.ok_or_else(|| failed("the client is not registered any more"))?;
    // The refresh token first: with it gone, the other one is the last.
    let refresh = login.refresh.as_ref().map(|token| ("refresh_token", token));
    for (hint, token) in refresh.into_iter().chain([("access_token", &login.access)]) {
        let fields = [("token", token.reveal()), ("token_type_hint", hint)];
        let answer = obtain.endpoint(&identity).post(&endpoint, &fields).await;
        match answer {
            Ok(_) => {}
            // Some take back refresh tokens alone (section 2.2.1).
            Err(refused) if hint == "access_token" && refused.code.as_deref() == Some("unsupported_token_type") => {}
            Err(refused) => return Err(refused.error),
        }
    }
    Ok(true)
}
