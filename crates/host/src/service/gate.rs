//! The decision about one call, the consent to it, and its record.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Instant, SystemTime},
};

use couplet_core::{Call, JsonText, Reply, clock::unix_seconds};
use couplet_types::RpcError;

use crate::{
    audit::{self, AuditSink, Outcome, Record},
    consent::{Answer, Question},
    names::{Kind, ServerId},
    pins::Digest,
    policy::{Decision, Door, Flow, Subject, Verdict},
    profile::Profile,
    service::{
        hidden::RefusalReason,
        rules::Rules,
        run::{Flight, Goal},
    },
};

/// A call that may run, with its record. A call that is dropped before it has ended is recorded as cancelled.
pub(crate) struct AdmittedCall {
    audited: Option<AuditedCall>,
    /// Whether the flow of data is as it will be after the call, so that it need not be noted.
    flow_is_noted: bool,
}

/// The record of a call, while it runs.
struct AuditedCall {
    sink: Arc<dyn AuditSink>,
    record: Box<Record>,
    /// Whether the last record could not be written.
    failed: Arc<AtomicBool>,
    began: Instant,
    stage: Stage,
    /// The beginning of the stage.
    since: Instant,
}

/// The place at which a call spends its time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// In this host.
    Host,
    /// In the queue of the server, or until it has started.
    Queue,
    /// At the server.
    Upstream,
}

/// The end of a call, for its record.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// What the reply says.
    Replied,
    /// The server was not reached, or was lost.
    Unavailable {
        sent: bool,
    },
    Timeout,
    /// It was not sent.
    Refused,
}

impl AdmittedCall {
    /// A call with its record, which is made only if there is an audit log.
    pub(crate) fn new(rules: &Rules, record: impl FnOnce() -> Record) -> Self {
        let audited = rules.audit.clone().map(|sink| {
            let (record, now) = (Box::new(record()), Instant::now());
            let failed = rules.audit_failed.clone();
            AuditedCall { sink, record, failed, began: now, stage: Stage::Host, since: now }
        });
        Self { audited, flow_is_noted: false }
    }

    /// Whether the call can be recorded. After a record was lost, the decision is recorded before the call is sent, so that
    /// nothing runs without a record.
    pub(crate) async fn is_recorded(&self) -> bool {
        let Some(audited) = self.audited.as_ref().filter(|audited| audited.failed.load(Ordering::Acquire)) else {
            return true;
        };
        let written = Box::pin(audit::write(&*audited.sink, Record::clone(&audited.record))).await;
        audited.failed.store(written.is_err(), Ordering::Release);
        written.is_ok()
    }

    /// Leaves no record, because nothing is sent.
    pub(crate) fn leave_unrecorded(mut self) {
        self.audited = None;
    }

    /// Notes the answer of a person.
    fn consented(mut self, answer: Answer) -> Self {
        if let Some(audited) = &mut self.audited {
            audited.record.time = SystemTime::now();
            audited.record.consent = Some(answer.as_str().into());
        }
        self
    }

    /// Notes that the call enters a stage. Without an audit log no clock is read.
    pub(crate) fn enter(&mut self, stage: Stage) {
        if let Some(audited) = &mut self.audited {
            audited.enter(stage);
        }
    }

    /// Records the end of the call.
    pub(crate) async fn ended(mut self, reply: Reply, end: End) -> Reply {
        if let Some(mut audited) = self.audited.take() {
            audited.record.outcome = outcome(&reply, end, audited.record.kind);
            if let Reply::Complete(done) = &reply {
                audited.record.bytes_out = Some(done.size() as u64);
            }
            let AuditedCall { sink, record, failed, .. } = audited.timed();
            let written = match sink.try_write(record) {
                Ok(()) => Ok(()),
                Err(record) => sink.write(record).await,
            };
            failed.store(written.is_err(), Ordering::Release);
            if let Err(error) = written {
                tracing::error!("{error}");
            }
        }
        reply
    }
}

/// A call about which a person is asked. A stateless call ends with each request to its caller, and runs again from the start
/// with the answer: only one that is over has a record.
struct Asking<'a> {
    admitted: AdmittedCall,
    call: &'a Call,
}

impl Asking<'_> {
    fn answered(mut self, answer: Answer) -> AdmittedCall {
        AdmittedCall { audited: self.admitted.audited.take(), flow_is_noted: false }.consented(answer)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if !self.call.outbox.is_closed() {
            self.admitted.audited = None;
        }
    }
}

impl AuditedCall {
    fn enter(&mut self, stage: Stage) {
        let now = Instant::now();
        let spent = match self.stage {
            Stage::Host => None,
            Stage::Queue => Some(&mut self.record.queued),
            Stage::Upstream => Some(&mut self.record.upstream),
        };
        if let Some(spent) = spent {
            // A call that is sent again has waited twice.
            *spent.get_or_insert_default() += now - self.since;
        }
        (self.stage, self.since) = (stage, now);
    }

    /// The call with all times in its record.
    fn timed(mut self) -> Self {
        self.enter(Stage::Host);
        self.record.total = Some(self.since - self.began);
        self
    }
}

impl Drop for AdmittedCall {
    fn drop(&mut self) {
        if let Some(audited) = self.audited.take() {
            let AuditedCall { sink, mut record, .. } = audited.timed();
            record.outcome = Outcome::Cancelled;
            if sink.try_write(record).is_err() {
                tracing::warn!("the audit log is full: a cancelled call has no record");
            }
        }
    }
}

fn outcome(reply: &Reply, end: End, kind: Kind) -> Outcome {
    match (end, reply) {
        (End::Refused, _) => Outcome::NotSent,
        (End::Unavailable { sent }, _) => Outcome::Unavailable { sent },
        (End::Timeout, _) => Outcome::Timeout,
        (End::Replied, Reply::Error(error)) => Outcome::RpcError(error.code.into()),
        (End::Replied, Reply::InputRequired { .. }) => Outcome::InputRequired,
        (End::Replied, Reply::Complete(done)) if kind == Kind::Tool && done.is_failed_tool() => Outcome::ToolError,
        (End::Replied, _) => Outcome::Ok,
    }
}

impl Flight<'_> {
    fn rules(&self) -> &Rules {
        &self.snapshot.rules
    }

    /// Decides without a person: for a call that was admitted in an earlier round. `is_same` is whether the arguments are
    /// those of that round.
    pub(crate) async fn check(&self, call: &Call, is_same: bool) -> Result<AdmittedCall, Reply> {
        let (verdict, ..) = self.verdict(call);
        match verdict.decision {
            Decision::Allow => Ok(self.admitted(call, &verdict, None)),
            Decision::Ask if is_same => Ok(self.admitted(call, &verdict, Some("earlier round"))),
            Decision::Ask => {
                let admitted = self.admitted(call, &verdict, None);
                Err(Box::pin(admitted.ended(Call::invalid_state().into(), End::Refused)).await)
            }
            Decision::Deny => Err(Box::pin(self.denied(call, &verdict)).await),
        }
    }

    /// Decides, and asks for consent if the policy requires it.
    pub(crate) async fn admit(&self, call: &Call) -> Result<AdmittedCall, Reply> {
        let (verdict, flow, is_noted) = self.verdict(call);
        match (verdict.decision, &self.rules().consent) {
            (Decision::Allow, _) => {
                let mut admitted = self.admitted(call, &verdict, None);
                admitted.flow_is_noted = is_noted;
                Ok(admitted)
            }
            (Decision::Deny, _) | (Decision::Ask, None) => Err(Box::pin(self.denied(call, &verdict)).await),
            // ViewLists, completions and tasks of what needs consent are open: the call itself is not.
            (Decision::Ask, Some(_)) if !self.goal.door.asks() => Ok(self.admitted(call, &verdict, None)),
            (Decision::Ask, Some(consent)) => {
                let question = self.question(call, &verdict, flow);
                if let Some(grant) = self.rules().grants.covering(&question, unix_seconds()) {
                    return Ok(self.admitted(call, &verdict, Some(&format!("grant {grant}"))));
                }
                let asking = Asking { admitted: self.admitted(call, &verdict, None), call };
                let answer = Box::pin(consent.ask(&question, call)).await;
                let admitted = asking.answered(answer);
                if answer == Answer::Deny {
                    return Err(Box::pin(admitted.ended(self.declined(call), End::Refused)).await);
                }
                if let Err(error) = self.rules().grants.add(&question, answer, None, unix_seconds()) {
                    tracing::warn!("the consent counts once only: {error}");
                }
                Ok(admitted)
            }
        }
    }

    /// The decision, the flow of data that the call leads to, and whether that is noted already.
    fn verdict(&self, call: &Call) -> (Verdict, Flow, bool) {
        let rules = self.rules();
        if rules.policy.is_open() {
            return (Verdict { decision: Decision::Allow, rule: None }, Flow::Clear, true);
        }
        let (goal, server) = (&self.goal.item, self.member().id());
        let (flow, is_noted) = rules.flow(call, goal.labels);
        let arguments = arguments(goal.kind, call);
        let mut subject = Subject::new(self.snapshot.profile.name(), server, goal.kind, &goal.raw, self.goal.door);
        subject.principal = call.principal();
        subject.arguments = arguments.as_ref();
        subject.effects = goal.effects;
        subject.trust = rules.trust(server);
        subject.flow = flow;
        let verdict = rules.verdict_of_template(goal, subject).unwrap_or_else(|| match self.goal.door {
            Door::Link => self.verdict_of_link(call, &rules.policy, subject),
            _ => rules.policy.decide(&subject),
        });
        (verdict, flow, is_noted)
    }

    fn question(&self, call: &Call, verdict: &Verdict, flow: Flow) -> Question {
        let (goal, server) = (&self.goal.item, self.member().id());
        let key = Rules::flow_key(call);
        Question {
            principal: key.principal,
            session: key.session,
            profile: self.snapshot.profile.name().clone(),
            server: server.clone(),
            kind: goal.kind,
            raw: goal.raw.clone(),
            door: self.goal.door,
            effects: goal.effects,
            trust: self.rules().trust(server),
            flow,
            arguments: arguments(goal.kind, call),
            rule: verdict.rule.clone(),
            definition: goal.digest(),
        }
    }

    /// Records a call that does not run for another reason than the policy's, and returns its reply.
    pub(crate) async fn refused(&self, call: &Call, reason: RefusalReason, reply: Reply) -> Reply {
        self.admitted(call, &reason.verdict(), None).ended(reply, End::Refused).await
    }

    /// The error for a denied target is that for one that does not exist.
    async fn denied(&self, call: &Call, verdict: &Verdict) -> Reply {
        let admitted = self.admitted(call, verdict, None);
        admitted.ended(self.goal.absent(call), End::Refused).await
    }

    fn declined(&self, call: &Call) -> Reply {
        let what = format!("`{}` needs the consent of a person, which was not given", self.goal.exposed);
        match self.goal.item.kind {
            Kind::Tool => Reply::tool_error(call, what),
            _ => RpcError::internal(what).into(),
        }
    }

    fn admitted(&self, call: &Call, verdict: &Verdict, consent: Option<&str>) -> AdmittedCall {
        AdmittedCall::new(self.rules(), || self.record(call, verdict, consent))
    }

    /// Notes the flow of data of a call that is about to be sent.
    pub(crate) fn note_flow(&self, call: &Call, admitted: &AdmittedCall) {
        let (rules, labels) = (self.rules(), self.goal.item.labels);
        if !admitted.flow_is_noted && !rules.policy.is_open() && !labels.is_empty() {
            rules.flows.record(&Rules::flow_key(call), labels, Instant::now());
        }
    }

    fn record(&self, call: &Call, verdict: &Verdict, consent: Option<&str>) -> Record {
        let Goal { item, exposed, door, .. } = self.goal;
        let target = RecordTarget {
            server: self.member().id(),
            kind: item.kind,
            raw: &item.raw,
            exposed,
            door: *door,
            pin: item.digest(),
        };
        let mut record = target.record(&self.snapshot.profile, call, verdict);
        record.consent = consent.map(Into::into);
        record
    }
}

/// The target that a record is about.
pub(crate) struct RecordTarget<'a> {
    pub(crate) server: &'a ServerId,
    pub(crate) kind: Kind,
    pub(crate) raw: &'a Arc<str>,
    pub(crate) exposed: &'a Arc<str>,
    pub(crate) door: Door,
    pub(crate) pin: Option<Digest>,
}

impl RecordTarget<'_> {
    /// The record of a decision about a call.
    pub(crate) fn record(&self, profile: &Profile, call: &Call, verdict: &Verdict) -> Record {
        let mut record = Record::new(self.server.clone(), self.kind, self.raw.clone(), self.door, verdict.decision);
        record.request = request_id(call);
        record.principal = call.caller.as_ref().map(|caller| caller.principal().clone());
        record.client = call.peer.info.as_ref().map(|info| info.name.as_str().into());
        record.profile = Some(profile.name().clone());
        record.exposed = Some(self.exposed.clone());
        record.pin = self.pin;
        record.rule.clone_from(&verdict.rule);
        record.arguments = arguments(self.kind, call);
        record.bytes_in = Some(call.params.text().as_bytes().len() as u64);
        record
    }
}

/// The id of a request, as JSON.
pub(crate) fn request_id(call: &Call) -> Option<Arc<str>> {
    serde_json::to_string(call.outbox.request()).ok().map(Into::into)
}

/// The arguments of a call of a tool or prompt.
fn arguments(kind: Kind, call: &Call) -> Option<JsonText> {
    matches!(kind, Kind::Tool | Kind::Prompt).then(|| call.arguments())
}
