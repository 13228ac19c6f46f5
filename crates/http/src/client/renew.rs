//! Sessions that the server has lost: a new one is opened, with the log level and the subscriptions of the old one.

use std::{sync::Arc, time::Duration};

use couplet_core::{Dialect, Error, ErrorKind, Outgoing, message::Params};
use couplet_types::{Initialized, Notification, NotificationParams};
use tokio::{sync::oneshot, time::timeout};

use super::{
    read::{Reading, closed, refused},
    shared::Shared,
};

impl Shared {
    /// The timeout for a new session, and for its settings.
    const RENEWAL: Duration = Duration::from_secs(60);

    /// Opens a new session as the lost one was opened, unless another request has done so.
    ///
    /// It is a job of its own: the request that waits for it may be cancelled, and the next one needs a whole session.
    pub(crate) async fn renew(self: &Arc<Self>, lost: u64) -> Result<(), Error> {
        let (done, outcome) = oneshot::channel();
        let shared = self.clone();
        self.spawn(async move {
            let _turn = shared.renewal.lock().await;
            let renewed = if shared.session().generation == lost { shared.replace(lost).await } else { Ok(()) };
            // The request may have been cancelled.
            let _ = done.send(renewed);
        });
        outcome.await.unwrap_or_else(|_| Err(closed("the connection is closed", None)))
    }

    async fn replace(self: &Arc<Self>, lost: u64) -> Result<(), Error> {
        let id = self.session().id.clone();
        self.ready.send_replace(false);
        let late = || Err(closed("the server lost the session, and did not open a new one in time", None));
        let opened = timeout(Self::RENEWAL, self.open_anew()).await.unwrap_or_else(|_| late());
        if opened.is_ok() {
            self.session().generation += 1;
            tracing::info!("the server lost the session, and a new one was opened");
            self.listen(lost + 1).await;
        } else {
            // Half a session is none: the next request finds that the old one is lost, and tries again.
            self.session().id = id;
            self.address.eras.forget(&self.address.uri);
        }
        self.ready.send_replace(true);
        opened?;
        if timeout(Self::RENEWAL, self.restore_settings()).await.is_err() {
            tracing::warn!("the new session does not answer what the lost one did");
        }
        Ok(())
    }

    async fn open_anew(self: &Arc<Self>) -> Result<(), Error> {
        let hello = self.session().hello.clone();
        let (Some(mut hello), Some(dialect)) = (hello, self.router.dialect()) else {
            return Err(closed("the server does not know the session", None));
        };
        hello.id = self.router.next_id();
        self.greet_again(&hello, &dialect)
            .await
            .map_err(|why| closed("the server lost the session, and a new one could not be opened", Some(why)))?;
        self.send_message(dialect.notification(Initialized::METHOD, &NotificationParams::new())).await;
        Ok(())
    }

    async fn greet_again(self: &Arc<Self>, hello: &Outgoing, dialect: &Dialect) -> Result<(), Error> {
        let answer = match self.hello(hello).await? {
            Reading::Answer(answer) => answer?,
            Reading::Refused(status) => return Err(refused(status)),
            Reading::NoSession | Reading::SessionLost => return Err(closed("the server loses every session", None)),
        };
        let spoken =
            Params::from_text(answer).ok().and_then(|a| a.read_opt::<String>("protocolVersion").ok().flatten());
        if spoken.as_deref() == Some(dialect.revision().version().as_str()) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Version, "the server speaks another revision now; connect again"))
    }

    /// Restores the log level and the subscriptions. One that is refused now is no reason to fail.
    async fn restore_settings(self: &Arc<Self>) {
        let settings = self.session().settings.all();
        for mut request in settings {
            request.id = self.router.next_id();
            let why = match self.ask_once(&request).await {
                Ok(Reading::Answer(Ok(_))) => continue,
                Ok(Reading::Answer(Err(error))) => error.into(),
                Ok(Reading::Refused(status)) => refused(status),
                // The next request finds that, too.
                Ok(Reading::NoSession | Reading::SessionLost) => return,
                Err(error) => error,
            };
            tracing::warn!(method = request.method, error = %why, "the new session does not grant what the lost one did");
        }
    }
}
