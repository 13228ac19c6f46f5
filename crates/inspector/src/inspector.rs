//! The service: its targets, its feed, and its listeners.

use std::{
    fmt, io,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use couplet_core::{Service, sync::lock};
use couplet_types::ProtocolVersion;
use tokio::net::TcpListener;

use crate::{
    feed::Feed,
    guard::Guard,
    listen,
    place::{Find, Mount, Mounted, Place, PlaceKind},
    route,
    sandbox::Sandbox,
    target::{PassiveTarget, Target},
};

/// The service of `couplet inspect`: the page, and what it shows. Clones are the same.
///
/// Create it with [`Inspector::builder`], add targets, and run [`Inspector::serve`].
#[derive(Clone)]
pub struct Inspector(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) feed: Feed,
    pub(crate) find: Arc<dyn Find>,
    pub(crate) mount: Mount,
    pub(crate) guard: Guard,
    pub(crate) sandbox: Sandbox,
    /// The origin of the sandbox.
    pub(crate) frames: String,
    /// The folder to read the page from instead of the embedded files.
    pub(crate) folder: Option<PathBuf>,
    port: u16,
    targets: Mutex<Vec<Arc<Target>>>,
    last: AtomicU64,
}

/// The settings of an [`Inspector`].
pub struct InspectorBuilder {
    find: Arc<dyn Find>,
    mount: Mount,
    folder: Option<PathBuf>,
}

impl InspectorBuilder {
    /// Serves the files of the page from a folder instead of the embedded ones: for development of the page.
    #[must_use]
    pub fn page_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Creates the inspector for two bound listeners, whose addresses must be loopback ones: that of the page, and that of
    /// the sandbox in which views of apps run.
    ///
    /// # Errors
    /// If an address is not a loopback one, or the system has no random bytes for the token.
    pub fn build(self, page: &TcpListener, sandbox: &TcpListener) -> io::Result<Inspector> {
        let (page, sandbox) = (page.local_addr()?, sandbox.local_addr()?);
        if !page.ip().is_loopback() || !sandbox.ip().is_loopback() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the inspector listens at loopback addresses only",
            ));
        }
        let guard = |port| Guard::new(port).map_err(io::Error::other);
        Ok(Inspector(Arc::new(Shared {
            feed: Feed::new(),
            find: self.find,
            mount: self.mount,
            guard: guard(page.port())?,
            sandbox: Sandbox { guard: guard(sandbox.port())?, page: page.port(), folder: self.folder.clone() },
            frames: format!("http://{sandbox}"),
            folder: self.folder,
            port: page.port(),
            targets: Mutex::default(),
            last: AtomicU64::new(0),
        })))
    }
}

impl Inspector {
    /// Creates a builder. `find` resolves targets; `mount` creates the HTTP endpoint in front of a target.
    pub fn builder(
        find: Arc<dyn Find>,
        mount: impl Fn(Arc<dyn Service>) -> Arc<dyn Mounted> + Send + Sync + 'static,
    ) -> InspectorBuilder {
        InspectorBuilder { find, mount: Arc::new(mount), folder: None }
    }

    /// Returns the address of the page, with the token.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/#token={}", self.0.port, self.0.guard.token())
    }

    /// Adds a target and connects to it. Must be called within a Tokio runtime.
    pub fn add(&self, place: Arc<dyn Place>, revision: Option<ProtocolVersion>) {
        self.add_target(place, revision);
    }

    pub(crate) fn add_target(&self, place: Arc<dyn Place>, revision: Option<ProtocolVersion>) -> Arc<Target> {
        let target = Target::new(&self.next_id(), place, &self.0.feed);
        lock(&self.0.targets).push(target.clone());
        target.connect(revision, &self.0.mount);
        target
    }

    /// Adds a target that can only be watched.
    pub fn add_passive(&self, name: &str, target: &str, kind: PlaceKind) -> PassiveTarget {
        let passive = PassiveTarget::new(&self.next_id(), name, target, kind, &self.0.feed);
        lock(&self.0.targets).push(passive.0.clone());
        passive
    }

    /// Removes a target and ends its connection. Returns whether there was one.
    pub(crate) fn remove(&self, id: &str) -> bool {
        let mut targets = lock(&self.0.targets);
        let Some(at) = targets.iter().position(|target| *target.id == *id) else { return false };
        let target = targets.remove(at);
        drop(targets);
        target.disconnect();
        true
    }

    pub(crate) fn targets(&self) -> Vec<Arc<Target>> {
        lock(&self.0.targets).clone()
    }

    pub(crate) fn target(&self, id: &str) -> Option<Arc<Target>> {
        lock(&self.0.targets).iter().find(|target| *target.id == *id).cloned()
    }

    fn next_id(&self) -> String {
        format!("t{}", self.0.last.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Serves until the future is dropped, which closes all connections. The listeners must be those that the inspector
    /// was built for.
    pub async fn serve(self, page: TcpListener, sandbox: TcpListener) {
        let shared = self.0.clone();
        let frames = listen::serve(sandbox, move |request| {
            let response = shared.sandbox.respond(&request);
            std::future::ready(response)
        });
        let page = listen::serve(page, move |request| route::respond(self.clone(), request));
        tokio::join!(page, frames);
    }

    /// Ends the connections of all targets.
    pub fn disconnect(&self) {
        self.targets().iter().for_each(|target| target.disconnect());
    }
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector").field("port", &self.0.port).finish_non_exhaustive()
    }
}

impl fmt::Debug for InspectorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InspectorBuilder").field("folder", &self.folder).finish_non_exhaustive()
    }
}
