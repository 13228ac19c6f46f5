//! The path of a request through the middleware of its client.

use std::{
    borrow::Cow,
    fmt,
    marker::PhantomData,
    sync::{Arc, Mutex},
};

use couplet_core::{BoxFuture, Error, ErrorKind, JsonText, Operation, Outcome, Project, message::Params};
use couplet_types::{ProgressParams, RawJson, Request, RequestMethod, from_json};

use crate::{client::Client, pending::Options, request::Prepared, sync::lock};

/// A request of a client, as [middleware](crate::Middleware) sees it: before it is encoded for the revision.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientRequest {
    method: &'static str,
    /// The parameters, as the program passed them. Middleware may replace them.
    pub params: Params,
}

impl ClientRequest {
    /// Returns the method.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Returns the method, if it is one of the protocol itself; `None` for a method of an extension.
    pub fn known(&self) -> Option<RequestMethod> {
        RequestMethod::from_name(self.method)
    }

    /// Returns the name of the tool or prompt, or the URI of the resource; `None` for other methods.
    pub fn target(&self) -> Option<Cow<'_, str>> {
        let key = Operation::target_parameter(self.method)?;
        self.params.read_str(key).ok().flatten()
    }
}

/// The rest of the middleware chain of a client, which ends with the server. See [`Middleware`](crate::Middleware).
#[derive(Clone)]
pub struct Next {
    end: Arc<dyn SendRequest>,
    at: usize,
}

impl Next {
    /// Runs the next middleware, or sends the request. Dropping the future cancels the request.
    pub fn run(mut self, request: ClientRequest) -> BoxFuture<'static, Result<Outcome, Error>> {
        match self.end.client().incoming().middleware.get(self.at).cloned() {
            Some(middleware) => {
                self.at += 1;
                middleware.request(request, self)
            }
            None => self.end.send(&request),
        }
    }

    /// Returns the client that sends the request. Its requests pass all middleware again.
    pub fn client(&self) -> &Client {
        self.end.client()
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("at", &self.at).finish_non_exhaustive()
    }
}

/// Passes a request through the middleware of its client. A request that is invalid fails before.
pub(crate) fn run<R: Request>(
    client: Client,
    params: Result<R::Params, Error>,
    mut options: Options,
) -> BoxFuture<'static, Result<Outcome, Error>>
where
    R::Params: Project,
{
    let encoded = params.and_then(|params| Ok(Params::from_text(JsonText::from(&RawJson::new(&params)?))));
    let params = match encoded {
        Ok(Ok(params)) => params,
        Ok(Err(fault)) => {
            let what = format!("the parameters of `{}` cannot be sent: {fault}", R::METHOD);
            return Box::pin(std::future::ready(Err(Error::new(ErrorKind::Config, what))));
        }
        Err(error) => return Box::pin(std::future::ready(Err(error))),
    };
    let progress = options.progress.take().map(|callback| Arc::new(Mutex::new(callback)));
    let end: Arc<dyn SendRequest> =
        Arc::new(Sender::<R> { client, options: Mutex::new(options), progress, request: PhantomData });
    Next { end, at: 0 }.run(ClientRequest { method: R::METHOD, params })
}

/// The end of the chain, for requests of any type.
trait SendRequest: Send + Sync {
    fn client(&self) -> &Client;

    /// Sends the request.
    fn send(&self, request: &ClientRequest) -> BoxFuture<'static, Result<Outcome, Error>>;
}

/// The end of the chain: it may send the request several times.
struct Sender<R> {
    client: Client,
    /// The options without the callback for progress. They are copied for each attempt.
    options: Mutex<Options>,
    progress: Option<Arc<Mutex<OnProgress>>>,
    request: PhantomData<fn() -> R>,
}

type OnProgress = Box<dyn FnMut(ProgressParams) + Send>;

impl<R: Request> SendRequest for Sender<R>
where
    R::Params: Project,
{
    fn client(&self) -> &Client {
        &self.client
    }

    fn send(&self, request: &ClientRequest) -> BoxFuture<'static, Result<Outcome, Error>> {
        let params = from_json(request.params.text().as_str()).map_err(|e| {
            let what = format!("middleware changed the parameters of `{}` to invalid ones", R::METHOD);
            Error::new(ErrorKind::Config, what).with_source(e)
        });
        let progress = self
            .progress
            .clone()
            .map(|callback| -> OnProgress { Box::new(move |progress| (lock(&callback))(progress)) });
        let options = Options { progress, ..lock(&self.options).without_progress() };
        let mut prepared = Prepared::new::<R>(self.client.clone(), params, options);
        Box::pin(async move { prepared.run().await })
    }
}
