//! One line in the log for each request.

use std::{
    fmt,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use couplet_core::message::{Body, Frame, Message};
use http::{Method, Uri};

use crate::server::response::Reply;

/// The target of the lines, to switch them on or off.
const TARGET: &str = "couplet::access";
/// The status of a request whose client hung up before there was an answer.
const HUNG_UP: u16 = 499;

/// What is logged of a request when it is over: nothing of its body, and nothing behind the `?` of its address.
pub(crate) struct Access {
    began: Instant,
    method: Method,
    path: String,
    client: Option<IpAddr>,
    status: u16,
    rpc: Option<String>,
    principal: Option<Arc<str>>,
}

impl Access {
    /// Begins with a request, if its line would be logged at all.
    pub(crate) fn begin(method: &Method, uri: &Uri, client: Option<IpAddr>) -> Option<Box<Self>> {
        tracing::enabled!(target: TARGET, tracing::Level::INFO).then(|| {
            Box::new(Self {
                began: Instant::now(),
                method: method.clone(),
                path: uri.path().to_owned(),
                client,
                status: HUNG_UP,
                rpc: None,
                principal: None,
            })
        })
    }

    /// Notes who was authenticated.
    pub(crate) fn by(&mut self, principal: Option<&Arc<str>>) {
        self.principal = principal.cloned();
    }

    /// Notes the method of the protocol.
    pub(crate) fn calls(&mut self, frame: &Frame) {
        /// No method has a longer name.
        const MOST: usize = 64;
        self.rpc = match frame {
            Frame::Single(Message {
                body: Body::Request { method, .. } | Body::Notification { method, .. }, ..
            }) => Some(method.chars().take(MOST).collect()),
            Frame::Single(_) => Some("response".to_owned()),
            Frame::Batch(_) => Some("batch".to_owned()),
        };
    }

    /// Notes the response. The line is written when it is over.
    pub(crate) fn ends_with(mut self: Box<Self>, reply: &mut Reply) {
        self.status = reply.status().as_u16();
        reply.body_mut().log(self);
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        let Self { method, path, client, status, rpc, principal, began } = self;
        tracing::info!(
            target: TARGET,
            method = method.as_str(),
            path = &**path,
            status = *status,
            client = client.map(tracing::field::display),
            rpc = rpc.as_deref(),
            principal = principal.as_deref(),
            milliseconds = milliseconds(began.elapsed()),
            "request"
        );
    }
}

/// A duration in milliseconds, with at most three decimals.
fn milliseconds(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1e6).round() / 1e3
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("status", &self.status).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::server::request::access_log::*;

    #[test]
    fn a_duration_has_at_most_three_decimals() {
        for (nanoseconds, text) in [
            (0, "0"),
            (260_997, "0.261"),
            (1_500_000, "1.5"),
            (12_345_678, "12.346"),
            (86_400_000_123_456, "86400000.123"),
        ] {
            assert_eq!(milliseconds(Duration::from_nanos(nanoseconds)).to_string(), text);
        }
    }
}
