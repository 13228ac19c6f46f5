//! The request builder.

use std::{fmt, future::IntoFuture, time::Duration};

use couplet_core::{BoxFuture, Dialect, Error, ErrorKind, Outcome, Project, RequestOptions, idempotency};
use couplet_types::{
    CallTool, Complete, Completion, CompletionContext, HasMeta, Map, Meta, ProgressParams, RawJson, Request, from_json,
};
use serde::de::DeserializeOwned;

use crate::{
    client::Client,
    middleware,
    output_schemas::ExpectedOutput,
    pending::{Options, PendingRequest},
    result::ToolResult,
    timeout::Timeouts,
    trace::RequestTrace,
};

/// A request that can be configured, and is sent when it is awaited; made by the methods of [`Client`].
///
/// ```
/// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
/// use std::time::Duration;
/// use serde_json::json;
///
/// let report = client
///     .call("report", json!({ "year": 2026 }))
///     .on_progress(|progress| tracing::info!("{} of {:?}", progress.progress, progress.total))
///     .timeout(Duration::from_secs(300))
///     .await?;
/// # let _ = report;
/// # Ok(())
/// # }
/// ```
///
/// Dropping the future before it completes cancels the request, and notifies the server.
#[must_use = "a request is sent when it is awaited"]
pub struct RequestBuilder<R: Request, T = <R as Request>::Result> {
    client: Client,
    params: Result<R::Params, Error>,
    options: Options,
    finish: fn(Outcome) -> Result<T, Error>,
}

impl<R: Request, T> RequestBuilder<R, T> {
    pub(crate) fn new(
        client: &Client,
        params: Result<R::Params, Error>,
        finish: fn(Outcome) -> Result<T, Error>,
    ) -> Self {
        Self { client: client.clone(), params, options: Options::new(client.timeouts()), finish }
    }

    /// Requests progress notifications, and sets the callback for them. Progress restarts the [idle
    /// timeout](RequestBuilder::timeout), and the request is not answered from the cache.
    ///
    /// The callback runs on the task that awaits the request.
    pub fn on_progress(mut self, callback: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.options.progress = Some(Box::new(callback));
        self
    }

    /// Sets the idle timeout: the time without a response or progress. `None` disables it. The default is that of the
    /// [client](crate::ClientBuilder::timeout).
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeouts_mut().timeout = timeout.into();
        self
    }

    /// Sets the total timeout, which progress does not extend. `None` disables it. The default is that of the
    /// [client](crate::ClientBuilder::max_timeout).
    pub fn max_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeouts_mut().max_timeout = timeout.into();
        self
    }

    /// Sets the `_meta` map of the request. Members that the protocol itself needs are added to it.
    pub fn meta(mut self, meta: Meta) -> Self {
        if let Ok(params) = &mut self.params {
            *params.meta_mut() = Some(meta);
        }
        self
    }

    /// Bypasses the [cache](crate::Cache). The response replaces the cached one.
    pub fn no_cache(mut self) -> Self {
        self.options.no_cache = true;
        self
    }

    /// Returns the first outcome, which may be input requests (2026-07-28) for the caller to answer.
    pub fn outcome(self) -> RequestBuilder<R, Outcome> {
        let Self { client, params, options, .. } = self;
        RequestBuilder { client, params, options: Options { first_outcome: true, ..options }, finish: Ok }
    }

    /// Answers input requests, and returns the outcome after them, which may be a result of a kind that an extension
    /// adds.
    pub fn raw_outcome(self) -> RequestBuilder<R, Outcome> {
        let Self { client, params, options, .. } = self;
        RequestBuilder { client, params, options: Options { raw_extension_results: true, ..options }, finish: Ok }
    }

    pub(crate) fn set_idempotency_key(&mut self, key: String) {
        self.options.idempotency_key = Some(key);
    }

    /// Makes the request fail without being sent.
    pub(crate) fn fail(&mut self, error: Error) {
        self.params = Err(error);
    }

    fn timeouts_mut(&mut self) -> &mut Timeouts {
        &mut self.options.timeouts
    }
}

impl RequestBuilder<CallTool, ToolResult> {
    /// Turns the result of a tool that failed into an error, like [`ToolResult::into_result`].
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
    /// let log = client.call("build", ()).successful().await?.text();
    /// # drop(log);
    /// # Ok(())
    /// # }
    /// ```
    pub fn successful(mut self) -> Self {
        self.finish = |outcome| ToolResult::from(parsed::<CallTool>(outcome)?).into_result();
        self
    }

    /// Deserializes the structured content, like [`ToolResult::structured`].
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
    /// use std::time::Duration;
    ///
    /// let call = client.call("weather", ()).structured::<serde_json::Value>();
    /// let weather = call.timeout(Duration::from_secs(5)).await?;
    /// # drop(weather);
    /// # Ok(())
    /// # }
    /// ```
    pub fn structured<T: DeserializeOwned>(self) -> RequestBuilder<CallTool, T> {
        let Self { client, params, options, .. } = self;
        let finish = |outcome| ToolResult::from(parsed::<CallTool>(outcome)?).structured();
        RequestBuilder { client, params, options, finish }
    }
}

impl<T> RequestBuilder<Complete, T> {
    /// Sets the arguments that are already resolved, which the server may take into account (since 2025-06-18).
    pub fn context<K: Into<String>, V: Into<String>>(mut self, arguments: impl IntoIterator<Item = (K, V)>) -> Self {
        if let Ok(params) = &mut self.params {
            let arguments: Map<String> = arguments.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
            params.context = Some(CompletionContext::new(arguments));
        }
        self
    }
}

impl<R: Request, T: 'static> IntoFuture for RequestBuilder<R, T>
where
    R::Params: Project,
{
    type Output = Result<T, Error>;
    type IntoFuture = BoxFuture<'static, Result<T, Error>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { client, params, options, finish } = self;
        if client.incoming().middleware.is_empty() {
            let mut prepared = Prepared::new::<R>(client, params, options);
            return Box::pin(async move { finish(prepared.run().await?) });
        }
        let outcome = middleware::run::<R>(client, params, options);
        Box::pin(async move { finish(outcome.await?) })
    }
}

/// A request that is ready to be sent.
pub(crate) struct Prepared {
    pending: PendingRequest,
    expected: Option<ExpectedOutput>,
}

impl Prepared {
    /// Does everything that does not wait, so that the future of a request is small.
    pub(crate) fn new<R: Request>(client: Client, params: Result<R::Params, Error>, options: Options) -> Self
    where
        R::Params: Project,
    {
        let dialect = client.dialect();
        let mut ticket = None;
        let mut trace = RequestTrace::begin(&client, &dialect, R::METHOD);
        let first = params.and_then(|mut params| {
            if let Some(key) = &options.idempotency_key {
                let meta = params.meta_mut().get_or_insert_default();
                meta.insert(idempotency::META_KEY, RawJson::new(key)?);
            }
            match R::EXTENSION {
                Some(id) => dialect.check_extension(R::METHOD, id, &client.server().capabilities)?,
                None => dialect.check(R::METHOD, &client.server().capabilities)?,
            }
            if const { Dialect::is_cacheable::<R>() }
                && let Some(method) = R::KNOWN
                && let Some(seat) = &client.incoming().seat
                && let Some(key) = dialect.cache_key::<R>(&params)
            {
                ticket = Some(Box::new(seat.ticket(&dialect, method, key)));
            }
            let mut extras = RequestOptions::default();
            extras.progress = options.progress.is_some();
            if let Some(trace) = &mut trace {
                trace.record_target(&params);
                extras.trace = trace.trace();
            }
            let first = dialect.request::<R>(client.channel().next_id(), params, &extras)?;
            if let Some(trace) = &trace {
                trace.record_id(&first.id);
            }
            Ok(Some(first))
        });
        let (first, expected) = match first {
            Ok(Some(request)) if !options.first_outcome => match client.incoming().output_schemas.expected(&request) {
                Ok(expected) => (Ok(Some(request)), expected),
                Err(unusable) => (Err(unusable), None),
            },
            first => (first, None),
        };
        let pending = PendingRequest { client, dialect, method: R::METHOD, first, options, ticket, trace };
        Self { pending, expected }
    }

    /// Carries out the request, and validates its result.
    pub(crate) async fn run(&mut self) -> Result<Outcome, Error> {
        let outcome = self.pending.run().await?;
        if let Some(expected) = &self.expected {
            expected.check(&outcome)?;
        }
        Ok(outcome)
    }
}

impl<R: Request, T> fmt::Debug for RequestBuilder<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBuilder")
            .field("method", &R::METHOD)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

/// Parses a result.
pub(crate) fn parsed<R: Request>(outcome: Outcome) -> Result<R::Result, Error> {
    let unreadable = || Error::new(ErrorKind::Protocol, format!("the result of `{}` cannot be parsed", R::METHOD));
    match outcome {
        Outcome::Complete(text) => from_json(text.as_str()).map_err(|e| unreadable().with_source(e)),
        Outcome::InputRequired { .. } | Outcome::Extension { .. } => Err(unreadable()),
    }
}

pub(crate) fn completion(outcome: Outcome) -> Result<Completion, Error> {
    parsed::<Complete>(outcome).map(|result| result.completion)
}
