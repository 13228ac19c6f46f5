//! ViewLists: prebuilt for each revision, in pages with sealed cursors.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
};

use couplet_core::{Call, JsonText, Reply, ResultBody, Revision, message::Params, sync::lock};
use couplet_proxy::TaskForms;
use couplet_types::{ProtocolVersion, RawJson, RpcError, Tool};

use crate::{
    names::Kind,
    policy::Door,
    service::{View, item::ViewItem, snapshot::Snapshot},
};

/// The most items of a page.
const ITEMS: usize = 1000;

/// The most bytes of a page, unless its only item is larger.
const BYTES: usize = 2 << 20;

/// The most principals with lists of their own.
const PRINCIPALS: usize = 256;

type Slot = OnceLock<Arc<ViewList>>;
type Slots = [Slot; ProtocolVersion::ALL.len()];

/// The lists of a snapshot: those for all callers, and those of principals where the policy distinguishes them.
#[derive(Default)]
pub(crate) struct ViewLists {
    common: [Slots; 4],
    own: Mutex<HashMap<OwnKey, Arc<ViewList>>>,
}

/// A principal, a kind and a revision.
type OwnKey = (Option<Arc<str>>, usize, usize);

/// The items of one kind in one revision.
struct ViewList {
    items: Vec<(Key, JsonText)>,
    /// The first page, without a cursor.
    first: ResultBody,
    /// The number of its items.
    length: usize,
}

/// The place of an item that stays valid when the list changes.
struct Key {
    member: usize,
    /// The position among the items of its server.
    position: usize,
    name: Arc<str>,
}

impl View {
    /// Answers a list request.
    pub(crate) fn list(&self, call: &Call, kind: Kind) -> Reply {
        let snapshot = self.snapshot();
        let list = snapshot.list(call, kind);
        let start = match call.params.read_str("cursor") {
            Ok(None) => 0,
            Ok(Some(cursor)) => match self.place(call, kind, &cursor, &list) {
                Some(start) => start,
                None => return RpcError::invalid_params("`cursor` is not valid: it was not made here").into(),
            },
            Err(error) => return error.into(),
        };
        if start == 0 && list.length == list.items.len() {
            return Reply::Complete(list.first.clone());
        }
        let items = &list.items[start..];
        let length = page(items);
        let next = items.get(length).and_then(|_| items[..length].last()).map(|(key, _)| self.cursor(call, kind, key));
        Reply::Complete(body(kind, &items[..length], next.as_deref()))
    }

    /// The cursor after an item.
    fn cursor(&self, call: &Call, kind: Kind, after: &Key) -> String {
        let place = format!("{}/{}/{}", after.member, after.position, after.name);
        self.seals().cursor(call, kind.as_str(), &place)
    }

    /// The position of the item that follows the one of a cursor, or of where that one was.
    fn place(&self, call: &Call, kind: Kind, cursor: &str, list: &ViewList) -> Option<usize> {
        let place = self.seals().open_cursor(call, kind.as_str(), cursor)?;
        let mut parts = place.splitn(3, '/');
        let (member, position, name) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?);
        if let Some(at) = list.items.iter().position(|(key, _)| key.member == member && &*key.name == name) {
            return Some(at + 1);
        }
        let is_later = |key: &Key| (key.member, key.position) >= (member, position);
        Some(list.items.iter().position(|(key, _)| is_later(key)).unwrap_or(list.items.len()))
    }
}

impl Snapshot {
    fn list(&self, call: &Call, kind: Kind) -> Arc<ViewList> {
        let (of, revision) = (index(kind), call.revision);
        let make = || Arc::new(self.make(call, kind, revision));
        if !self.rules.depends_on_principal() {
            return self.lists.common[of][revision.index()].get_or_init(make).clone();
        }
        let principal = call.caller.as_ref().map(|caller| caller.principal().clone());
        let key = (principal, of, revision.index());
        if let Some(list) = lock(&self.lists.own).get(&key) {
            return list.clone();
        }
        let list = make();
        let mut own = lock(&self.lists.own);
        if own.len() >= PRINCIPALS {
            own.clear();
        }
        own.insert(key, list.clone());
        list
    }

    fn make(&self, call: &Call, kind: Kind, revision: Revision) -> ViewList {
        let mut items: Vec<(Key, JsonText)> = Vec::new();
        let (mut member, mut position) = (0, 0);
        for (name, item) in self.shown(kind) {
            if item.member != member {
                (member, position) = (item.member, 0);
            }
            position += 1;
            if !self.rules.shows(&self.profile, self, item, Some(call), Door::List) {
                continue;
            }
            if let Some(text) = item.exposed(name, revision).map(|text| self.with_tasks(item, text, revision)) {
                items.push((Key { member, position, name: name.into() }, text));
            }
        }
        let length = page(&items);
        let first = body(kind, &items[..length], None);
        ViewList { items, first, length }
    }

    /// A definition with what the caller's revision says about tasks.
    fn with_tasks(&self, item: &ViewItem, text: JsonText, revision: Revision) -> JsonText {
        let catalog = &self.members[item.member].catalog;
        let is_extension =
            || catalog.revision().is_some_and(|server| TaskForms::are_extension(catalog.capabilities(), server));
        if item.kind != Kind::Tool || !revision.has_core_tasks() || !is_extension() {
            return text;
        }
        let listed = || {
            let mut tool: Tool = text.parse().ok()?;
            TaskForms::list(&mut tool);
            let execution = RawJson::new(&tool.execution?).ok()?;
            let members = Params::from_text(text.clone()).ok()?.with("execution", &JsonText::from(&execution)).ok()?;
            Some(members.text().clone())
        };
        listed().unwrap_or(text)
    }
}

fn index(kind: Kind) -> usize {
    match kind {
        Kind::Tool => 0,
        Kind::Prompt => 1,
        Kind::Resource => 2,
        Kind::Template | Kind::Instructions => 3,
    }
}

/// The number of items that fit on a page.
fn page(items: &[(Key, JsonText)]) -> usize {
    let mut bytes = 0;
    let fits = |(_, text): &&(Key, JsonText)| {
        bytes += text.as_bytes().len();
        bytes <= BYTES
    };
    let length = items.iter().take(ITEMS).take_while(fits).count();
    length.max(1).min(items.len())
}

fn body(kind: Kind, items: &[(Key, JsonText)], next: Option<&str>) -> ResultBody {
    let member = match kind {
        Kind::Tool => "tools",
        Kind::Prompt => "prompts",
        Kind::Resource => "resources",
        Kind::Template | Kind::Instructions => "resourceTemplates",
    };
    let size: usize = items.iter().map(|(_, text)| text.as_bytes().len() + 1).sum();
    let mut out = Vec::with_capacity(size + 128);
    out.extend_from_slice(format!("{{\"{member}\":[").as_bytes());
    for (at, (_, text)) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(text.as_bytes());
    }
    out.push(b']');
    if let Some(next) = next {
        // A sealed cursor has no character that needs an escape.
        out.extend_from_slice(format!(",\"nextCursor\":\"{next}\"").as_bytes());
    }
    out.push(b'}');
    match JsonText::new(out) {
        Ok(text) => ResultBody::json(&text).cacheable(),
        // Each item is valid, so it can only be a limit of the scanner.
        Err(fault) => {
            tracing::error!(%fault, "a list of {member} cannot be served");
            body(kind, &[], None)
        }
    }
}
