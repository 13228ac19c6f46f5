//! The transport of 2024-11-05: a stream for everything that the server says, and a second address to say something to
//! it. The stream drives the connection, and the session ends with it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use bytes::Bytes;
use couplet_core::{Caller, http::sse::Event};
use http::{StatusCode, Uri};

use crate::server::{
    endpoint::Endpoint,
    lock,
    request::admit::Admitted,
    response::{self, Reply},
    session::new_id,
    stateless::{Counted, Driven, Inbox},
};

const KEY: &str = "sessionId";

/// The sessions that are open, by id. Each is owned by its stream.
#[derive(Debug, Default)]
pub(crate) struct Sessions2024(Mutex<HashMap<Arc<str>, Weak<Inbox>>>);

impl Endpoint {
    /// Opens the stream, and with it the session.
    pub(crate) fn open_2024(&self, caller: Option<Arc<Caller>>) -> Reply {
        let principal = caller.as_ref().map(|caller| caller.principal().clone());
        let Some(id) = new_id() else {
            return response::error(StatusCode::INTERNAL_SERVER_ERROR, "the system gives no random numbers");
        };
        let most = self.config.limits.sessions_per_principal;
        let Some(share) = self.state.sessions_2024_of.take(principal.as_ref(), most) else {
            return response::busy(StatusCode::TOO_MANY_REQUESTS, "you have too many sessions");
        };
        let inbox = Arc::new(Inbox::new(principal));
        {
            let mut open = lock(&self.state.sessions_2024.0);
            if open.len() >= self.config.limits.streams {
                open.retain(|_, inbox| inbox.strong_count() > 0);
            }
            open.insert(id.clone(), Arc::downgrade(&inbox));
        }
        // Relative to wherever the endpoint is mounted.
        let address = Event { event: Some("endpoint".to_owned()), ..Event::message(format!("?{KEY}={id}")) };
        let connection = self.connection(caller.clone());
        let driven = Driven::new(connection, address.encode(), Some(inbox), Counted::Share(share));
        self.stream(driven, caller.as_ref())
    }

    /// Takes a message to the session that the address names.
    pub(crate) fn post_2024(&self, id: &Arc<str>, text: Bytes, mut admitted: Admitted) -> Reply {
        let inbox = lock(&self.state.sessions_2024.0).get(id).and_then(Weak::upgrade);
        if let Some(context) = admitted.context.as_mut().and_then(Arc::get_mut) {
            context.session = Some(id.clone());
        }
        match inbox.filter(|inbox| inbox.principal.as_ref() == admitted.principal()) {
            None => response::error(StatusCode::NOT_FOUND, "there is no such session"),
            Some(inbox) if inbox.put(text, admitted) => response::empty(StatusCode::ACCEPTED),
            Some(_) => response::busy(StatusCode::TOO_MANY_REQUESTS, "too many messages at the same time"),
        }
    }
}

/// The session that an address names.
pub(crate) fn session_in(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix(KEY)?.strip_prefix('='))
}
