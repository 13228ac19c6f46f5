//! A server that can be cut off, and the host's side of an upstream.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use bytes::Bytes;
use couplet_client::{Client, ToolResult};
use couplet_core::{
    BoxFuture, Call, Channel, Connect, Connected, Description, Dialect, Error, ErrorKind, Exchange, Hub, Inbound,
    JsonText, Limits, Outgoing, Reply, ResultBody, Service,
};
use couplet_host::{
    names::ServerId,
    upstream::{State, Upstream, UpstreamBuilder, UpstreamOptions},
};
use couplet_types::{
    Implementation, PromptsCapability, ProtocolVersion, RequestId, ResourcesCapability, RpcError, ServerCapabilities,
    ToolsCapability,
};
use serde_json::json;
use tokio::sync::{Notify, Semaphore};

pub(crate) const SESSIONS: ProtocolVersion = ProtocolVersion::V2025_11_25;
pub(crate) const STATELESS: ProtocolVersion = ProtocolVersion::V2026_07_28;
pub(crate) const ERAS: [ProtocolVersion; 2] = [SESSIONS, STATELESS];

/// Answers a list request; the cursor is `None` for the first page.
type OnList = Box<dyn Fn(&str, Option<String>) -> Result<String, RpcError> + Send + Sync>;

/// A server whose connections are counted and can be cut. Clones are the same server.
#[derive(Clone)]
pub(crate) struct Fake(Arc<State0>);

pub(crate) struct State0 {
    version: ProtocolVersion,
    hub: Hub,
    on_list: Mutex<OnList>,
    /// The number of attempts to connect, of open connections and the most of them at the same time.
    pub(crate) attempts: AtomicUsize,
    pub(crate) open: AtomicUsize,
    pub(crate) connecting: AtomicUsize,
    pub(crate) most_connecting: AtomicUsize,
    /// The number of calls that have begun.
    pub(crate) begun: AtomicUsize,
    pub(crate) listed: AtomicUsize,
    cut: Notify,
    refuses: AtomicBool,
    /// The time that connecting takes.
    delay: Mutex<Duration>,
    /// The time that a list takes.
    list_delay: Mutex<Duration>,
    /// The cache hint of lists.
    ttl: Mutex<Option<u64>>,
    without_prompts: AtomicBool,
    /// How calls fail while there is no route; the connection does not.
    connectionless: Mutex<Option<ErrorKind>>,
    no_route: AtomicBool,
    /// Calls of `wait` end when there is a permit.
    pub(crate) gate: Semaphore,
}

impl Fake {
    pub(crate) fn new(version: ProtocolVersion) -> Self {
        Self(Arc::new(State0 {
            version,
            hub: Hub::new(),
            on_list: Mutex::new(Box::new(|method, _| {
                Ok(match method {
                    "tools/list" => r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#.to_owned(),
                    "prompts/list" => r#"{"prompts":[]}"#.to_owned(),
                    "resources/list" => r#"{"resources":[]}"#.to_owned(),
                    _ => r#"{"resourceTemplates":[]}"#.to_owned(),
                })
            })),
            attempts: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            connecting: AtomicUsize::new(0),
            most_connecting: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            listed: AtomicUsize::new(0),
            cut: Notify::new(),
            refuses: AtomicBool::new(false),
            delay: Mutex::new(Duration::ZERO),
            list_delay: Mutex::new(Duration::ZERO),
            ttl: Mutex::new(None),
            without_prompts: AtomicBool::new(false),
            connectionless: Mutex::new(None),
            no_route: AtomicBool::new(false),
            gate: Semaphore::new(0),
        }))
    }

    pub(crate) fn on_list(
        self,
        answer: impl Fn(&str, Option<String>) -> Result<String, RpcError> + Send + Sync + 'static,
    ) -> Self {
        *self.0.on_list.lock().unwrap() = Box::new(answer);
        self
    }

    pub(crate) fn delay(self, delay: Duration) -> Self {
        *self.0.delay.lock().unwrap() = delay;
        self
    }

    pub(crate) fn list_delay(self, delay: Duration) -> Self {
        *self.0.list_delay.lock().unwrap() = delay;
        self
    }

    pub(crate) fn ttl(self, ttl: u64) -> Self {
        *self.0.ttl.lock().unwrap() = Some(ttl);
        self
    }

    pub(crate) fn without_prompts(self) -> Self {
        self.0.without_prompts.store(true, SeqCst);
        self
    }

    pub(crate) fn unreachable(self, kind: ErrorKind) -> Self {
        *self.0.connectionless.lock().unwrap() = Some(kind);
        self
    }

    pub(crate) fn reach(&self, reaches: bool) {
        self.0.no_route.store(!reaches, SeqCst);
    }

    pub(crate) fn refuse(&self, refuses: bool) {
        self.0.refuses.store(refuses, SeqCst);
    }

    /// Ends all connections.
    pub(crate) fn cut(&self) {
        self.0.cut.notify_waiters();
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.0.hub
    }

    pub(crate) fn upstream(&self) -> UpstreamBuilder {
        Upstream::builder(ServerId::parse("files").unwrap(), Client::new("host", "1"), self.clone())
    }

    pub(crate) fn with(&self, options: UpstreamOptions) -> Upstream {
        self.upstream().options(options).build()
    }
}

impl std::ops::Deref for Fake {
    type Target = State0;

    fn deref(&self) -> &State0 {
        &self.0
    }
}

impl Connect for Fake {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move {
            self.attempts.fetch_add(1, SeqCst);
            let connecting = Counted::new(self.clone(), |fake| &fake.connecting);
            self.most_connecting.fetch_max(self.connecting.load(SeqCst), SeqCst);
            let delay = *self.0.delay.lock().unwrap();
            tokio::time::sleep(delay).await;
            drop(connecting);
            if self.refuses.load(SeqCst) {
                return Err(Error::new(ErrorKind::Transport, "the cable is cut"));
            }
            let mut service: Arc<dyn Service> = Arc::new(self.clone());
            let Connected { channel, driver } = service.connect(inbound, limits).await?;
            let open = Counted::new(self.clone(), |fake| &fake.open);
            let fake = self.clone();
            let driver = Box::pin(async move {
                let _open = open;
                tokio::select! {
                    ended = driver => ended,
                    () = fake.cut.notified() => Err(Error::new(ErrorKind::Transport, "the cable was pulled")),
                }
            });
            let failure = *self.connectionless.lock().unwrap();
            match failure {
                Some(kind) => Ok(Connected { channel: Arc::new(Routed(channel, self.clone(), kind)), driver }),
                None => Ok(Connected { channel, driver }),
            }
        })
    }
}

/// A channel whose requests fail while there is no route.
struct Routed(Arc<dyn Channel>, Fake, ErrorKind);

impl Channel for Routed {
    fn next_id(&self) -> RequestId {
        self.0.next_id()
    }

    fn open(&self, request: Outgoing) -> Exchange {
        match self.1.no_route.load(SeqCst) && request.method == "tools/call" {
            true => Exchange::failed(Error::new(self.2, "no route")),
            false => self.0.open(request),
        }
    }

    fn notify(&self, text: Bytes) {
        self.0.notify(text);
    }

    fn agree(&self, dialect: &Dialect) {
        self.0.agree(dialect);
    }

    fn close(&self) {
        self.0.close();
    }
}

/// Counts while it exists.
struct Counted(Fake, fn(&State0) -> &AtomicUsize);

impl Counted {
    fn new(fake: Fake, counter: fn(&State0) -> &AtomicUsize) -> Self {
        counter(&fake).fetch_add(1, SeqCst);
        Self(fake, counter)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.1)(&self.0).fetch_sub(1, SeqCst);
    }
}

impl Service for Fake {
    fn describe(&self) -> Arc<Description> {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(ToolsCapability::new().list_changed(true));
        if !self.without_prompts.load(SeqCst) {
            capabilities.prompts = Some(PromptsCapability::new().list_changed(true));
        }
        capabilities.resources = Some(ResourcesCapability::new().list_changed(true).subscribe(true));
        let mut about = Description::new(Implementation::new("fake", "1"), capabilities);
        about.versions = vec![self.version];
        about.instructions = Some("be nice".to_owned());
        about.cache.ttl_ms = self.ttl.lock().unwrap().unwrap_or(about.cache.ttl_ms);
        Arc::new(about)
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let fake = self.clone();
        Box::pin(async move {
            if &*call.method != "tools/call" {
                fake.listed.fetch_add(1, SeqCst);
                let delay = *fake.list_delay.lock().unwrap();
                tokio::time::sleep(delay).await;
                let cursor = call.params.read_opt("cursor").unwrap();
                let answer = (fake.on_list.lock().unwrap())(&call.method, cursor);
                return match answer {
                    Ok(text) => Reply::Complete(ResultBody::json(&JsonText::new(text).unwrap()).cacheable()),
                    Err(error) => Reply::Error(error),
                };
            }
            fake.begun.fetch_add(1, SeqCst);
            fake.tool(&call).await
        })
    }

    fn hub(&self) -> &Hub {
        &self.0.hub
    }
}

impl Fake {
    /// `echo` answers at once, `wait` when the test says so, `progress` after five minutes of progress, `never` never,
    /// `fail` with an error and `broken` with a failed tool.
    async fn tool(&self, call: &Call) -> Reply {
        let name = call.tool_name().unwrap();
        match &*name {
            "wait" => self.gate.acquire().await.unwrap().forget(),
            "never" => std::future::pending().await,
            "fail" => return Reply::Error(RpcError::invalid_params("that is wrong")),
            "broken" => return Reply::tool_error(call, "it does not work"),
            "progress" => {
                for minute in 1..=10 {
                    tokio::time::sleep(Duration::from_secs(30)).await;
                    call.outbox.progress(f64::from(minute), None, None).await;
                }
            }
            _ => {}
        }
        Reply::Complete(ResultBody::value(&json!({ "content": [{ "type": "text", "text": name }] })))
    }
}

/// An upstream as a service, as a host uses it.
struct Through(Upstream, Hub, ProtocolVersion);

impl Service for Through {
    fn describe(&self) -> Arc<Description> {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(ToolsCapability::new());
        let mut about = Description::new(Implementation::new("host", "1"), capabilities);
        about.versions = vec![self.2];
        Arc::new(about)
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let upstream = self.0.clone();
        Box::pin(async move {
            let method = call.method.clone();
            match upstream.proxy().await {
                Err(unavailable) => Reply::Error(unavailable.into()),
                Ok(running) => {
                    let result = running.proxy().forward(&call, None).await;
                    running.settle(&method, result)
                }
            }
        })
    }

    fn hub(&self) -> &Hub {
        &self.1
    }
}

/// A client of an upstream that waits for as long as it takes.
pub(crate) async fn caller(upstream: &Upstream, version: ProtocolVersion) -> Client {
    let service: Arc<dyn Service> = Arc::new(Through(upstream.clone(), Hub::new(), version));
    Client::new("caller", "1").timeout(None).max_timeout(None).cache(None).connect(service).await.unwrap()
}

/// The text of a call's result or error.
pub(crate) async fn call(client: &Client, tool: &str) -> String {
    text(client.call(tool, ()).await)
}

pub(crate) fn text(result: Result<ToolResult, Error>) -> String {
    match result.map(|result| result.into_result()) {
        Ok(Ok(result)) => result.text(),
        Ok(Err(failed)) => format!("failed: {failed}"),
        Err(error) => match error.rpc() {
            Some(reported) => reported.message.clone(),
            None => format!("local: {error}"),
        },
    }
}

/// Options with delays that a test can reckon with.
pub(crate) fn options() -> UpstreamOptions {
    UpstreamOptions::default()
}

/// Waits until something is true. With a paused clock this takes no time.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..24_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{what}");
}

pub(crate) async fn is(upstream: &Upstream, state: State) {
    until(&format!("{state}: {:?}", upstream.status()), || upstream.status().state == state).await;
}

/// The size of a test: that of the variable, which `cargo xtask full gateway` sets, or one that takes seconds.
pub(crate) fn size(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |size| size.parse().unwrap())
}

/// Whether the resources of this process are those of one test: `cargo test` runs many in one process.
pub(crate) fn is_alone(variable: &str) -> bool {
    std::env::var_os(variable).is_some() || std::env::var_os("NEXTEST").is_some()
}

/// The resident memory of this process in bytes, where it can be measured.
pub(crate) fn memory() -> Option<usize> {
    let pages: usize = std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
