//! Definitions that a view does not show, and the records of calls that name them.
//!
//! A caller gets the error for a name that does not exist; the audit log has the reason.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use couplet_core::{Call, Caller, Reply};
use couplet_types::UriTemplate;

use crate::{
    audit::Record,
    catalog::Definition,
    names::{Kind, ServerId},
    policy::{Decision, Door, Verdict},
    profile::Profile,
    service::{
        View,
        gate::{AdmittedCall, End, RecordTarget},
        run::Aim,
        snapshot::{Snapshot, list_of},
    },
};

/// A reason for which a call does not run, beside the rules of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalReason {
    /// The definition is new or has changed, and waits for an approval.
    Unapproved,
    /// The profile does not show it, or does not permit the arguments.
    Profile,
    /// The request state was not made for this call.
    State,
}

impl RefusalReason {
    /// The denial for this reason.
    pub(crate) fn verdict(self) -> Verdict {
        let rule = match self {
            Self::Unapproved => "pins",
            Self::Profile => "profile",
            Self::State => "state",
        };
        Verdict { decision: Decision::Deny, rule: Some(rule.into()) }
    }
}

/// A definition that a view does not show.
pub(crate) struct HiddenItem {
    pub(crate) server: ServerId,
    pub(crate) kind: Kind,
    pub(crate) definition: Definition,
    pub(crate) reason: RefusalReason,
}

impl HiddenItem {
    pub(crate) fn is_unapproved(&self) -> bool {
        self.reason == RefusalReason::Unapproved
    }
}

/// The definitions of a view's servers that it does not show.
#[derive(Default)]
pub(crate) struct HiddenItems {
    items: Vec<HiddenItem>,
    /// Made for the first call that needs it: most views never do.
    index: OnceLock<HiddenIndex>,
}

struct HiddenIndex {
    /// By the name that each would have.
    named: HashMap<(Kind, String), usize>,
    templates: Vec<(UriTemplate, usize)>,
}

impl HiddenItems {
    pub(crate) fn push(&mut self, item: HiddenItem) {
        self.items.push(item);
    }

    /// The number of definitions of a kind that wait for an approval.
    pub(crate) fn unapproved(&self, kind: Kind) -> usize {
        self.items.iter().filter(|item| item.kind == kind && item.is_unapproved()).count()
    }

    /// The definition with an exposed name, or with a URI.
    pub(crate) fn named(&self, profile: &Profile, kind: Kind, name: &str) -> Option<&HiddenItem> {
        let at = self.index(profile).named.get(&(kind, name.to_owned()))?;
        self.items.get(*at)
    }

    /// The template for a URI.
    fn template(&self, profile: &Profile, uri: &str) -> Option<&HiddenItem> {
        let templates = &self.index(profile).templates;
        let (_, at) = templates.iter().find(|(template, _)| template.matches(uri).is_some())?;
        self.items.get(*at)
    }

    fn index(&self, profile: &Profile) -> &HiddenIndex {
        self.index.get_or_init(|| {
            let naming = profile.naming();
            let mut index = HiddenIndex { named: HashMap::new(), templates: Vec::new() };
            for (at, HiddenItem { server, kind, definition, .. }) in self.items.iter().enumerate() {
                let raw = definition.raw();
                let name = match kind {
                    Kind::Tool | Kind::Prompt => naming.name(server, raw),
                    _ => raw.to_string(),
                };
                index.named.entry((*kind, name)).or_insert(at);
                if *kind == Kind::Template {
                    index.templates.extend(UriTemplate::parse_for_matching(raw).ok().map(|template| (template, at)));
                }
            }
            index
        })
    }
}

/// The target of a call that the view does not show.
struct HiddenTarget {
    server: ServerId,
    kind: Kind,
    raw: Arc<str>,
    definition: Option<Definition>,
    reason: RefusalReason,
}

impl From<&HiddenItem> for HiddenTarget {
    fn from(HiddenItem { server, kind, definition, reason }: &HiddenItem) -> Self {
        let (raw, definition) = (definition.raw().clone(), Some(definition.clone()));
        Self { server: server.clone(), kind: *kind, raw, definition, reason: *reason }
    }
}

impl View {
    /// Records a call of a target that is hidden, and returns its reply. A name that does not exist has no record.
    pub(crate) async fn hidden(
        &self,
        snapshot: &Snapshot,
        call: &Call,
        door: Door,
        (kind, name): (Kind, &str),
        reply: Reply,
    ) -> Reply {
        if snapshot.rules.audit.is_none() {
            return reply;
        }
        let Some(hidden) = self.find_hidden(snapshot, kind, name) else { return reply };
        let record = || {
            let HiddenTarget { server, kind, raw, definition, reason } = &hidden;
            let pin = definition.as_ref().and_then(Definition::fingerprint).map(|print| print.digest);
            let target = RecordTarget { server, kind: *kind, raw, exposed: &name.into(), door, pin };
            target.record(&snapshot.profile, call, &reason.verdict())
        };
        AdmittedCall::new(&snapshot.rules, record).ended(reply, End::Refused).await
    }

    /// Whether a caller may subscribe to a resource. The decision is recorded.
    pub(crate) fn decides_subscription(&self, uri: &str, caller: Option<&Caller>) -> bool {
        let snapshot = self.snapshot();
        let aim = snapshot.aim(uri);
        if snapshot.rules.policy.is_open() && snapshot.rules.audit.is_none() {
            return aim.is_some();
        }
        let principal = caller.map(Caller::principal);
        let (server, verdict) = match &aim {
            Some(aim) => {
                let verdict = snapshot.verdict(aim, Door::Subscribe, principal.map(|principal| &**principal));
                (snapshot.members[aim.member].id().clone(), verdict)
            }
            None => match self.find_hidden(&snapshot, Kind::Resource, uri) {
                Some(hidden) => (hidden.server, hidden.reason.verdict()),
                None => return false,
            },
        };
        let is_open = snapshot.rules.is_open(verdict.decision);
        let mut record = Record::new(server, Kind::Resource, uri, Door::Subscribe, verdict.decision);
        record.principal = principal.cloned();
        record.profile = Some(snapshot.profile.name().clone());
        record.exposed = Some(record.raw.clone());
        record.pin = aim.as_ref().and_then(Aim::digest);
        record.rule = verdict.rule;
        snapshot.rules.note(record);
        is_open
    }

    fn find_hidden(&self, snapshot: &Snapshot, kind: Kind, name: &str) -> Option<HiddenTarget> {
        let inside = match kind {
            Kind::Resource => snapshot.hidden_uri(name),
            _ => snapshot.hidden.named(&snapshot.profile, kind, name).map(HiddenTarget::from),
        };
        inside.or_else(|| self.find_outside(&snapshot.profile, kind, name))
    }

    /// A definition of a server that the profile does not have. A bare name does not say its server, so only qualified names
    /// and URIs are found.
    fn find_outside(&self, profile: &Profile, kind: Kind, name: &str) -> Option<HiddenTarget> {
        let (config, naming) = (self.inner().host.upgrade()?.config(), profile.naming());
        let outside = config.slots.iter().filter(|slot| !profile.has(slot.upstream.id()));
        outside.into_iter().find_map(|slot| {
            let (server, is_uri) = (slot.upstream.id(), kind == Kind::Resource);
            let is_its = |name: &str| name.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with("__"));
            if !is_uri && (profile.is_bare() || !is_its(name)) {
                return None;
            }
            let catalog = slot.upstream.catalog();
            let is_it = |raw: &str| if is_uri { raw == name } else { naming.name(server, raw) == name };
            let definition = catalog.list(list_of(kind)).iter().find(|definition| is_it(definition.raw()))?.clone();
            Some((&HiddenItem { server: server.clone(), kind, definition, reason: RefusalReason::Profile }).into())
        })
    }
}

impl Snapshot {
    /// A resource that a server of the view has and the view does not show.
    fn hidden_uri(&self, uri: &str) -> Option<HiddenTarget> {
        let target = |server: &ServerId, reason| HiddenTarget {
            server: server.clone(),
            kind: Kind::Resource,
            raw: uri.into(),
            definition: None,
            reason,
        };
        if let Some(listed) = self.hidden.named(&self.profile, Kind::Resource, uri) {
            return Some(listed.into());
        }
        if let Some(member) = self.with_template(uri) {
            return Some(target(self.members[member].id(), RefusalReason::Profile));
        }
        let template = self.hidden.template(&self.profile, uri)?;
        Some(target(&template.server, template.reason))
    }
}
