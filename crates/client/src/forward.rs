//! Forwarding of other clients' messages, for proxies and gateways.

use couplet_core::{Error, Exchange, JsonText, Outcome, RequestOptions, message::Params};

use crate::client::Client;

impl Client {
    /// Forwards a request unchanged, and returns its notifications and response, event by event.
    ///
    /// There is no timeout, and input requests are for the caller to answer. Dropping the exchange before its end
    /// cancels the request. Poll it at once: over some transports the request is sent by the first poll.
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
    /// If the revision or the server does not have the method.
    pub fn forward(&self, method: &str, params: &Params, options: &RequestOptions) -> Result<Exchange, Error> {
        let dialect = self.dialect();
        dialect.check(method, &self.server().capabilities)?;
        let outgoing = dialect.forward(self.channel().next_id(), method, params, options)?;
        Ok(self.channel().open_driven(outgoing))
    }

    /// Forwards a request of an extension unchanged, like [`Client::forward`]. `named_by` is the parameter that names
    /// the target of the request, if there is one; over HTTP it is repeated in a header.
    ///
    /// # Errors
    /// If `_meta` is not an object.
    pub fn forward_extension(
        &self,
        method: &'static str,
        named_by: Option<&'static str>,
        params: &Params,
        options: &RequestOptions,
    ) -> Result<Exchange, Error> {
        let outgoing = self.dialect().forward_as(self.channel().next_id(), method, named_by, params, options)?;
        Ok(self.channel().open_driven(outgoing))
    }

    /// Forwards a notification to the server. Does nothing without a session (2026-07-28).
    pub fn forward_notification(&self, method: &str, params: &Params) {
        let dialect = self.dialect();
        if dialect.has_sessions() {
            self.channel().notify(dialect.notification(method, &params.text().to_raw()));
        }
    }

    /// Parses the response to a forwarded request.
    ///
    /// # Errors
    /// If the result is of an unknown kind.
    pub fn outcome(&self, answer: JsonText) -> Result<Outcome, Error> {
        self.dialect().outcome(answer)
    }

    /// Parses the response to a forwarded request, whose result may be of a kind that an extension adds. `members` are
    /// those of the result, if they are located already.
    ///
    /// # Errors
    /// If the result is of a kind that is neither known nor accepted.
    pub fn outcome_of(
        &self,
        answer: JsonText,
        members: Option<&Params>,
        accepts: impl Fn(&str) -> bool,
    ) -> Result<Outcome, Error> {
        self.dialect().outcome_of(answer, members, accepts)
    }

    /// Returns whether the server has a method of the protocol: the revision includes it, and the server declares the
    /// capability.
    pub fn serves(&self, method: &str) -> bool {
        let dialect = self.dialect();
        dialect.revision().has_method(method) && dialect.check(method, &self.server().capabilities).is_ok()
    }
}
