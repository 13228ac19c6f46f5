//! The tables of a view, built from the catalogs of its servers.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, OnceLock},
};

use couplet_core::Description;
use couplet_types::{Implementation, UriTemplate};

use crate::{
    catalog::{Catalog, Definition, List},
    host::Config,
    names::{Collision, Duplicate, Entry, Kind, NameTable, ServerId},
    pins::Lock,
    policy::{Door, Effects, Labels, Subject, Verdict},
    profile::Profile,
    service::{
        hidden::{HiddenItem, HiddenItems, RefusalReason},
        item::ViewItem,
        list::ViewLists,
        matchers::Matchers,
        member::Member,
        rules::Rules,
        run::Aim,
    },
};

/// A view at one moment. Calls that have begun go on with the one that they began with.
pub(crate) struct Snapshot {
    pub(crate) members: Vec<Member>,
    pub(crate) tools: NameTable<ViewItem>,
    pub(crate) prompts: NameTable<ViewItem>,
    pub(crate) resources: Vec<ViewItem>,
    by_uri: HashMap<Arc<str>, usize>,
    pub(crate) templates: Vec<ViewItem>,
    matchers: Matchers,
    /// The resources and templates that more than one server lists.
    pub(crate) duplicates: Vec<Duplicate>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) profile: Arc<Profile>,
    pub(crate) info: Implementation,
    pub(crate) stamp: Stamp,
    /// Whether the instructions of each server are approved.
    instructions: Vec<bool>,
    pub(crate) lists: ViewLists,
    pub(crate) about: OnceLock<Arc<Description>>,
    /// The definitions of its servers that it does not show.
    pub(crate) hidden: HiddenItems,
}

impl Snapshot {
    /// The tables of a view without servers.
    pub(crate) fn empty(profile: &Arc<Profile>, config: &Config) -> Self {
        Self::new(profile, config, Vec::new(), None, Stamp::default())
    }

    pub(crate) fn new(
        profile: &Arc<Profile>,
        config: &Config,
        members: Vec<Member>,
        pinned: Option<&Lock>,
        stamp: Stamp,
    ) -> Self {
        let (rules, naming) = (&config.rules, profile.naming());
        let mut hidden = HiddenItems::default();
        let mut items = |kind| collect(profile, rules, pinned, &members, kind, &mut hidden);
        let named = |items: Vec<ViewItem>| {
            items
                .into_iter()
                .map(|item| (members[item.member].id().clone(), item.raw.clone(), item))
                .collect::<Vec<_>>()
        };
        let tools = NameTable::new(&naming, named(items(Kind::Tool)));
        let prompts = NameTable::new(&naming, named(items(Kind::Prompt)));
        let mut duplicates = Vec::new();
        let (resources, by_uri) = owned(&members, items(Kind::Resource), &mut duplicates);
        let (templates, _) = owned(&members, items(Kind::Template), &mut duplicates);
        let matchers = Matchers::new(&templates);
        for collision in tools.collisions().iter().chain(prompts.collisions()) {
            tracing::warn!(profile = %profile.name(), "{collision}");
        }
        let instructions =
            members.iter().map(|member| rules.approves_instructions(pinned, member.id(), &member.catalog));
        Self {
            instructions: instructions.collect(),
            members,
            tools,
            prompts,
            resources,
            by_uri,
            templates,
            matchers,
            duplicates,
            rules: Arc::clone(rules),
            profile: profile.clone(),
            info: config.info.clone(),
            stamp,
            lists: ViewLists::default(),
            about: OnceLock::new(),
            hidden,
        }
    }

    /// The server that owns a URI: the one that lists it, or else the one with the most specific template for it, or else
    /// the only one that has resources at all.
    pub(crate) fn owner(&self, uri: &str) -> Option<usize> {
        if let Some(at) = self.by_uri.get(uri) {
            return Some(self.resources[*at].member);
        }
        if let Some(member) = self.with_template(uri) {
            return self.profile.shows(self.members[member].id(), Kind::Resource, uri).then_some(member);
        }
        if self.members.iter().any(|member| !member.catalog.is_fetched()) {
            return None;
        }
        let mut with_resources =
            (0..self.members.len()).filter(|at| self.members[*at].catalog.capabilities().resources.is_some());
        match (with_resources.next(), with_resources.next()) {
            (Some(only), None) => (!self.hides(only, uri)).then_some(only),
            _ => None,
        }
    }

    /// The server with a template for a URI.
    pub(crate) fn with_template(&self, uri: &str) -> Option<usize> {
        self.template(uri).map(|template| template.member)
    }

    fn template(&self, uri: &str) -> Option<&ViewItem> {
        self.templates.get(self.matchers.find(uri)?)
    }

    /// Whether a server has a URI that the view does not show: the profile denies it, or it is listed or has a template
    /// that is not approved.
    fn hides(&self, member: usize, uri: &str) -> bool {
        let Member { catalog, .. } = &self.members[member];
        let matches = |definition: &Definition| {
            UriTemplate::parse_for_matching(definition.raw()).is_ok_and(|template| template.matches(uri).is_some())
        };
        !self.profile.shows(self.members[member].id(), Kind::Resource, uri)
            || catalog.list(List::Resources).iter().any(|definition| &**definition.raw() == uri)
            || catalog.list(List::Templates).iter().any(matches)
    }

    /// A tool or prompt by its exposed name.
    pub(crate) fn named(&self, kind: Kind, name: &str) -> Option<&Entry<ViewItem>> {
        match kind {
            Kind::Prompt => self.prompts.get(name),
            _ => self.tools.get(name),
        }
    }

    /// The target of a request for a resource.
    pub(crate) fn aim(&self, uri: &str) -> Option<Aim> {
        if let Some(at) = self.by_uri.get(uri) {
            return Some((&self.resources[*at]).into());
        }
        let member = self.owner(uri)?;
        let server = self.members[member].id();
        let effects = Effects::of_kind(Kind::Resource, self.rules.trust(server));
        let labels = if self.rules.policy.is_open() { Labels::NONE } else { Labels::guess(effects) };
        let template = match self.rules.policy.is_open() {
            true => None,
            false => self.template(uri).map(|template| template.raw.clone()),
        };
        Some(Aim { member, kind: Kind::Resource, raw: uri.into(), effects, labels, definition: None, template })
    }

    /// Decides about a subscription or a list, without arguments and the flow of data.
    pub(crate) fn verdict(&self, aim: &Aim, door: Door, principal: Option<&str>) -> Verdict {
        let server = self.members[aim.member].id();
        let mut subject = Subject::new(self.profile.name(), server, aim.kind, &aim.raw, door);
        subject.principal = principal;
        subject.effects = aim.effects;
        subject.trust = self.rules.trust(server);
        self.rules.verdict_of_template(aim, subject).unwrap_or_else(|| self.rules.policy.decide(&subject))
    }

    pub(crate) fn approves_instructions(&self, member: usize) -> bool {
        self.instructions.get(member) == Some(&true)
    }

    /// The names that are hidden because more than one definition claims them.
    pub(crate) fn collisions(&self) -> impl Iterator<Item = &Collision> {
        self.tools.collisions().iter().chain(self.prompts.collisions())
    }

    /// Whether clients would see the same items of a kind.
    pub(crate) fn is_same(&self, other: &Self, kind: Kind) -> bool {
        let of = |snapshot: &'_ Self| {
            let items = snapshot.shown(kind).map(|(name, item)| {
                let shown = snapshot.rules.shows(&snapshot.profile, snapshot, item, None, Door::List);
                (name.to_owned(), item.definition.clone(), item.changes.clone(), shown)
            });
            items.collect::<Vec<_>>()
        };
        let is_same_policy = Arc::ptr_eq(&self.rules, &other.rules) || self.rules.is_like(&other.rules);
        is_same_policy && of(self) == of(other)
    }

    /// The items of a kind with their exposed names, in the order of the view.
    pub(crate) fn shown(&self, kind: Kind) -> Box<dyn Iterator<Item = (&str, &ViewItem)> + '_> {
        match kind {
            Kind::Tool => named(&self.tools),
            Kind::Prompt => named(&self.prompts),
            Kind::Resource => Box::new(self.resources.iter().map(|item| (&*item.raw, item))),
            Kind::Template => Box::new(self.templates.iter().map(|item| (&*item.raw, item))),
            Kind::Instructions => Box::new(std::iter::empty()),
        }
    }
}

/// The items of a kind that the profile shows and that are approved, server by server.
fn collect(
    profile: &Profile,
    rules: &Rules,
    pinned: Option<&Lock>,
    members: &[Member],
    kind: Kind,
    hidden: &mut HiddenItems,
) -> Vec<ViewItem> {
    let mut items = Vec::new();
    for (at, member) in members.iter().enumerate() {
        for definition in member.catalog.list(list_of(kind)).iter() {
            let raw = definition.raw();
            let reason = match () {
                () if !profile.shows(member.id(), kind, raw) => Some(RefusalReason::Profile),
                () if !rules.is_approved(pinned, member.id(), kind, definition) => Some(RefusalReason::Unapproved),
                () => None,
            };
            if let Some(reason) = reason {
                hidden.push(HiddenItem { server: member.id().clone(), kind, definition: definition.clone(), reason });
                continue;
            }
            let changes = profile.changes(member.id(), raw).filter(|_| kind == Kind::Tool);
            let (effects, labels) = rules.classified(member.id(), kind, definition);
            items.push(ViewItem {
                member: at,
                kind,
                raw: raw.clone(),
                definition: definition.clone(),
                effects,
                labels,
                changes: changes.cloned().map(Arc::new),
            });
        }
    }
    items
}

fn named(table: &NameTable<ViewItem>) -> Box<dyn Iterator<Item = (&str, &ViewItem)> + '_> {
    Box::new(table.entries().iter().map(|entry| (&*entry.name, &entry.value)))
}

/// The list with the definitions of a kind.
pub(crate) fn list_of(kind: Kind) -> List {
    match kind {
        Kind::Tool => List::Tools,
        Kind::Prompt => List::Prompts,
        Kind::Resource => List::Resources,
        Kind::Template | Kind::Instructions => List::Templates,
    }
}

/// All that a snapshot is built from, to find out whether another one would differ.
#[derive(Default)]
pub(crate) struct Stamp {
    rules: Option<Arc<Rules>>,
    profile: Option<Arc<Profile>>,
    pinned: Option<Arc<Lock>>,
    catalogs: Vec<Arc<Catalog>>,
}

impl Stamp {
    pub(crate) fn new(config: &Config, profile: &Arc<Profile>, members: &[Member], pinned: Option<&Arc<Lock>>) -> Self {
        Self {
            rules: Some(config.rules.clone()),
            profile: Some(profile.clone()),
            pinned: pinned.cloned(),
            catalogs: members.iter().map(|member| member.catalog.clone()).collect(),
        }
    }

    /// Whether both are made of the same values, not only of equal ones.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let catalogs = self.catalogs.iter().zip(&other.catalogs);
        same(self.rules.as_ref(), other.rules.as_ref())
            && same(self.profile.as_ref(), other.profile.as_ref())
            && same(self.pinned.as_ref(), other.pinned.as_ref())
            && self.catalogs.len() == other.catalogs.len()
            && catalogs.into_iter().all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

fn same<T>(a: Option<&Arc<T>>, b: Option<&Arc<T>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// The items without those that an earlier server owns.
fn owned(
    members: &[Member],
    items: Vec<ViewItem>,
    duplicates: &mut Vec<Duplicate>,
) -> (Vec<ViewItem>, HashMap<Arc<str>, usize>) {
    let mut by_uri: HashMap<Arc<str>, usize> = HashMap::with_capacity(items.len());
    let mut own: Vec<ViewItem> = Vec::with_capacity(items.len());
    let mut others: BTreeMap<usize, Vec<ServerId>> = BTreeMap::new();
    for item in items {
        match by_uri.get(&item.raw) {
            None => {
                by_uri.insert(item.raw.clone(), own.len());
                own.push(item);
            }
            // A server that lists one twice has no rival.
            Some(at) if own[*at].member == item.member => {}
            Some(at) => others.entry(*at).or_default().push(members[item.member].id().clone()),
        }
    }
    duplicates.extend(others.into_iter().map(|(at, others)| {
        let ViewItem { member, kind, raw, .. } = &own[at];
        Duplicate { kind: *kind, uri: raw.clone(), owner: members[*member].id().clone(), others }
    }));
    (own, by_uri)
}
