//! Results that were too large, to be read in parts.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_core::sync::lock;
use couplet_server::{Ctx, IntoResource, extract::Path, resource};
use couplet_types::{CacheScope, ReadResourceResult, ResourceContents, RpcError};
use hmac_sha256::HMAC;

use crate::{
    names::owner,
    spilled::{Document, Spilled},
};

/// A store of results that were too large, in the memory of this process: [`ResponseLimit`](crate::ResponseLimit) puts them
/// there, and clients read them as resources, in parts.
///
/// A result is stored for a limited time, and all results together have a limited size: the caller with the largest share
/// loses its oldest result first. The URI is sealed: it opens only for the principal or session that got it, and in the
/// stateless revision without a principal only for those who have the URI, which cannot be guessed. Replicas do not share
/// results.
///
/// Register its [resource](Spill::resource), which declares the capability; without it results are truncated only.
///
/// ```
/// use std::time::Duration;
///
/// use couplet_middleware::{ResponseLimit, Spill};
/// use couplet_server::Server;
///
/// let spill = Spill::new().ttl(Duration::from_secs(300)).max_bytes(10_000_000);
/// let server: Server = Server::new("app", "1.0.0")
///     .resource(spill.resource())
///     .middleware(ResponseLimit::new(100_000).spill(&spill));
/// # drop(server);
/// ```
#[derive(Clone)]
pub struct Spill {
    ttl: Duration,
    max_bytes: usize,
    max_results: usize,
    shared: Arc<Shared>,
}

struct Shared {
    /// The key of this process that seals URIs.
    key: [u8; 32],
    is_registered: AtomicBool,
    spilled: Mutex<Spilled>,
}

/// The lengths of the random part of a sealed id, and of its signature.
const NONCE: usize = 16;
const MAC: usize = 32;

impl Spill {
    /// Creates a store: at most 1,000 results of 64 MB together, for 10 minutes.
    ///
    /// # Panics
    /// If the system has no source of randomness.
    pub fn new() -> Self {
        let shared = Shared { key: random(), is_registered: AtomicBool::new(false), spilled: Mutex::default() };
        Self { ttl: Duration::from_secs(600), max_bytes: 64_000_000, max_results: 1_000, shared: Arc::new(shared) }
    }

    /// Sets the time for which a result can be read.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the size of all results together. A larger one is truncated only.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the number of results.
    #[must_use]
    pub fn max_results(mut self, results: usize) -> Self {
        self.max_results = results;
        self
    }

    /// Returns the template of the resources, `result://{id}/{part}`, to be registered with the server.
    pub fn resource<S: Clone + Send + Sync + 'static>(&self) -> impl IntoResource<S> + use<S> {
        self.shared.is_registered.store(true, Ordering::Relaxed);
        let spill = self.clone();
        let read =
            move |Path((id, part)): Path<(String, usize)>, ctx: Ctx| std::future::ready(spill.read(&id, part, &ctx));
        resource("result://{id}/{part}", read).name("result").title("Parts of large results").description(
            "A part of the result of a tool that was too large. The result of the tool has links to its parts.",
        )
    }

    /// Returns whether clients can read what is stored.
    pub(crate) fn is_registered(&self) -> bool {
        self.shared.is_registered.load(Ordering::Relaxed)
    }

    /// Stores a document for a caller, and returns its sealed id; `None` if it is too large.
    pub(crate) fn store(&self, owner: &str, document: Document) -> Option<String> {
        if document.text.len() > self.max_bytes || self.max_results == 0 {
            return None;
        }
        let nonce: [u8; NONCE] = random();
        let mac = HMAC::mac(signed(&nonce, owner), self.shared.key);
        lock(&self.shared.spilled).add(nonce, owner, document, self.ttl, self.max_bytes, self.max_results);
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &mac[..]].concat()))
    }

    fn read(&self, id: &str, part: usize, ctx: &Ctx) -> Result<ReadResourceResult, RpcError> {
        let uri = uri(id, part);
        let found = self.open(id, &owner(ctx.call())).and_then(|document| {
            let text = document.part(part)?;
            let contents = ResourceContents::text(uri.as_str(), text).mime_type(document.mime_type);
            Some(ReadResourceResult::new(vec![contents]).cache_scope(CacheScope::Private))
        });
        found.ok_or_else(|| ctx.call().revision.resource_not_found(&uri))
    }

    /// Opens a sealed id for the caller that it was made for.
    fn open(&self, id: &str, owner: &str) -> Option<Arc<Document>> {
        let bytes = URL_SAFE_NO_PAD.decode(id).ok()?;
        let (nonce, mac) = bytes.split_at_checked(NONCE)?;
        let (nonce, mac): ([u8; NONCE], [u8; MAC]) = (nonce.try_into().ok()?, mac.try_into().ok()?);
        if !HMAC::verify(signed(&nonce, owner), self.shared.key, &mac) {
            return None;
        }
        lock(&self.shared.spilled).get(&nonce, self.ttl)
    }
}

impl Default for Spill {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Spill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ttl, max_bytes, max_results, .. } = self;
        f.debug_struct("Spill")
            .field("ttl", ttl)
            .field("max_bytes", max_bytes)
            .field("max_results", max_results)
            .finish_non_exhaustive()
    }
}

/// Returns the URI of a part, the first of which is 1.
pub(crate) fn uri(id: &str, part: usize) -> String {
    format!("result://{id}/{part}")
}

fn signed(nonce: &[u8; NONCE], owner: &str) -> Vec<u8> {
    [nonce, owner.as_bytes()].concat()
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system's random source works");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document::new(text.to_owned(), "text/plain", 1_000)
    }

    #[test]
    fn an_id_opens_for_its_owner_only() {
        let spill = Spill::new();
        let id = spill.store("principal ada", document("secret")).unwrap();
        assert_eq!(spill.open(&id, "principal ada").unwrap().text, "secret");
        for other in ["principal bob", "", "session ada"] {
            assert!(spill.open(&id, other).is_none(), "{other}");
        }
        assert!(Spill::new().open(&id, "principal ada").is_none(), "another process");
        for at in 0..id.len() {
            let mut changed = id.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(spill.open(&changed, "principal ada").is_none(), "{changed}");
        }
        for wrong in ["", "x", "ä", &id[1..]] {
            assert!(spill.open(wrong, "principal ada").is_none(), "{wrong}");
        }
    }

    #[test]
    fn what_is_too_large_is_not_stored() {
        let spill = Spill::new().max_bytes(5);
        assert!(spill.store("a", document("123456")).is_none());
        assert!(Spill::new().max_results(0).store("a", document("1")).is_none());
        assert!(!format!("{spill:?}").contains("key"));
    }
}
