//! The callbacks that answer a server's elicitation, sampling and roots requests, whether they came as requests in a
//! session or in an `input_required` result.

use std::{
    fmt,
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use couplet_core::{BoxFuture, Dialect, Error, ErrorKind, JsonText, Project};
use couplet_types::{
    ClientCapabilities, CreateMessage, CreateMessageParams, CreateMessageResult, Elicit, ElicitParams, ElicitResult,
    ElicitationCapability, InputRequest, ListRoots, ListRootsResult, RawJson, Request, Root, RootsCapability, RpcError,
    SamplingCapability, from_json,
};

use crate::{
    elicitation::Elicitation,
    sync::{guarded, join, lock},
};

type Callback<A, R> = Arc<dyn Fn(A) -> BoxFuture<'static, Result<R, RpcError>> + Send + Sync>;
type Answer = BoxFuture<'static, Result<JsonText, RpcError>>;

/// The callbacks. One that is not set is not declared as a capability, and requests for it are refused.
#[derive(Default)]
pub(crate) struct Callbacks {
    pub(crate) form: Option<Callback<Elicitation, ElicitResult>>,
    pub(crate) url: Option<Callback<Elicitation, ElicitResult>>,
    pub(crate) sample: Option<Callback<CreateMessageParams, CreateMessageResult>>,
    pub(crate) sampling_tools: bool,
    pub(crate) roots: Option<Mutex<Vec<Root>>>,
    pub(crate) activity: Arc<Activity>,
    /// Answers everything, instead of the others.
    pub(crate) any: Option<(ClientCapabilities, Callback<InputRequest, JsonText>)>,
}

/// Wraps a closure of the program.
pub(crate) fn callback<A, R, F, Fut>(work: F) -> Callback<A, R>
where
    A: Send + 'static,
    R: Send + 'static,
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
{
    let work = Arc::new(work);
    Arc::new(move |ask| {
        let work = work.clone();
        Box::pin(guarded(async move { work(ask).await }))
    })
}

/// The same callbacks for another connection: the roots are copied, and activity is counted anew.
impl Clone for Callbacks {
    fn clone(&self) -> Self {
        Self {
            form: self.form.clone(),
            url: self.url.clone(),
            sample: self.sample.clone(),
            sampling_tools: self.sampling_tools,
            roots: self.roots.as_ref().map(|roots| Mutex::new(lock(roots).clone())),
            activity: Arc::default(),
            any: self.any.clone(),
        }
    }
}

impl Callbacks {
    /// Returns the capabilities that the client declares.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        if let Some((declared, _)) = &self.any {
            return declared.clone();
        }
        let empty = RawJson::empty_object;
        let mut all = ClientCapabilities::new();
        if self.form.is_some() || self.url.is_some() {
            let mut elicitation = ElicitationCapability::new();
            elicitation.form = self.form.is_some().then(empty);
            elicitation.url = self.url.is_some().then(empty);
            all.elicitation = Some(elicitation);
        }
        if self.sample.is_some() {
            let mut sampling = SamplingCapability::new();
            sampling.tools = self.sampling_tools.then(empty);
            all.sampling = Some(sampling);
        }
        all.roots = self.roots.is_some().then(|| RootsCapability::new().list_changed(true));
        all
    }

    /// Answers one input request. The outer error is a request that this client does not support.
    pub(crate) fn answer(&self, dialect: &Arc<Dialect>, method: &str, params: &str) -> Result<Answer, RpcError> {
        if let Some((_, answer)) = &self.any {
            let params = RawJson::from_text(params).map_err(|e| RpcError::invalid_params(e.to_string()))?;
            return Ok(answer(InputRequest::raw(method, params)));
        }
        let mut declared = self.capabilities();
        declared.project(dialect.revision());
        match method {
            Elicit::METHOD => self.elicit(dialect, &declared, parse(params)?),
            CreateMessage::METHOD => self.sample(dialect, &declared, parse(params)?),
            ListRoots::METHOD => self.list_roots(dialect),
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    /// Begins to answer a request in a session: until the guard is dropped, requests of the client do not time out.
    pub(crate) fn busy(&self) -> Busy {
        Busy::new(self.activity.clone())
    }

    /// Answers a request that came in a session. Meanwhile, requests of the client do not time out.
    pub(crate) fn answer_on_session(&self, dialect: &Arc<Dialect>, method: &str, params: &str) -> Answer {
        let busy = self.busy();
        let answer = self.answer(dialect, method, params);
        Box::pin(async move {
            let answer = match answer {
                Ok(answer) => answer.await,
                Err(refused) => Err(refused),
            };
            drop(busy);
            answer
        })
    }

    /// Answers the input requests of one round, concurrently.
    pub(crate) async fn round(
        &self,
        dialect: &Arc<Dialect>,
        asks: Vec<(String, InputRequest)>,
    ) -> Result<Vec<(String, JsonText)>, Error> {
        let (mut keys, mut answers) = (Vec::new(), Vec::new());
        for (key, ask) in asks {
            let params = ask.params.as_ref().map_or("{}", RawJson::get);
            let answer = self.answer(dialect, &ask.method, params);
            answers.push(answer.map_err(|e| unsupported(&key, &ask.method, &e))?);
            keys.push((key, ask.method));
        }
        let answers = join(answers).await;
        let pairs = keys.into_iter().zip(answers);
        pairs.map(|((key, method), answer)| Ok((key, answer.map_err(|e| failed(&method, &e))?))).collect()
    }

    fn elicit(
        &self,
        dialect: &Arc<Dialect>,
        declared: &ClientCapabilities,
        params: ElicitParams,
    ) -> Result<Answer, RpcError> {
        let Some(elicitation) = &declared.elicitation else {
            return Err(RpcError::method_not_found(Elicit::METHOD));
        };
        let (mode, callback) = if params.is_url() {
            ("url", self.url.as_ref().filter(|_| elicitation.allows_url()))
        } else {
            ("form", self.form.as_ref().filter(|_| elicitation.allows_form()))
        };
        let callback =
            callback.ok_or_else(|| RpcError::invalid_params(format!("elicitation mode `{mode}` is not supported")))?;
        if params.is_url() && params.url.is_none() {
            return Err(RpcError::invalid_params("`url` is missing"));
        }
        Ok(serialized(callback(Elicitation::new(params)), dialect))
    }

    fn sample(
        &self,
        dialect: &Arc<Dialect>,
        declared: &ClientCapabilities,
        params: CreateMessageParams,
    ) -> Result<Answer, RpcError> {
        let (Some(sampling), Some(callback)) = (&declared.sampling, &self.sample) else {
            return Err(RpcError::method_not_found(CreateMessage::METHOD));
        };
        if (params.tools.is_some() || params.tool_choice.is_some()) && sampling.tools.is_none() {
            return Err(RpcError::invalid_params("sampling with tools is not supported"));
        }
        if let Some(what) = params.unbalanced() {
            return Err(RpcError::invalid_params(format!("the messages: {what}")));
        }
        Ok(serialized(callback(params), dialect))
    }

    fn list_roots(&self, dialect: &Arc<Dialect>) -> Result<Answer, RpcError> {
        let roots = self.roots.as_ref().ok_or_else(|| RpcError::method_not_found(ListRoots::METHOD))?;
        let roots = lock(roots).clone();
        Ok(serialized(Box::pin(async { Ok(ListRootsResult::new(roots)) }), dialect))
    }
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callbacks").field("capabilities", &self.capabilities()).finish_non_exhaustive()
    }
}

/// Creates the error for an input request that the client does not support.
pub(crate) fn unsupported(key: &str, method: &str, e: &RpcError) -> Error {
    let what = format!("the server requests `{method}` under `{key}`, which this client does not support: {e}");
    Error::new(ErrorKind::Unsupported, what)
}

/// Creates the error for an input request whose callback failed.
pub(crate) fn failed(method: &str, e: &RpcError) -> Error {
    let what = format!("the callback for `{method}` failed, so the request was abandoned: {e}");
    Error::new(ErrorKind::Callback, what)
}

/// Checks that roots are valid.
pub(crate) fn check_roots(roots: &[Root]) -> Result<(), Error> {
    match roots.iter().find(|r| !r.is_valid()) {
        Some(root) => {
            let what = format!("root `{}` is not a `file://` URI, or one with `..`", root.uri);
            Err(Error::new(ErrorKind::Config, what))
        }
        None => Ok(()),
    }
}

fn parse<T: serde::de::DeserializeOwned>(params: &str) -> Result<T, RpcError> {
    from_json(params).map_err(|e| RpcError::invalid_params(e.to_string()))
}

/// Serializes a result for the revision.
fn serialized<T>(answer: BoxFuture<'static, Result<T, RpcError>>, dialect: &Arc<Dialect>) -> Answer
where
    T: Project + serde::Serialize + 'static,
{
    let dialect = dialect.clone();
    Box::pin(async move { answer.await.and_then(|answer| dialect.answer(answer)) })
}

/// A count of the server's requests in a session that are being answered. The protocol does not say which request of
/// the client they belong to.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    open: AtomicUsize,
    count: AtomicU64,
}

impl Activity {
    /// Returns whether a request is open, or was begun or answered since `seen`, which is updated.
    pub(crate) fn since(&self, seen: &mut u64) -> bool {
        let count = self.count.load(Ordering::Acquire);
        std::mem::replace(seen, count) != count || self.open.load(Ordering::Acquire) > 0
    }
}

/// A request of the server that is being answered.
pub(crate) struct Busy(Arc<Activity>);

impl Busy {
    fn new(activity: Arc<Activity>) -> Self {
        activity.open.fetch_add(1, Ordering::AcqRel);
        activity.count.fetch_add(1, Ordering::AcqRel);
        Self(activity)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.count.fetch_add(1, Ordering::AcqRel);
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}
