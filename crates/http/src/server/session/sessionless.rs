//! Clients of the revisions with sessions, served without any: each message has a connection of its own, on which the
//! handshake is said once more.

use std::future::poll_fn;

use bytes::Bytes;
use couplet_core::{Limits, Outbound, ServerConnection, message, message::Frame};
use couplet_types::ProtocolVersion;
use http::StatusCode;

use crate::server::{
    endpoint::Endpoint,
    request::admit::Admitted,
    response::{self, Reply},
    session::{decline, live::requests},
    stateless::Counted,
};

impl Endpoint {
    /// Answers a handshake of which nothing is kept.
    pub(crate) async fn introduce(&self, frame: Frame, admitted: Admitted) -> Reply {
        let mut connection = self.connection(admitted.caller.clone());
        connection.receive_frame(frame);
        match poll_fn(|cx| connection.poll_next(cx)).await {
            Some(Outbound { text, .. }) if connection.revision().is_some() => response::json(StatusCode::OK, text),
            Some(Outbound { text, .. }) => response::json(StatusCode::BAD_REQUEST, text),
            None => response::error(StatusCode::INTERNAL_SERVER_ERROR, "the request has no answer"),
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
            // Without `notifications/initialized` the connection sends no changes.
            reopen(&mut connection, opening(version), &self.config.connection).await;
        }
        let Some(revision) = connection.revision() else {
            return response::error(StatusCode::BAD_REQUEST, "this server speaks no revision that has sessions");
        };
        let expects_answer = match requests(&frame, revision) {
            Ok(ids) => !ids.is_empty(),
            Err(declined) => return decline(declined),
        };
        connection.set_context(admitted.take_context());
        connection.receive_frame(frame);
        if !expects_answer {
            return response::empty(StatusCode::ACCEPTED);
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
pub(crate) async fn reopen(connection: &mut ServerConnection, opening: Bytes, limits: &Limits) {
    if let Ok(frame) = message::read(opening, limits.bounds) {
        connection.receive_frame(frame);
        poll_fn(|cx| connection.poll_next(cx)).await;
    }
}
