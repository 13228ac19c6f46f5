//! A request that can still be changed, and is sent when it is awaited.

use std::{fmt, future::IntoFuture, time::Duration};

use couplet_core::{BoxFuture, Dialect, Error, ErrorKind, Outcome, Project, RequestOptions};
use couplet_types::{Complete, Completion, CompletionContext, HasMeta, Map, Meta, ProgressParams, Request, from_json};

use crate::{
    client::Client,
    clock::Patience,
    rounds::{Flight, Options},
    trace::Watched,
};

/// A request that is sent when it is awaited.
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
/// Dropping the future before its end cancels the request, and the server is told.
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
        Self { client: client.clone(), params, options: Options::new(client.patience()), finish }
    }

    /// Asks the server for progress and hears of it. Progress is a sign of life: the timeout starts again.
    pub fn on_progress(mut self, tell: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.options.progress = Some(Box::new(tell));
        self
    }

    /// How long to wait for an answer, or for progress if that was asked for; `None` is for ever.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.patience().timeout = timeout.into();
        self
    }

    /// How long to wait in all, however much progress there is; `None` is for ever.
    pub fn max_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.patience().max_timeout = timeout.into();
        self
    }

    /// Adds a map of your own to the request.
    pub fn meta(mut self, meta: Meta) -> Self {
        if let Ok(params) = &mut self.params {
            *params.meta_mut() = Some(meta);
        }
        self
    }

    /// Asks the server, even if an answer is [kept](crate::Cache) that is still good. The new one takes its place.
    pub fn no_cache(mut self) -> Self {
        self.options.fresh = true;
        self
    }

    /// Returns the first outcome, and leaves questions of the server to the caller.
    pub fn outcome(self) -> RequestBuilder<R, Outcome> {
        let Self { client, params, options, .. } = self;
        RequestBuilder { client, params, options: Options { once: true, ..options }, finish: Ok }
    }

    /// Returns the first outcome that is not a question, and leaves what an extension makes of a result to the caller.
    pub fn raw_outcome(self) -> RequestBuilder<R, Outcome> {
        let Self { client, params, options, .. } = self;
        RequestBuilder { client, params, options: Options { unfinished: true, ..options }, finish: Ok }
    }

    fn patience(&mut self) -> &mut Patience {
        &mut self.options.patience
    }
}

impl<T> RequestBuilder<Complete, T> {
    /// Tells the server what other arguments were filled in already.
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
        // What needs no waiting happens here, so that the future is small.
        let dialect = client.dialect();
        let mut ticket = None;
        let mut watched = Watched::begin(&client, &dialect, R::METHOD);
        let first = params.and_then(|params| {
            match R::EXTENSION {
                Some(id) => dialect.check_extension(R::METHOD, id, &client.server().capabilities)?,
                None => dialect.check(R::METHOD, &client.server().capabilities)?,
            }
            if const { Dialect::is_cacheable::<R>() }
                && let Some(method) = R::KNOWN
                && let Some(seat) = &client.inbox().seat
                && let Some(key) = dialect.cache_key::<R>(&params)
            {
                ticket = Some(Box::new(seat.ticket(&dialect, method, key)));
            }
            let mut extras = RequestOptions::default();
            extras.progress = options.progress.is_some();
            if let Some(watched) = &mut watched {
                watched.about(&params);
                extras.trace = watched.trace();
            }
            let first = dialect.request::<R>(client.channel().next_id(), params, &extras)?;
            if let Some(watched) = &watched {
                watched.sent_as(&first.id);
            }
            Ok(Some(first))
        });
        let (first, promise) = match first {
            Ok(Some(request)) if !options.once => match client.inbox().outputs.promised(&request) {
                Ok(promise) => (Ok(Some(request)), promise),
                Err(unusable) => (Err(unusable), None),
            },
            first => (first, None),
        };
        let mut flight = Flight { client, dialect, method: R::METHOD, first, options, ticket, watched };
        Box::pin(async move {
            let outcome = flight.run().await?;
            if let Some(promise) = promise {
                promise.check(&outcome)?;
            }
            finish(outcome)
        })
    }
}

impl<R: Request, T> fmt::Debug for RequestBuilder<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("method", &R::METHOD).field("params", &self.params).finish_non_exhaustive()
    }
}

/// Reads a result.
pub(crate) fn parsed<R: Request>(outcome: Outcome) -> Result<R::Result, Error> {
    let unreadable = || Error::new(ErrorKind::Protocol, format!("the result of `{}` cannot be read", R::METHOD));
    match outcome {
        Outcome::Complete(text) => from_json(text.as_str()).map_err(|e| unreadable().with_source(e)),
        Outcome::InputRequired { .. } | Outcome::Extension { .. } => Err(unreadable()),
    }
}

pub(crate) fn completion(outcome: Outcome) -> Result<Completion, Error> {
    parsed::<Complete>(outcome).map(|result| result.completion)
}
