//! The requests of the protocol: one row each. Notifications have no rows, because nothing depends on more than their
//! names ([`NotificationMethod`]).

use std::borrow::Cow;

use couplet_types::{NotificationMethod, ProtocolVersion, RequestMethod, RpcError, ServerCapabilities};

use super::revision::{Revision, RevisionRow};
use crate::service::Description;

/// What is known about a request of the protocol, the same in every revision that has it.
///
/// ```
/// use couplet_core::{Method, types::RequestMethod};
///
/// let method = Method::named("tools/call").expect("the protocol has this method");
/// assert_eq!(method.request, RequestMethod::CallTool);
/// assert!(method.may_ask && !method.is_cacheable());
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Method {
    /// The method.
    pub request: RequestMethod,
    /// Whether the handler may ask the client for input before it answers.
    pub may_ask: bool,
    /// How long a client may cache the result.
    pub cached: Cached,
    /// The subject of the request, where a parameter names it.
    pub target: Option<CallTarget>,
    /// Whether a client may send the request again without knowing what became of the first one.
    pub retry: Retry,
    revisions: Revisions,
    sender: Speaker,
    pub(crate) capability: Capability,
}

/// How long the result of a method may be cached, in revisions whose results have a `ttlMs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// Not at all.
    Never,
    /// Until it expires.
    UntilExpired,
    /// Until it expires or the list of tools changes.
    UntilToolsChange,
    /// Until it expires or the list of prompts changes.
    UntilPromptsChange,
    /// Until it expires or the list of resources changes.
    UntilResourcesChange,
    /// Until it expires or the resource that was read is updated.
    UntilUpdated,
}

/// The subject of a request, which one of its parameters names.
///
/// Over HTTP, stateless requests repeat it in the header `Mcp-Name`. Spans have it as an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallTarget {
    /// The name of a tool.
    Tool,
    /// The name of a prompt.
    Prompt,
    /// The URI of a resource.
    Resource,
}

/// Whether a request may be sent twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// No: it may have side effects.
    Never,
    /// Yes: the second one has the same effect as the first, such as a handshake or a subscription.
    Idempotent,
    /// Yes: it only reads.
    Safe,
}

/// The side that sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaker {
    Client,
    Server,
    Either,
}

/// The capability that a server must advertise to have a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capability {
    Open,
    Tools,
    Resources,
    Subscribe,
    Prompts,
    Completions,
    Logging,
    Tasks,
}

/// The revisions that have a method: one bit for each row of the revision table.
#[derive(Clone, Copy, Debug)]
struct Revisions(u8);

impl Revisions {
    const ALL: Self = Self(u8::MAX);
    const FROM_2025_06_18: Self = Self::from(ProtocolVersion::V2025_06_18);
    const UNTIL_2025_11_25: Self = Self::until(ProtocolVersion::V2025_11_25);
    const ONLY_2025_11_25: Self =
        Self(Self::from(ProtocolVersion::V2025_11_25).0 & Self::until(ProtocolVersion::V2025_11_25).0);
    const FROM_2026_07_28: Self = Self::from(ProtocolVersion::V2026_07_28);

    /// This revision and all later ones.
    const fn from(first: ProtocolVersion) -> Self {
        Self(u8::MAX << Revision::of(first).index())
    }

    /// This revision and all earlier ones.
    const fn until(last: ProtocolVersion) -> Self {
        Self(u8::MAX >> (u8::BITS as usize - 1 - Revision::of(last).index()))
    }
}

const _: () = assert!(ProtocolVersion::ALL.len() <= u8::BITS as usize, "widen `Revisions`");

macro_rules! rows {
    ($($method:ident: $revisions:ident $sender:ident $capability:ident $may_ask:ident $cached:ident $target:tt $retry:ident)*) => {
        [$(Method {
            request: RequestMethod::$method,
            may_ask: $may_ask,
            cached: Cached::$cached,
            target: target!($target),
            retry: Retry::$retry,
            revisions: Revisions::$revisions,
            sender: Speaker::$sender,
            capability: Capability::$capability,
        }),*]
    };
}

macro_rules! target {
    (-) => {
        None
    };
    ($target:ident) => {
        Some(CallTarget::$target)
    };
}

/// A row for each [`RequestMethod`], in the order of its variants.
static ROWS: [Method; RequestMethod::ALL.len()] = rows! {
    //                     revisions        sender capability  asks  cached               target   retry
    CallTool:              ALL              Client Tools       true  Never                Tool     Never
    ListTools:             ALL              Client Tools       false UntilToolsChange     -        Safe
    ReadResource:          ALL              Client Resources   true  UntilUpdated         Resource Safe
    ListResources:         ALL              Client Resources   false UntilResourcesChange -        Safe
    ListResourceTemplates: ALL              Client Resources   false UntilResourcesChange -        Safe
    GetPrompt:             ALL              Client Prompts     true  Never                Prompt   Safe
    ListPrompts:           ALL              Client Prompts     false UntilPromptsChange   -        Safe
    Complete:              ALL              Client Completions false Never                -        Safe
    Initialize:            UNTIL_2025_11_25 Client Open        false Never                -        Idempotent
    Ping:                  UNTIL_2025_11_25 Either Open        false Never                -        Idempotent
    SetLevel:              UNTIL_2025_11_25 Client Logging     false Never                -        Idempotent
    Subscribe:             UNTIL_2025_11_25 Client Subscribe   false Never                Resource Idempotent
    Unsubscribe:           UNTIL_2025_11_25 Client Subscribe   false Never                Resource Idempotent
    Discover:              FROM_2026_07_28  Client Open        false UntilExpired         -        Idempotent
    Listen:                FROM_2026_07_28  Client Open        false Never                -        Idempotent
    GetTask:               ONLY_2025_11_25  Either Tasks       false Never                -        Never
    GetTaskPayload:        ONLY_2025_11_25  Either Tasks       true  Never                -        Never
    ListTasks:             ONLY_2025_11_25  Either Tasks       false Never                -        Never
    CancelTask:            ONLY_2025_11_25  Either Tasks       false Never                -        Never
    CreateMessage:         ALL              Server Open        false Never                -        Never
    ListRoots:             ALL              Server Open        false Never                -        Never
    Elicit:                FROM_2025_06_18  Server Open        false Never                -        Never
};

const _: () = {
    let mut at = 0;
    while at < ROWS.len() {
        assert!(ROWS[at].request as usize == at, "the rows are not in the order of `RequestMethod`");
        at += 1;
    }
};

impl Method {
    /// Returns the row of a method.
    pub const fn of(request: RequestMethod) -> &'static Self {
        &ROWS[request as usize]
    }

    /// Returns the row of the method of this name; `None` if no revision has one.
    pub fn named(name: &str) -> Option<&'static Self> {
        RequestMethod::from_name(name).map(Self::of)
    }

    /// Returns the method's name on the wire.
    pub const fn name(&self) -> &'static str {
        self.request.as_str()
    }

    /// Whether clients may cache the result, in revisions whose results have a `ttlMs`.
    pub const fn is_cacheable(&self) -> bool {
        !matches!(self.cached, Cached::Never)
    }

    /// Whether clients may send the method in a revision.
    pub(crate) fn is_sent_by_clients(&self, revision: &RevisionRow) -> bool {
        self.sender != Speaker::Server && self.revisions.0 & revision.bit() != 0
    }

    /// Whether the answer to a request of a server may contain this request of its own.
    pub(crate) fn is_input_request(&self) -> bool {
        self.sender == Speaker::Server
    }
}

impl CallTarget {
    /// Returns the name of the parameter.
    pub const fn parameter(self) -> &'static str {
        match self {
            Self::Tool | Self::Prompt => "name",
            Self::Resource => "uri",
        }
    }

    /// Returns the name of the span attribute, by OpenTelemetry's conventions.
    pub const fn attribute(self) -> &'static str {
        match self {
            Self::Tool => "gen_ai.tool.name",
            Self::Prompt => "gen_ai.prompt.name",
            Self::Resource => "mcp.resource.uri",
        }
    }
}

/// Returns the row of a request that clients may send in a revision.
pub(crate) fn client_request(name: &str, revision: &RevisionRow) -> Option<&'static Method> {
    Method::named(name).filter(|method| method.is_sent_by_clients(revision))
}

/// Returns the row of a request that a server serves in a revision; `None` for one that only an extension or the server
/// itself has. `known` is the method of this name, looked up once by the caller.
///
/// # Errors
/// -32601 if the server does not serve it.
#[inline]
pub(crate) fn served(
    name: &str,
    known: Option<RequestMethod>,
    revision: Revision,
    about: &Description,
) -> Result<Option<&'static Method>, RpcError> {
    let known = known.map(Method::of).filter(|method| method.is_sent_by_clients(revision.0));
    let is_served = known.is_some_and(|method| method.capability.is_open(&about.capabilities))
        || about.extra_methods.iter().any(|extra| extra == name)
        || about.extensions_in(revision).any(|extension| extension.find(name).is_some());
    if is_served { Ok(known) } else { Err(RpcError::method_not_found(name)) }
}

/// Returns a method's name, without an allocation if the protocol has the method.
pub(crate) fn canonical(name: &str) -> Cow<'static, str> {
    let request = RequestMethod::from_name(name).map(RequestMethod::as_str);
    let known = request.or_else(|| NotificationMethod::from_name(name).map(NotificationMethod::as_str));
    known.map_or_else(|| Cow::Owned(name.to_owned()), Cow::Borrowed)
}

impl Capability {
    /// Whether a server that advertises these capabilities has the method.
    pub(crate) fn is_open(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::Open => true,
            Self::Tools => capabilities.tools.is_some(),
            Self::Resources => capabilities.resources.is_some(),
            Self::Subscribe => capabilities.resources.as_ref().is_some_and(|r| r.subscribe == Some(true)),
            Self::Prompts => capabilities.prompts.is_some(),
            Self::Completions => capabilities.completions.is_some(),
            Self::Logging => capabilities.logging.is_some(),
            Self::Tasks => capabilities.tasks.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Method, ProtocolVersion, RequestMethod, Revision};

    /// The revisions in which clients may send each method.
    #[test]
    fn methods_exist_in_their_revisions() {
        let all = "2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28";
        let sessions = "2024-11-05 2025-03-26 2025-06-18 2025-11-25";
        for (method, expected) in [
            (RequestMethod::CallTool, all),
            (RequestMethod::ListResourceTemplates, all),
            (RequestMethod::Ping, sessions),
            (RequestMethod::Subscribe, sessions),
            (RequestMethod::GetTaskPayload, "2025-11-25"),
            (RequestMethod::Discover, "2026-07-28"),
            (RequestMethod::Elicit, ""),
        ] {
            let exists = |v: &&ProtocolVersion| Method::of(method).is_sent_by_clients(Revision::of(**v).0);
            let found: Vec<_> = ProtocolVersion::ALL[..5].iter().filter(exists).map(|v| v.as_str()).collect();
            assert_eq!(found.join(" "), expected, "{method}");
        }
    }
}
