//! The background work of a service, beside a connection.

use std::task::Context;

use crate::{server::running::BoxFuture, service::Service};

/// The background work of a service, if there is any left.
pub(crate) struct Background(Option<BoxFuture<'static, ()>>);

impl Background {
    pub(crate) fn of(service: &dyn Service) -> Self {
        Self(service.background())
    }

    /// Does the work that can be done now.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) {
        if let Some(work) = &mut self.0
            && work.as_mut().poll(cx).is_ready()
        {
            self.0 = None;
        }
    }
}
