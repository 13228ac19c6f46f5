//! Requests that stand alone: nothing is remembered between them but what was learned about the tools.

use std::sync::Arc;

use couplet_core::{Error, ErrorKind, Outgoing, RequestOptions};
use couplet_types::{
    CallTool, Discover, ListTools, ListToolsParams, Listen, Request, RequestId, RpcError, UnsupportedVersionData, code,
};

use super::{
    busy::READS,
    headers::{Mirrored, mirror},
    read::{Reading, is_another_tongue, refused},
    route::Source,
    shared::{Answer, Shared},
};

impl Shared {
    /// How many pages of tools are read when something about a tool has changed.
    const PAGES: usize = 64;

    /// Sends a request that stands alone. `key` is how it is known to whoever waits.
    pub(crate) async fn alone(self: &Arc<Self>, request: &Outgoing, revision: &str, key: i64) -> Result<Answer, Error> {
        if request.method == Discover::METHOD && self.recall_greeting() {
            return Ok(Err(RpcError::method_not_found(request.method)));
        }
        let mirrored = self.tools.mirrored(request)?;
        let answer = match self.post_alone(request, revision, &mirrored, key).await {
            // Nothing can be taken up again without a session, so what was lost is asked anew.
            Err(error) if error.is_closed() && READS.contains(&request.method) => {
                tracing::debug!(%error, method = request.method, "a request is sent again");
                let again = self.again(request, key);
                self.post_alone(&again, revision, &mirrored, key).await?
            }
            answer => answer?,
        };
        match answer {
            Ok(list) if request.method == ListTools::METHOD => Ok(Ok(self.tools.learn(list))),
            Err(error) if error.code == code::HEADER_MISMATCH && request.method == CallTool::METHOD => {
                // The server refused before it did anything, so asking again is safe; but only if it helps.
                self.learn_tools(revision).await?;
                let now = self.tools.mirrored(request)?;
                if now == mirrored {
                    return Ok(Err(error));
                }
                let again = self.again(request, key);
                self.post_alone(&again, revision, &now, key).await
            }
            // A server, or something in front of it, that names the very revision it was asked in may mean it.
            Err(error) if request.method == Discover::METHOD && names(&error, revision) => {
                let again = self.again(request, key);
                self.post_alone(&again, revision, &mirrored, key).await
            }
            answer => Ok(answer),
        }
    }

    async fn post_alone(
        self: &Arc<Self>,
        request: &Outgoing,
        revision: &str,
        mirrored: &Mirrored,
        key: i64,
    ) -> Result<Answer, Error> {
        let mut http = self.address.post(&self.address.uri, request.message());
        mirror(&mut http, request, revision, mirrored)?;
        let (response, _) = self.address.send(http).await?;
        let probe = request.method == Discover::METHOD;
        let source = Source::Alone { key, sent: &request.id, subscription: request.method == Listen::METHOD };
        match self.read(response, source, &request.id).await {
            Ok(Reading::Answer(answer)) => {
                let knows_probe = answer.as_ref().err().is_none_or(|e| e.code == code::UNSUPPORTED_VERSION);
                self.session().must_be_greeted = probe && !knows_probe;
                Ok(answer)
            }
            // Somebody who knows nothing of this era.
            Ok(Reading::Refused(status)) if probe && is_another_tongue(status) => {
                self.session().must_be_greeted = true;
                Ok(Err(RpcError::method_not_found(request.method)))
            }
            Ok(Reading::Refused(status)) => Err(refused(status)),
            Ok(Reading::NoSession | Reading::SessionLost) => {
                Err(Error::new(ErrorKind::Protocol, "there is no session to lose"))
            }
            // A probe that broke off says nothing about the server.
            Err(error) if probe && error.is_closed() => {
                Err(Error::new(ErrorKind::Transport, error.to_string()).with_source(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads the whole list of tools again.
    async fn learn_tools(self: &Arc<Self>, revision: &str) -> Result<(), Error> {
        let Some(dialect) = self.dialect() else { return Ok(()) };
        let mut params = ListToolsParams::new();
        for _ in 0..Self::PAGES {
            let request = dialect.request::<ListTools>(self.next_id(), params.clone(), &RequestOptions::default())?;
            let RequestId::Number(key) = request.id else { return Ok(()) };
            // A list that is refused teaches nothing; the call then fails with what it failed with before.
            let Ok(list) = self.post_alone(&request, revision, &Vec::new(), key).await? else { return Ok(()) };
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

/// Whether a server that refuses a revision says that it speaks it.
fn names(error: &RpcError, revision: &str) -> bool {
    let data = error.data.as_ref().filter(|_| error.code == code::UNSUPPORTED_VERSION);
    let data = data.and_then(|d| d.parse::<UnsupportedVersionData>().ok());
    data.is_some_and(|d| d.supported.iter().any(|s| s == revision))
}
