//! Stateless requests: nothing is shared between them but the mirrored arguments of tools.

use std::sync::Arc;

use couplet_core::{Error, ErrorKind, Outgoing, RequestOptions, Retry, Source};
use couplet_types::{
    CallTool, Discover, ListTools, ListToolsParams, Listen, Request, RequestId, RpcError, UnsupportedVersionData, code,
};

use super::{
    busy::retry,
    headers::{Mirrored, mirror, mirrored},
    read::{Reading, is_unknown_transport, refused},
    shared::{Answer, Shared},
};

impl Shared {
    /// The number of pages of tools that are read when a tool has changed.
    const PAGES: usize = 64;

    /// Sends a stateless request. `key` is the number that it was opened with.
    pub(crate) async fn stateless(
        self: &Arc<Self>,
        request: &Outgoing,
        revision: &'static str,
        key: i64,
    ) -> Result<Answer, Error> {
        if request.method == Discover::METHOD && self.recall_greeting() {
            return Ok(Err(RpcError::method_not_found(request.method)));
        }
        let name = request.name();
        let mirrored = self.mirrored(request, name.as_deref(), revision)?;
        let answer = match self.post_stateless(request, &mirrored, key).await {
            // Nothing can be resumed without a session, so a read that was lost is sent again.
            Err(error) if error.is_closed() && retry(request) == Retry::Safe => {
                tracing::debug!(%error, method = request.method, "a request is sent again");
                let again = self.again(request, key);
                self.post_stateless(&again, &mirrored, key).await?
            }
            answer => answer?,
        };
        match answer {
            Ok(list) if request.method == ListTools::METHOD => Ok(Ok(self.tools.learn(list))),
            Err(error) if error.code == code::HEADER_MISMATCH && request.method == CallTool::METHOD => {
                // The server rejected the request before it was executed, so a retry is safe; but only with other headers.
                Box::pin(self.learn_tools(revision)).await?;
                let now = self.mirrored(request, name.as_deref(), revision)?;
                if now == mirrored {
                    return Ok(Err(error));
                }
                let again = self.again(request, key);
                self.post_stateless(&again, &now, key).await
            }
            // A server, or an intermediary, that lists the very revision that it rejects may accept it the next time.
            Err(error) if request.method == Discover::METHOD && names(&error, revision) => {
                let again = self.again(request, key);
                self.post_stateless(&again, &mirrored, key).await
            }
            answer => Ok(answer),
        }
    }

    /// The headers that repeat parts of a request.
    fn mirrored(&self, request: &Outgoing, name: Option<&str>, revision: &'static str) -> Result<Mirrored, Error> {
        let mut mirrored = mirrored(request, name, revision)?;
        if let Some(name) = name.filter(|_| request.method == CallTool::METHOD) {
            self.tools.add_mirrored(&mut mirrored, name, request)?;
        }
        Ok(mirrored)
    }

    async fn post_stateless(
        self: &Arc<Self>,
        request: &Outgoing,
        mirrored: &Mirrored,
        key: i64,
    ) -> Result<Answer, Error> {
        let message = request.message();
        let build = || {
            let mut http = self.address.post(&self.address.uri, message.clone());
            mirror(&mut http, mirrored);
            http
        };
        let response = self.address.send_built(build).await?;
        let probe = request.method == Discover::METHOD;
        let source = Source::Response { key, sent: &request.id, subscription: request.method == Listen::METHOD };
        match self.read(response, source, &request.id).await {
            Ok(Reading::Answer(answer)) => {
                let knows_probe = answer.as_ref().err().is_none_or(|e| e.code == code::UNSUPPORTED_VERSION);
                self.session().must_be_greeted = probe && !knows_probe;
                Ok(answer)
            }
            // A server that does not know this era.
            Ok(Reading::Refused(status)) if probe && is_unknown_transport(status) => {
                self.session().must_be_greeted = true;
                Ok(Err(RpcError::method_not_found(request.method)))
            }
            Ok(Reading::Refused(status)) => Err(refused(status)),
            Ok(Reading::NoSession | Reading::SessionLost) => {
                Err(Error::new(ErrorKind::Protocol, "there is no session to lose"))
            }
            // A probe that was interrupted proves nothing about the server.
            Err(error) if probe && error.is_closed() => {
                Err(Error::new(ErrorKind::Transport, error.to_string()).with_source(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Requests the whole list of tools again.
    async fn learn_tools(self: &Arc<Self>, revision: &'static str) -> Result<(), Error> {
        let Some(dialect) = self.router.dialect() else { return Ok(()) };
        let mut params = ListToolsParams::new();
        for _ in 0..Self::PAGES {
            let request =
                dialect.request::<ListTools>(self.router.next_id(), params.clone(), &RequestOptions::default())?;
            let RequestId::Number(key) = request.id else { return Ok(()) };
            // A list that is refused teaches nothing; the call then fails with what it failed with before.
            let mirrored = self.mirrored(&request, None, revision)?;
            let Ok(list) = self.post_stateless(&request, &mirrored, key).await? else { return Ok(()) };
            let next = couplet_core::message::Params::from_text(list.clone()).ok();
            let next: Option<String> = next.and_then(|l| l.read_opt("nextCursor").ok().flatten());
            self.tools.learn(list);
            match next {
                Some(next) => params = ListToolsParams::new().cursor(next),
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Whether a server that rejects a revision claims to support it.
fn names(error: &RpcError, revision: &str) -> bool {
    let data = error.data.as_ref().filter(|_| error.code == code::UNSUPPORTED_VERSION);
    let data = data.and_then(|d| d.parse::<UnsupportedVersionData>().ok());
    data.is_some_and(|d| d.supported.iter().any(|s| s == revision))
}
