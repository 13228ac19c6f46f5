//! What the client answers when a server asks: one set of callbacks, whichever way the question came.

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

/// The callbacks. What is not set is not declared, and a question for it is refused.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) form: Option<Callback<Elicitation, ElicitResult>>,
    pub(crate) visit: Option<Callback<Elicitation, ElicitResult>>,
    pub(crate) sample: Option<Callback<CreateMessageParams, CreateMessageResult>>,
    pub(crate) sampling_tools: bool,
    pub(crate) roots: Option<Mutex<Vec<Root>>>,
    pub(crate) activity: Arc<Activity>,
    /// Answers everything, instead of the others.
    pub(crate) whole: Option<(ClientCapabilities, Callback<InputRequest, JsonText>)>,
}

/// Makes a callback of a closure of the user's.
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

/// The same callbacks for another connection: roots are a copy, and who is busy is counted anew.
impl Clone for Answers {
    fn clone(&self) -> Self {
        Self {
            form: self.form.clone(),
            visit: self.visit.clone(),
            sample: self.sample.clone(),
            sampling_tools: self.sampling_tools,
            roots: self.roots.as_ref().map(|roots| Mutex::new(lock(roots).clone())),
            activity: Arc::default(),
            whole: self.whole.clone(),
        }
    }
}

impl Answers {
    /// What the client declares.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        if let Some((declared, _)) = &self.whole {
            return declared.clone();
        }
        let empty = RawJson::empty_object;
        let mut all = ClientCapabilities::new();
        if self.form.is_some() || self.visit.is_some() {
            let mut elicitation = ElicitationCapability::new();
            elicitation.form = self.form.is_some().then(empty);
            elicitation.url = self.visit.is_some().then(empty);
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

    /// Answers one question. The outer error is a question that this client does not take.
    pub(crate) fn answer(&self, dialect: &Arc<Dialect>, method: &str, params: &str) -> Result<Answer, RpcError> {
        if let Some((_, answer)) = &self.whole {
            let params = RawJson::from_text(params).map_err(|e| RpcError::invalid_params(e.to_string()))?;
            return Ok(answer(InputRequest::raw(method, params)));
        }
        let mut declared = self.capabilities();
        declared.project(dialect.revision());
        match method {
            Elicit::METHOD => self.elicit(dialect, &declared, read(params)?),
            CreateMessage::METHOD => self.sample(dialect, &declared, read(params)?),
            ListRoots::METHOD => self.list_roots(dialect),
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    /// Answers a question that came on a session. While it does, a request that waits for the server is not late.
    pub(crate) fn answer_on_session(&self, dialect: &Arc<Dialect>, method: &str, params: &str) -> Answer {
        let busy = Busy::new(self.activity.clone());
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

    /// Answers the questions of one round, all at the same time.
    pub(crate) async fn round(
        &self,
        dialect: &Arc<Dialect>,
        asks: Vec<(String, InputRequest)>,
    ) -> Result<Vec<(String, JsonText)>, Error> {
        let (mut keys, mut answers) = (Vec::new(), Vec::new());
        for (key, ask) in asks {
            let params = ask.params.as_ref().map_or("{}", RawJson::get);
            let answer = self.answer(dialect, &ask.method, params).map_err(|e| {
                let what = format!("the server asks `{}` under `{key}`, and this client cannot answer", ask.method);
                Error::new(ErrorKind::Unsupported, format!("{what}: {e}"))
            })?;
            answers.push(answer);
            keys.push((key, ask.method));
        }
        let answers = join(answers).await;
        let failed = |method: &str, e: &RpcError| {
            Error::new(
                ErrorKind::Callback,
                format!("the callback for `{method}` failed, so the request was given up: {e}"),
            )
        };
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
            ("url", self.visit.as_ref().filter(|_| elicitation.allows_url()))
        } else {
            ("form", self.form.as_ref().filter(|_| elicitation.allows_form()))
        };
        let callback =
            callback.ok_or_else(|| RpcError::invalid_params(format!("elicitation mode `{mode}` is not supported")))?;
        if params.is_url() && params.url.is_none() {
            return Err(RpcError::invalid_params("`url` is missing"));
        }
        Ok(written(callback(Elicitation::new(params)), dialect))
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
        Ok(written(callback(params), dialect))
    }

    fn list_roots(&self, dialect: &Arc<Dialect>) -> Result<Answer, RpcError> {
        let roots = self.roots.as_ref().ok_or_else(|| RpcError::method_not_found(ListRoots::METHOD))?;
        let roots = lock(roots).clone();
        Ok(written(Box::pin(async { Ok(ListRootsResult::new(roots)) }), dialect))
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("capabilities", &self.capabilities()).finish_non_exhaustive()
    }
}

/// Refuses roots that no server could use.
pub(crate) fn check_roots(roots: &[Root]) -> Result<(), Error> {
    match roots.iter().find(|r| !r.is_valid()) {
        Some(root) => {
            let what = format!("root `{}` is not a `file://` URI, or one with `..`", root.uri);
            Err(Error::new(ErrorKind::Config, what))
        }
        None => Ok(()),
    }
}

fn read<T: serde::de::DeserializeOwned>(params: &str) -> Result<T, RpcError> {
    from_json(params).map_err(|e| RpcError::invalid_params(e.to_string()))
}

/// Prints an answer as the revision wants it.
fn written<T>(answer: BoxFuture<'static, Result<T, RpcError>>, dialect: &Arc<Dialect>) -> Answer
where
    T: Project + serde::Serialize + 'static,
{
    let dialect = dialect.clone();
    Box::pin(async move { answer.await.and_then(|answer| dialect.answer(answer)) })
}

/// Whether questions of a session are being answered. Which request they belong to is not known.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    open: AtomicUsize,
    count: AtomicU64,
}

impl Activity {
    /// Whether a question is open, or one was begun or answered since `seen` was stored here.
    pub(crate) fn since(&self, seen: &mut u64) -> bool {
        let count = self.count.load(Ordering::Acquire);
        std::mem::replace(seen, count) != count || self.open.load(Ordering::Acquire) > 0
    }
}

struct Busy(Arc<Activity>);

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
