//! The state of a login to one server. Concurrent requests share the acquisition of a token.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering},
};

use couplet_core::{Error, sync::lock};
use couplet_http::client::HttpClient;
use http::{HeaderMap, Uri};
use tokio::sync::{OnceCell, watch};

use super::{
    challenge::{Challenge, add, scopes},
    config::{Config, Grant},
    discover::{Found, Inquiry},
    dpop::Nonces,
    login::{BoundKey, Login},
    obtain::Obtain,
};
use crate::fetch::{Fetcher, Reach, failed, host};

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) config: Arc<Config>,
    pub(crate) url: String,
    pub(crate) uri: Uri,
    pub(crate) reach: Reach,
    /// Whether the connection to the server is unencrypted, so that no token may be sent. Requests without a token may
    /// be.
    is_exposed: bool,
    pub(crate) fetcher: Fetcher,
    pub(crate) nonces: Nonces,
    loaded: OnceCell<()>,
    state: Mutex<State>,
    /// Whether a login waits for the user.
    held_up: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// The number of logins so far.
    number: u64,
    login: Option<Arc<Login>>,
    found: Option<Arc<Found>>,
    /// The token acquisition in progress, and its outcome.
    busy: Option<watch::Receiver<Option<Result<How, Error>>>>,
}

/// The reason for another token.
#[derive(Debug)]
pub(crate) enum Cause {
    /// The last token has expired.
    Over,
    /// The server rejected the request.
    Refused { challenge: Challenge, headers: HeaderMap, may_refresh: bool },
}

/// The origin of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Granted,
    Refreshed,
    /// Another request or process obtained it.
    Adopted,
}

impl Session {
    pub(crate) fn new(config: Arc<Config>, url: &str, uri: Uri, client: Arc<dyn HttpClient>) -> Result<Self, Error> {
        let reach = config.reach.unwrap_or_else(|| Reach::of(&uri));
        let fetcher = config.fetcher(reach)?;
        Ok(Self {
            config,
            // Without TLS the token could be intercepted.
            is_exposed: reach.max(Reach::Private).check(&uri).is_err(),
            url: url.to_owned(),
            fetcher: fetcher.trust_origin(&uri, client),
            uri,
            reach,
            nonces: Nonces::default(),
            loaded: OnceCell::new(),
            state: Mutex::default(),
            held_up: AtomicBool::new(false),
        })
    }

    /// The login and its number. An expired token is replaced first, if that needs no user.
    pub(crate) async fn current(self: &Arc<Self>) -> Result<(u64, Option<Arc<Login>>), Error> {
        if self.is_exposed {
            return Ok((0, None));
        }
        self.loaded.get_or_try_init(|| self.load()).await?;
        let (number, login) = self.login();
        if login.as_ref().is_some_and(|l| l.is_over() && (l.refresh.is_some() || !self.asks_people())) {
            if let Err(error) = self.renew(number, Cause::Over).await {
                tracing::debug!(%error, "an expired token was not replaced");
            }
            return Ok(self.login());
        }
        Ok((number, login))
    }

    /// Obtains another token, unless there is a newer one than `seen`. The acquisition continues if this future is
    /// dropped.
    pub(crate) async fn renew(self: &Arc<Self>, seen: u64, cause: Cause) -> Result<How, Error> {
        if self.is_exposed {
            return Err(failed(format!(
                "`{}` asks for a login over plain `http://`, and a token is sent over `https://` only, or to this \
                 machine; use its `https://` address",
                host(&self.uri)
            )));
        }
        let mut done = {
            let mut state = self.state();
            if state.number != seen {
                return Ok(How::Adopted);
            }
            match &state.busy {
                Some(busy) => busy.clone(),
                None => {
                    let (tell, busy) = watch::channel(None);
                    state.busy = Some(busy.clone());
                    let session = self.clone();
                    tokio::spawn(async move {
                        let outcome = session.work(cause).await;
                        session.held_up.store(false, Ordering::Relaxed);
                        tell.send_replace(Some(session.settle(outcome)));
                    });
                    busy
                }
            }
        };
        let outcome = done.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        outcome.unwrap_or_else(|| {
            self.state().busy = None;
            Err(failed("the login ended without a result"))
        })
    }

    /// Whether a login waits for the user, which has no upper bound but the login timeout.
    pub(crate) fn is_held_up(&self) -> bool {
        self.held_up.load(Ordering::Relaxed)
    }

    fn login(&self) -> (u64, Option<Arc<Login>>) {
        let state = self.state();
        (state.number, state.login.clone())
    }

    async fn load(&self) -> Result<(), Error> {
        if let Some(login) = Login::load(&*self.config.store, &self.url).await? {
            let mut state = self.state();
            state.login = Some(Arc::new(login));
            state.number += 1;
        }
        Ok(())
    }

    fn settle(&self, outcome: Result<(How, Login), Error>) -> Result<How, Error> {
        let mut state = self.state();
        state.busy = None;
        let (how, login) = outcome?;
        state.login = Some(Arc::new(login));
        state.number += 1;
        Ok(how)
    }

    async fn work(&self, cause: Cause) -> Result<(How, Login), Error> {
        let (_, old) = self.login();
        let kept = Login::load(&*self.config.store, &self.url).await?;
        let quiet = matches!(cause, Cause::Over);
        let step_up = matches!(&cause, Cause::Refused { challenge, .. } if challenge.wants_more_scope());
        // Another process may have obtained one meanwhile.
        let newer = |kept: &Login| {
            old.as_ref().is_some_and(|old| kept.access.reveal() != old.access.reveal()) && !kept.is_over() && !step_up
        };
        if let Some(kept) = kept.filter(newer) {
            return Ok((How::Adopted, kept));
        }
        let (challenge, headers, may_refresh) = match cause {
            Cause::Over => (Challenge::default(), HeaderMap::new(), true),
            Cause::Refused { challenge, headers, may_refresh } => {
                self.state().found = None;
                (challenge, headers, may_refresh)
            }
        };
        let found = self.found(&challenge, &headers).await?;
        // A token of another issuer is no longer valid.
        let old = old.filter(|old| old.issuer == found.server.issuer);
        if let Some(old) = old.as_ref().filter(|_| may_refresh)
            && let Some(done) = self.refresh(&found, old).await?
        {
            return Ok(done);
        }
        if quiet && self.asks_people() {
            // The server's next challenge will start the login.
            return Err(failed("the token has expired and the user must log in again"));
        }
        let key = self.key(&found, &challenge, old.as_deref())?;
        let scopes = self.scopes(&found, &challenge, old.as_deref());
        self.held_up.store(self.asks_people(), Ordering::Relaxed);
        let login = self.obtain(&found, key, scopes).grant().await?;
        login.save(&*self.config.store, &self.url).await?;
        Ok((How::Granted, login))
    }

    /// Obtains a token with the refresh token, if there is one. A refresh token can be used once, so processes that
    /// share the store take turns, and adopt the result.
    async fn refresh(&self, found: &Found, old: &Login) -> Result<Option<(How, Login)>, Error> {
        let store = &*self.config.store;
        let _turn = match store.lock(&self.url).await {
            Ok(turn) => Some(turn),
            Err(error) => {
                tracing::warn!(%error, "the store cannot be locked; the token is refreshed without a lock");
                None
            }
        };
        let kept = Login::load(store, &self.url).await?.filter(|kept| kept.issuer == found.server.issuer);
        let mut newer = kept.filter(|kept| kept.access.reveal() != old.access.reveal());
        if let Some(newer) = newer.take_if(|newer| !newer.is_over()) {
            return Ok(Some((How::Adopted, newer)));
        }
        let last = newer.as_ref().unwrap_or(old);
        let Some(token) = &last.refresh else { return Ok(None) };
        match self.obtain(found, last.key.clone(), Vec::new()).refresh(last, token).await {
            Ok(login) => {
                login.save(store, &self.url).await?;
                Ok(Some((How::Refreshed, login)))
            }
            // Without an answer the refresh token may still be valid, so the user is not asked.
            Err(refused) if refused.code.is_none() => Err(refused.error),
            Err(refused) => {
                tracing::debug!(error = %refused.error, "the token was not refreshed");
                Ok(None)
            }
        }
    }

    async fn found(&self, challenge: &Challenge, headers: &HeaderMap) -> Result<Arc<Found>, Error> {
        if let Some(found) = &self.state().found {
            return Ok(found.clone());
        }
        let wanted = self.config.issuer.as_deref();
        let inquiry = Inquiry { fetcher: &self.fetcher, url: &self.url, server: &self.uri, headers, wanted };
        let found = Arc::new(inquiry.discover(challenge).await?);
        self.state().found = Some(found.clone());
        Ok(found)
    }

    fn obtain<'a>(&'a self, found: &'a Found, key: Option<BoundKey>, scopes: Vec<String>) -> Obtain<'a> {
        Obtain {
            config: &self.config,
            fetcher: &self.fetcher,
            reach: self.reach,
            url: &self.url,
            found,
            nonces: &self.nonces,
            key,
            scopes,
        }
    }

    /// The key to bind a token to, if it is to be bound.
    fn key(&self, found: &Found, challenge: &Challenge, old: Option<&Login>) -> Result<Option<BoundKey>, Error> {
        let must = self.config.bound || found.bound;
        if !must && !challenge.dpop {
            return Ok(None);
        }
        if !found.server.binds_tokens() {
            let what =
                "a DPoP-bound token is required, but the authorization server does not declare DPoP with `ES256`";
            return if must { Err(failed(what)) } else { Ok(None) };
        }
        let kept = old.and_then(|old| old.key.clone());
        kept.map_or_else(BoundKey::generate, Ok).map(Some)
    }

    /// The scopes to request: those of the challenge, with all that were requested before.
    fn scopes(&self, found: &Found, challenge: &Challenge, old: Option<&Login>) -> Vec<String> {
        let mut all = old.map(|old| old.asked.clone()).unwrap_or_default();
        challenge.scope.iter().for_each(|scope| add(&mut all, scope));
        if all.is_empty() {
            all = scopes(&found.scopes.iter().flatten().cloned().collect::<Vec<_>>().join(" "));
        }
        self.config.scopes.iter().for_each(|scope| add(&mut all, scope));
        // With a refresh token the user is not asked again when the token expires.
        if self.asks_people() && !all.is_empty() && found.server.knows_scope("offline_access") {
            add(&mut all, "offline_access");
        }
        all
    }

    fn asks_people(&self) -> bool {
        matches!(self.config.grant, Grant::Page(_) | Grant::Device(_))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}
