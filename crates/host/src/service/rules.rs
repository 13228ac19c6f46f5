//! The rules of a host: policy, pins, consent, audit.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use couplet_core::{Call, JsonText, clock::unix_seconds};
use couplet_types::ToolAnnotations;

use crate::{
    HostBuilder,
    audit::{AuditSink, Record},
    catalog::{Catalog, Definition},
    consent::{Consent, Grants},
    names::{Kind, ServerId},
    pins::{Lock, Pin, Pins, fingerprint},
    policy::{Decision, Door, Effects, Flow, FlowKey, FlowTracker, Glob, Labels, Policy, Subject, Trust, Verdict},
    profile::Profile,
    service::{item::ViewItem, run::Aim, snapshot::Snapshot},
};

/// What a configuration says about one server beside how to reach it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerRules {
    pub(crate) trust: Trust,
    pub(crate) effects: Vec<(Glob, Effects)>,
    pub(crate) labels: Vec<(Glob, Labels)>,
    /// Whether its definitions must be approved.
    pub(crate) is_pinned: bool,
}

/// The rules of a host at one moment.
#[derive(Clone)]
pub(crate) struct Rules {
    pub(crate) policy: Policy,
    pub(crate) consent: Option<Arc<dyn Consent>>,
    pub(crate) audit: Option<Arc<dyn AuditSink>>,
    pub(crate) pins: Option<Pins>,
    pub(crate) servers: HashMap<ServerId, Arc<ServerRules>>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) flows: Arc<FlowTracker>,
    /// Whether the last audit record could not be written.
    pub(crate) audit_failed: Arc<AtomicBool>,
}

impl Rules {
    pub(crate) fn server(&self, server: &ServerId) -> Arc<ServerRules> {
        self.servers.get(server).cloned().unwrap_or_default()
    }

    pub(crate) fn trust(&self, server: &ServerId) -> Trust {
        self.servers.get(server).map_or_else(Trust::default, |rules| rules.trust)
    }

    /// Whether lists differ between callers.
    pub(crate) fn depends_on_principal(&self) -> bool {
        self.policy.depends_on_principal()
    }

    pub(crate) fn new(builder: &HostBuilder, grants: &Arc<Grants>, flows: &Arc<FlowTracker>) -> Self {
        let servers = builder.servers.iter().map(|server| (server.id.clone(), Arc::new(server.rules.clone())));
        Self {
            policy: builder.policy.clone(),
            consent: builder.consent.clone(),
            audit: builder.audit.clone(),
            pins: builder.pins.clone(),
            servers: servers.collect(),
            grants: grants.clone(),
            flows: flows.clone(),
            audit_failed: Arc::default(),
        }
    }

    /// Whether lists of callers whose principal matters are the same with other rules.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let depends = self.depends_on_principal() || other.depends_on_principal();
        !depends || format!("{:?}", self.policy) == format!("{:?}", other.policy)
    }

    /// Whether a definition is approved, or needs no approval.
    pub(crate) fn is_approved(&self, pinned: Option<&Lock>, server: &ServerId, kind: Kind, item: &Definition) -> bool {
        let Some(pinned) = self.pinned(pinned, server, kind) else { return true };
        let is_approved = |print| pinned.state(server, kind, item.raw(), &print, unix_seconds()) == Pin::Approved;
        item.fingerprint().is_some_and(is_approved)
    }

    /// The same for the instructions of a server, if it has any.
    pub(crate) fn approves_instructions(&self, pinned: Option<&Lock>, server: &ServerId, catalog: &Catalog) -> bool {
        let (Some(text), Some(pinned)) = (catalog.instructions(), self.pinned(pinned, server, Kind::Instructions))
        else {
            return true;
        };
        let is_approved = |print| pinned.state(server, Kind::Instructions, "", &print, unix_seconds()) == Pin::Approved;
        fingerprint(&JsonText::string(text)).is_ok_and(is_approved)
    }

    /// The lock, if it is about this server and kind.
    fn pinned<'a>(&self, pinned: Option<&'a Lock>, server: &ServerId, kind: Kind) -> Option<&'a Lock> {
        pinned.filter(|_| kind != Kind::Resource && self.server(server).is_pinned)
    }

    /// The effects and labels of a definition. They are needed only by a policy.
    pub(crate) fn classified(&self, server: &ServerId, kind: Kind, definition: &Definition) -> (Effects, Labels) {
        if self.policy.is_open() {
            return (Effects::STRICTEST, Labels::NONE);
        }
        let rules = self.server(server);
        let effects =
            rules.effects.iter().find(|(glob, _)| glob.matches(definition.raw())).map(|(_, effects)| *effects);
        let effects = effects.unwrap_or_else(|| match kind {
            Kind::Tool => {
                let annotations = definition.get("annotations").and_then(|text| text.parse::<ToolAnnotations>().ok());
                Effects::of_tool(annotations.as_ref(), rules.trust, rules.is_pinned && self.pins.is_some())
            }
            kind => Effects::of_kind(kind, rules.trust),
        });
        let labels = rules.labels.iter().find(|(glob, _)| glob.matches(definition.raw())).map(|(_, labels)| *labels);
        (effects, labels.unwrap_or_else(|| Labels::guess(effects)))
    }

    /// Whether a caller sees an item. One that needs consent is shown if there is a way to ask for it.
    pub(crate) fn shows(
        &self,
        profile: &Profile,
        snapshot: &Snapshot,
        item: &ViewItem,
        call: Option<&Call>,
        door: Door,
    ) -> bool {
        if self.policy.is_open() {
            return true;
        }
        let server = snapshot.members[item.member].id();
        let mut subject = Subject::new(profile.name(), server, item.kind, &item.raw, door);
        subject.principal = call.and_then(Call::principal);
        subject.effects = item.effects;
        subject.trust = self.server(server).trust;
        self.is_open(self.policy.decide(&subject).decision)
    }

    /// The denial of the template that serves a resource: a template that is denied serves nothing.
    pub(crate) fn verdict_of_template<'a>(&self, aim: &'a Aim, mut subject: Subject<'a>) -> Option<Verdict> {
        let raw = aim.template.as_deref()?;
        (subject.kind, subject.raw) = (Kind::Template, raw);
        Some(self.policy.decide(&subject)).filter(|verdict| verdict.decision == Decision::Deny)
    }

    /// Whether a decision lets anything pass.
    pub(crate) fn is_open(&self, decision: Decision) -> bool {
        match decision {
            Decision::Allow => true,
            Decision::Ask => self.consent.is_some(),
            Decision::Deny => false,
        }
    }

    /// Writes the record of a decision where nothing can wait for the log.
    pub(crate) fn note(&self, record: Record) {
        let Some(audit) = &self.audit else { return };
        if let Err(record) = audit.try_write(Box::new(record)) {
            tracing::warn!(server = %record.server, "the audit log is full: a decision has no record");
        }
    }

    /// The key under which the flow of data of a caller is tracked.
    pub(crate) fn flow_key(call: &Call) -> FlowKey {
        FlowKey {
            principal: call.caller.as_ref().map(|caller| caller.principal().clone()),
            session: call.session_id().map(Into::into),
        }
    }

    /// The flow that a call leads to, and whether it is recorded already.
    pub(crate) fn flow(&self, call: &Call, labels: Labels) -> (Flow, bool) {
        self.flows.check(&Self::flow_key(call), labels, Instant::now())
    }
}
