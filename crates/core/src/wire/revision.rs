//! The revisions as rows of one table: the only place where they differ in data.

use couplet_types::{ProtocolVersion, RpcError, code};
use serde_json::json;

use super::{Codec, legacy, modern};

/// The properties of a revision.
pub(crate) struct RevisionRow {
    pub(crate) version: ProtocolVersion,
    pub(crate) codec: &'static dyn Codec,
    /// Whether a frame may hold an array of messages.
    pub(crate) batches: bool,
    /// Whether a stream begins with an event that has only an id, so that a client can disconnect and resume it.
    pub(crate) polling: bool,
    pub(crate) audio: bool,
    pub(crate) resource_link: bool,
    pub(crate) structured: Structured,
    pub(crate) tool_annotations: bool,
    /// `title` and `_meta` on tools, resources, prompts and content; `lastModified`; completion context.
    pub(crate) titles: bool,
    /// Icons, and the details of an implementation.
    pub(crate) icons: bool,
    /// `execution` on tools, `task` on parameters, the `tasks` capability.
    pub(crate) core_tasks: bool,
    pub(crate) completions_capability: bool,
    pub(crate) progress_message: bool,
    pub(crate) elicit: Elicit,
    /// Tools in sampling, and several content blocks in one message.
    pub(crate) sampling_tools: bool,
    pub(crate) resource_not_found: i32,
    pub(crate) missing_capability: i32,
    /// Whether wrong arguments are a tool result for the model, not a protocol error.
    pub(crate) wrong_arguments_for_model: bool,
    /// The id in an error about a request whose id could not be parsed.
    pub(crate) unreadable_id: Option<&'static str>,
}

/// The structured output of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Structured {
    Never,
    Objects,
    Any,
}

/// The elicitation of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elicit {
    Never,
    /// Flat forms; an enumeration has `enumNames`.
    Plain,
    /// Forms with titled and multiple choices, and URLs that carry an id.
    UrlWithId,
    /// The same, and the URL needs no id.
    Url,
}

const FIRST: RevisionRow = RevisionRow {
    version: ProtocolVersion::V2024_11_05,
    codec: &legacy::Legacy,
    batches: false,
    polling: false,
    audio: false,
    resource_link: false,
    structured: Structured::Never,
    tool_annotations: false,
    titles: false,
    icons: false,
    core_tasks: false,
    completions_capability: false,
    progress_message: false,
    elicit: Elicit::Never,
    sampling_tools: false,
    resource_not_found: code::RESOURCE_NOT_FOUND,
    missing_capability: code::INVALID_REQUEST,
    wrong_arguments_for_model: false,
    unreadable_id: Some("null"),
};

const SECOND: RevisionRow = RevisionRow {
    version: ProtocolVersion::V2025_03_26,
    batches: true,
    audio: true,
    tool_annotations: true,
    completions_capability: true,
    progress_message: true,
    ..FIRST
};

const THIRD: RevisionRow = RevisionRow {
    version: ProtocolVersion::V2025_06_18,
    batches: false,
    resource_link: true,
    structured: Structured::Objects,
    titles: true,
    elicit: Elicit::Plain,
    ..SECOND
};

const FOURTH: RevisionRow = RevisionRow {
    version: ProtocolVersion::V2025_11_25,
    polling: true,
    icons: true,
    core_tasks: true,
    elicit: Elicit::UrlWithId,
    sampling_tools: true,
    wrong_arguments_for_model: true,
    unreadable_id: None,
    ..THIRD
};

const FIFTH: RevisionRow = RevisionRow {
    version: ProtocolVersion::V2026_07_28,
    codec: &modern::Modern,
    structured: Structured::Any,
    polling: false,
    core_tasks: false,
    elicit: Elicit::Url,
    resource_not_found: code::INVALID_PARAMS,
    missing_capability: code::MISSING_CLIENT_CAPABILITY,
    ..FOURTH
};

/// A row for each [`ProtocolVersion`], oldest first.
static REVISIONS: [RevisionRow; ProtocolVersion::ALL.len()] = [FIRST, SECOND, THIRD, FOURTH, FIFTH];

const _: () = {
    let mut at = 0;
    while at < REVISIONS.len() {
        assert!(REVISIONS[at].version as usize == at, "the rows are not in the order of `ProtocolVersion`");
        assert!(ProtocolVersion::ALL[at] as usize == at, "`ProtocolVersion::ALL` is not in the order of its variants");
        at += 1;
    }
};

impl RevisionRow {
    /// The row's bit in the method table.
    pub(crate) fn bit(&self) -> u8 {
        1 << self.version as usize
    }
}

/// A revision of the protocol, with its properties: ask for them instead of comparing versions.
#[derive(Clone, Copy)]
pub struct Revision(pub(crate) &'static RevisionRow);

impl Revision {
    /// Returns the revision of a date.
    pub const fn of(version: ProtocolVersion) -> Self {
        Self(&REVISIONS[version as usize])
    }

    /// The revision for messages before the negotiation.
    pub(crate) fn oldest() -> Self {
        Self(&REVISIONS[0])
    }

    /// Returns the date of the revision.
    pub fn version(self) -> ProtocolVersion {
        self.0.version
    }

    /// Whether a session is opened by a handshake; if not, every request is stateless.
    pub fn has_sessions(self) -> bool {
        self.0.codec.has_sessions()
    }

    /// Returns the position among all revisions, for arrays with an entry per revision.
    pub const fn index(self) -> usize {
        self.0.version as usize
    }

    /// The number of revisions.
    pub const COUNT: usize = REVISIONS.len();

    /// Whether a stream over HTTP begins with an event that has only an id, so that a client can disconnect and resume it.
    pub fn primes_streams(self) -> bool {
        self.0.polling
    }

    /// Whether a frame may hold several messages.
    pub fn allows_batches(self) -> bool {
        self.0.batches
    }

    /// Whether tasks are part of the protocol itself, and not an extension.
    pub fn has_core_tasks(self) -> bool {
        self.0.core_tasks
    }

    /// Whether tools, resources and prompts have titles.
    pub fn has_titles(self) -> bool {
        self.0.titles
    }

    /// Whether tools have annotations.
    pub fn has_tool_annotations(self) -> bool {
        self.0.tool_annotations
    }

    /// Whether tools can return structured content.
    pub fn has_structured_output(self) -> bool {
        self.0.structured != Structured::Never
    }

    /// Whether structured content must be an object.
    pub fn wants_object_output(self) -> bool {
        self.0.structured == Structured::Objects
    }

    /// Whether the protocol itself has a method that a client may send.
    pub fn has_method(self, method: &str) -> bool {
        super::method::client_request(method, self.0).is_some()
    }

    /// Returns the error for a request that needs an extension which the client did not declare.
    pub fn missing_extension(self, id: &str) -> RpcError {
        self.missing_capability(&format!("the extension `{id}`"), json!({ "extensions": { id: {} } }))
    }

    /// Returns the error for a resource that does not exist.
    pub fn resource_not_found(self, uri: &str) -> RpcError {
        RpcError::new(self.0.resource_not_found, format!("resource `{uri}` does not exist"))
            .with_data(json!({ "uri": uri }))
    }

    /// Whether wrong tool arguments are a result for the model, and not an error for the client.
    pub fn wrong_arguments_are_results(self) -> bool {
        self.0.wrong_arguments_for_model
    }

    /// Returns the error of a handler, with a code that the revision has.
    pub(crate) fn permitted(self, mut error: RpcError) -> RpcError {
        let is_defined = match error.code {
            code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_VERSION => true,
            code::URL_ELICITATION_REQUIRED => self.0.elicit == Elicit::UrlWithId,
            // From the stateless era on, the specification reserves these.
            -32099..=-32020 => self.0.codec.has_sessions(),
            _ => true,
        };
        error.code = match error.code {
            code::RESOURCE_NOT_FOUND => self.0.resource_not_found,
            _ if !is_defined => code::INTERNAL_ERROR,
            code => code,
        };
        error
    }

    /// Whether a URL elicitation has an id, and the client is notified when it is complete.
    pub(crate) fn has_elicitation_ids(self) -> bool {
        self.0.elicit == Elicit::UrlWithId
    }

    /// Returns the error for a capability that the client lacks; `required` is that capability.
    pub(crate) fn missing_capability(self, what: &str, required: impl serde::Serialize) -> RpcError {
        RpcError::new(self.0.missing_capability, format!("the client does not support {what}"))
            .with_data(json!({ "requiredCapabilities": required }))
    }

    /// Returns the error for a request that the client does not support; `required` is the capability that it lacks.
    pub(crate) fn cannot_ask(self, what: &str, capability: &str, required: serde_json::Value) -> RpcError {
        let mut error = self.missing_capability(capability, required);
        error.message = format!("the client cannot {what}: it does not support {capability}; use a client that does");
        error
    }

    /// Whether an error may be one of [`Revision::missing_capability`].
    pub(crate) fn is_missing_capability(self, error: &RpcError) -> bool {
        error.code == self.0.missing_capability && error.data.is_some()
    }
}

impl std::fmt::Debug for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Revision({})", self.0.version)
    }
}
