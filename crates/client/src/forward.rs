//! Requests of other clients: for proxies and gateways.

use couplet_core::{Error, Exchange, JsonText, Outcome, RequestOptions, message::Params};

use crate::client::Client;

impl Client {
    /// Sends a request as it is, and returns what comes back, event by event. Dropping the exchange before its end
    /// cancels the request. There is no deadline, and questions are left to the caller.
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client, call: couplet_core::Call) -> Result<(), couplet_core::Error> {
    /// use couplet_core::{Event, RequestOptions};
    ///
    /// let mut exchange = client.forward(&call.method, &call.params, &RequestOptions::default())?;
    /// while let Event::Notification { method, .. } = exchange.next().await {
    ///     tracing::info!(method);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the server does not serve the method.
    pub fn forward(&self, method: &str, params: &Params, extras: &RequestOptions) -> Result<Exchange, Error> {
        let dialect = self.dialect();
        dialect.check(method, &self.server().capabilities)?;
        let outgoing = dialect.forward(self.channel().next_id(), method, params, extras)?;
        Ok(self.channel().open(outgoing))
    }

    /// Sends a request of an extension as it is, like [`Client::forward`]. `named_by` is the parameter that names what the
    /// request is about, if there is one.
    ///
    /// # Errors
    /// When `_meta` is not an object.
    pub fn forward_extension(
        &self,
        method: &'static str,
        named_by: Option<&'static str>,
        params: &Params,
        extras: &RequestOptions,
    ) -> Result<Exchange, Error> {
        let outgoing = self.dialect().forward_as(self.channel().next_id(), method, named_by, params, extras)?;
        Ok(self.channel().open(outgoing))
    }

    /// Sends a notification of another client to the server, where there is a session.
    pub fn forward_notification(&self, method: &str, params: &Params) {
        let dialect = self.dialect();
        if dialect.has_sessions() {
            self.channel().notify(dialect.notification(method, &params.text().to_raw()));
        }
    }

    /// What the answer to a request says.
    ///
    /// # Errors
    /// When it is of a kind that is not known.
    pub fn outcome(&self, answer: JsonText) -> Result<Outcome, Error> {
        self.dialect().outcome(answer)
    }

    /// The outcome in an answer to a request whose result may be of a kind that an extension adds.
    ///
    /// # Errors
    /// When it is of a kind that is not known, or not accepted.
    pub fn outcome_with(&self, answer: JsonText, accepts: impl Fn(&str) -> bool) -> Result<Outcome, Error> {
        self.dialect().outcome_with(answer, accepts)
    }

    /// Whether the server serves a method of the protocol: the revision has it, and the server what it needs.
    pub fn serves(&self, method: &str) -> bool {
        let dialect = self.dialect();
        dialect.revision().has_method(method) && dialect.check(method, &self.server().capabilities).is_ok()
    }
}
