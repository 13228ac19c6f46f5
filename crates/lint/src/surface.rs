//! The answers of a server.

use std::collections::BTreeMap;

use couplet_core::{Dialect, JsonText, Revision};
use couplet_types::{ClientCapabilities, Implementation, ProtocolVersion, RawJson, RpcError};
use serde_json::Value;

use crate::{Place, Subject, read};

/// The maximum number of checked items per list. No host accepts more, and all of them are in memory already.
const MOST_ITEMS: usize = 2_000;

/// The answer to one request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// The result, as raw JSON.
    Result(RawJson),
    /// A JSON-RPC error.
    Error(RpcError),
    /// No readable answer; the string says what happened.
    Unreadable(String),
}

impl Answer {
    /// Parses a result. Text that is not JSON becomes [`Answer::Unreadable`].
    pub fn text(text: impl Into<String>) -> Self {
        match RawJson::from_text(text) {
            Ok(raw) => Self::Result(raw),
            Err(error) => Self::Unreadable(format!("the answer is not JSON: {error}")),
        }
    }
}

impl From<RawJson> for Answer {
    fn from(result: RawJson) -> Self {
        Self::Result(result)
    }
}

impl From<Value> for Answer {
    fn from(result: Value) -> Self {
        Self::Result(result.into())
    }
}

impl From<RpcError> for Answer {
    fn from(error: RpcError) -> Self {
        Self::Error(error)
    }
}

/// The answers of a server to a client of one revision. Lists that were not requested are not checked.
///
/// ```
/// use couplet_lint::Answers;
/// use couplet_types::{ProtocolVersion, RpcError};
/// use serde_json::json;
///
/// let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": { "name": "a", "version": "1" } });
/// let answers = Answers::new(ProtocolVersion::V2025_06_18, hello)
///     .tools([json!({ "tools": [], "nextCursor": "2" }), json!({ "tools": [] })])
///     .prompts([RpcError::method_not_found("prompts/list")]);
/// ```
#[derive(Clone, Debug)]
pub struct Answers {
    revision: ProtocolVersion,
    hello: Answer,
    lists: BTreeMap<Kind, Vec<Answer>>,
    old_transport: bool,
}

impl Answers {
    /// Creates a set of answers from the one to `initialize` or `server/discover`, whichever the revision has.
    pub fn new(revision: ProtocolVersion, hello: impl Into<Answer>) -> Self {
        Self { revision, hello: hello.into(), lists: BTreeMap::new(), old_transport: false }
    }

    /// Sets the pages of `tools/list`.
    #[must_use]
    pub fn tools(self, pages: impl IntoIterator<Item = impl Into<Answer>>) -> Self {
        self.list(Kind::Tools, pages)
    }

    /// Sets the pages of `resources/list`.
    #[must_use]
    pub fn resources(self, pages: impl IntoIterator<Item = impl Into<Answer>>) -> Self {
        self.list(Kind::Resources, pages)
    }

    /// Sets the pages of `resources/templates/list`.
    #[must_use]
    pub fn resource_templates(self, pages: impl IntoIterator<Item = impl Into<Answer>>) -> Self {
        self.list(Kind::Templates, pages)
    }

    /// Sets the pages of `prompts/list`.
    #[must_use]
    pub fn prompts(self, pages: impl IntoIterator<Item = impl Into<Answer>>) -> Self {
        self.list(Kind::Prompts, pages)
    }

    /// Marks the server as reached over HTTP+SSE, the deprecated transport of 2024-11-05.
    #[must_use]
    pub fn over_http_sse(mut self) -> Self {
        self.old_transport = true;
        self
    }

    fn list(mut self, kind: Kind, pages: impl IntoIterator<Item = impl Into<Answer>>) -> Self {
        self.lists.insert(kind, pages.into_iter().map(Into::into).collect());
        self
    }
}

/// The answers of a server in all requested revisions, parsed.
#[derive(Clone, Debug, Default)]
pub struct Surface {
    /// The requested revisions.
    pub(crate) asked: Vec<Revision>,
    /// The parsed answers, by the revision that the server chose; oldest first.
    pub(crate) said: Vec<Said>,
    /// Answers to `initialize` or `server/discover` that are errors or unreadable.
    pub(crate) refused: Vec<(ProtocolVersion, Answer)>,
}

impl Surface {
    /// Parses the answers, one set for each requested revision.
    pub fn from_answers(answers: impl IntoIterator<Item = Answers>) -> Self {
        let mut surface = Self::default();
        for answers in answers {
            surface.asked.push(Revision::of(answers.revision));
            match Said::read(&answers) {
                Some(said) if surface.said.iter().all(|known| known.version() != said.version()) => {
                    surface.said.push(said);
                }
                Some(_) => {}
                None => surface.refused.push((answers.revision, answers.hello)),
            }
        }
        surface.said.sort_by_key(|said| said.revision.index());
        surface
    }

    /// The answers in the newest supported revision, which has the most members.
    pub(crate) fn newest(&self) -> Option<&Said> {
        self.said.last()
    }

    /// The items of one kind in the newest revision.
    pub(crate) fn items(&self, kind: Kind) -> &[Item] {
        self.newest().and_then(|said| said.lists.get(&kind)).map_or(&[], |list| &list.items)
    }

    /// The tools in the newest revision.
    pub(crate) fn tools(&self) -> &[Item] {
        self.items(Kind::Tools)
    }
}

/// A kind of listed item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    pub(crate) const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The capability that the list belongs to.
    pub(crate) const fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources | Self::Templates => "resources",
            Self::Prompts => "prompts",
        }
    }

    fn subject(self, value: &Value, at: usize) -> Subject {
        let named = |member: &str| match value.get(member).and_then(Value::as_str) {
            // The name is part of every place, so it must not be long.
            Some(name) if !name.is_empty() => name.chars().take(200).collect(),
            _ => format!("#{}", at + 1),
        };
        match self {
            Self::Tools => Subject::Tool(named("name")),
            Self::Resources => Subject::Resource(named("uri")),
            Self::Templates => Subject::Template(named("uriTemplate")),
            Self::Prompts => Subject::Prompt(named("name")),
        }
    }
}

/// The answers of a server in one revision.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) revision: Revision,
    pub(crate) hello: Page,
    pub(crate) info: Option<Implementation>,
    pub(crate) lists: BTreeMap<Kind, Listing>,
    pub(crate) old_transport: bool,
}

impl Said {
    pub(crate) fn version(&self) -> ProtocolVersion {
        self.revision.version()
    }

    /// A member of the answer to `initialize` or `server/discover`.
    pub(crate) fn hello(&self, member: &str) -> Option<&Value> {
        self.hello.value.get(member)
    }

    pub(crate) fn instructions(&self) -> Option<&str> {
        self.hello("instructions").and_then(Value::as_str)
    }

    fn read(answers: &Answers) -> Option<Self> {
        let Answer::Result(raw) = &answers.hello else { return None };
        let (value, doubled) = read::value(raw.get()).ok().filter(|(value, _)| value.is_object())?;
        let asked = Revision::of(answers.revision);
        // A server that does not support the requested revision answers in another one.
        let spoken = value.get("protocolVersion").and_then(Value::as_str).and_then(|text| text.parse().ok());
        let revision = if asked.has_sessions() { spoken.map_or(asked, Revision::of) } else { asked };
        let hello = Page { value, text: raw.clone(), doubled };
        let info = hello.info(revision);
        let lists = answers.lists.iter().map(|(kind, pages)| (*kind, Listing::read(*kind, pages))).collect();
        Some(Self { revision, hello, info, lists, old_transport: answers.old_transport })
    }
}

/// A result without its listed items.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) value: Value,
    pub(crate) text: RawJson,
    pub(crate) doubled: Vec<String>,
}

impl Page {
    /// The name and version of the server.
    fn info(&self, revision: Revision) -> Option<Implementation> {
        if revision.has_sessions() {
            return serde_json::from_value(self.value.get("serverInfo")?.clone()).ok();
        }
        // The client side of the protocol knows where that is, independently of the client.
        let reader = Dialect::new(revision.version(), Implementation::default(), ClientCapabilities::default());
        reader.server_info(&JsonText::new(self.text.get().to_owned()).ok()?)
    }
}

/// A list with all its pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) pages: Vec<Page>,
    pub(crate) items: Vec<Item>,
    /// The number of items, checked or not, and their total length.
    pub(crate) count: usize,
    pub(crate) bytes: usize,
    pub(crate) errors: Vec<RpcError>,
    /// Parts that could not be parsed.
    pub(crate) broken: Vec<String>,
}

impl Listing {
    fn read(kind: Kind, answers: &[Answer]) -> Self {
        let mut list = Self::default();
        for answer in answers {
            match answer {
                Answer::Error(error) => list.errors.push(error.clone()),
                Answer::Unreadable(what) => list.broken.push(what.clone()),
                Answer::Result(raw) => list.page(kind, raw),
            }
        }
        list
    }

    fn page(&mut self, kind: Kind, raw: &RawJson) {
        let mut members = match raw.parse::<BTreeMap<String, RawJson>>() {
            Ok(members) => members,
            Err(error) => return self.broken.push(format!("the result is not an object: {error}")),
        };
        let items = match members.remove(kind.member()).map(|raw| raw.parse::<Vec<RawJson>>()) {
            Some(Ok(items)) => items,
            Some(Err(_)) => return self.broken.push(format!("`{}` is not an array", kind.member())),
            None => return self.broken.push(format!("`{}` is missing", kind.member())),
        };
        for item in items {
            self.count += 1;
            self.bytes += item.get().len();
            if self.items.len() >= MOST_ITEMS {
                continue;
            }
            match read::value(item.get()) {
                Ok((value, doubled)) => {
                    let subject = kind.subject(&value, self.count - 1);
                    self.items.push(Item { subject, value, doubled, bytes: item.get().len() });
                }
                Err(error) => self.broken.push(format!("{} {} cannot be read: {error}", kind.member(), self.count)),
            }
        }
        let rest = members.into_iter().filter_map(|(key, raw)| Some((key, read::value(raw.get()).ok()?.0)));
        self.pages.push(Page { value: rest.collect(), text: raw.clone(), doubled: Vec::new() });
    }
}

/// A listed item.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) subject: Subject,
    pub(crate) value: Value,
    pub(crate) doubled: Vec<String>,
    pub(crate) bytes: usize,
}

impl Item {
    pub(crate) fn get(&self, member: &str) -> Option<&Value> {
        self.value.get(member)
    }

    /// A member that is a string.
    pub(crate) fn text(&self, member: &str) -> Option<&str> {
        self.get(member).and_then(Value::as_str)
    }

    /// The name; empty if there is none.
    pub(crate) fn name(&self) -> &str {
        self.text("name").unwrap_or_default()
    }

    pub(crate) fn place(&self) -> Place {
        Place::new(self.subject.clone())
    }

    pub(crate) fn at(&self, pointer: impl Into<String>) -> Place {
        self.place().at(pointer)
    }
}
