//! Clients of the revisions with sessions, served without any: each message has a connection of its own, on which the
//! handshake is said once more.

use std::future::poll_fn;

use bytes::Bytes;
use couplet_core::{Connection, Limits, Outbound, message, message::Frame};
use couplet_types::ProtocolVersion;
use http::StatusCode;

use super::{
    admit::Admitted,
    alone::Counted,
    endpoint::Endpoint,
    live::requests,
    reply::{self, Reply},
    sessions::decline,
};

impl Endpoint {
    /// Answers a handshake of which nothing is kept.
    pub(crate) async fn introduce(&self, frame: Frame, admitted: Admitted) -> Reply {
        let mut connection = self.connection(admitted.caller.clone());
        connection.take(frame);
        match poll_fn(|cx| connection.poll_next(cx)).await {
            Some(Outbound { text, .. }) if connection.shape().is_some() => reply::json(StatusCode::OK, text),
            Some(Outbound { text, .. }) => reply::json(StatusCode::BAD_REQUEST, text),
            None => reply::error(StatusCode::INTERNAL_SERVER_ERROR, "the request has no answer"),
        }
    }

    /// Answers a message as if it stood in a session of that revision, with a client that can do nothing.
    pub(crate) async fn sessionless(
        &self,
        frame: Frame,
        version: Option<ProtocolVersion>,
        mut admitted: Admitted,
    ) -> Reply {
        let caller = admitted.caller.clone();
        let mut connection = self.connection(caller.clone());
        if let Some(version) = version {
            // It never says that it is ready: then nobody tells it of changes.
            reopen(&mut connection, opening(version), &self.config.connection).await;
        }
        let Some(shape) = connection.shape() else {
            return reply::error(StatusCode::BAD_REQUEST, "this server speaks no revision that has sessions");
        };
        let expects_answer = match requests(&frame, shape) {
            Ok(ids) => !ids.is_empty(),
            Err(declined) => return decline(declined),
        };
        connection.set_context(admitted.take_context());
        connection.take(frame);
        if !expects_answer {
            return reply::empty(StatusCode::ACCEPTED);
        }
        // In these revisions a status other than this one is about the session, and not about the request.
        self.drive_alone(connection, Counted::Request(admitted), caller.as_ref(), |_| 200).await
    }
}

/// What a client of which only the revision is known would have said to open a session.
fn opening(version: ProtocolVersion) -> Bytes {
    let version = version.as_str();
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"unknown","version":"0"}}}}}}"#
    );
    text.into()
}

/// Says once more what opened a session, and overhears the answer.
pub(crate) async fn reopen(connection: &mut Connection, opening: Bytes, limits: &Limits) {
    if let Ok(frame) = message::read(opening, limits.bounds) {
        connection.take(frame);
        poll_fn(|cx| connection.poll_next(cx)).await;
    }
}
