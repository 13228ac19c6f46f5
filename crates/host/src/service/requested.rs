//! Requests of servers to their callers: the decision, the consent to it, and its record.
//!
//! A server with sessions sends a request during a call, which waits for the consent. A stateless server ends its part of the
//! call with the request, and must not run again because a person is asked: the round stores its requests until then.

use std::sync::Arc;

use couplet_core::{Ask, Backchannel, BoxFuture, Call, Inputs, JsonText, Method, Reply, Revision, clock::unix_seconds};
use couplet_types::{CreateMessage, Elicit, InputRequest, ListRoots, Request, RpcError};
use serde::{Deserialize, Serialize};

use crate::{
    audit::Record,
    consent::{Answer, Consent, Question},
    names::{Kind, ServerId, hex},
    pins::Digest,
    policy::{Decision, Door, Effects, Flow, Subject, Verdict},
    service::{gate::request_id, rules::Rules, run::Flight, snapshot::Snapshot},
};

/// The name of a consent among the requests and steps of a call; a digest of the request follows.
const CONSENT: &str = "dev.couplet/consent-request";

/// The name of the requests of a stateless server among the steps of a call.
const ROUND: &str = "dev.couplet/round";

/// A request of a server during a call, which has the server's own name of the tool.
#[derive(Clone, Copy)]
pub(crate) struct Requested<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) server: &'a ServerId,
    pub(crate) call: &'a Call,
    pub(crate) request: &'a InputRequest,
}

impl Requested<'_> {
    /// Decides, and asks for consent if the policy requires it.
    pub(crate) async fn permit(self) -> Result<(), RpcError> {
        match self.decide()? {
            // Other requests, such as those about tasks, can ask nothing.
            Some(_) if !can_ask(self.call) => {
                self.note(&self.verdict(self.door()?), Some(Answer::Deny.as_str()));
                Err(refused())
            }
            Some(question) => Box::pin(self.ask(&question, self.call)).await,
            None => Ok(()),
        }
    }

    /// Decides without a person. Returns the question for one, if a person has to be asked.
    ///
    /// The caller's user sees and answers an elicitation, and the client limits its roots, so `ask` lets both pass.
    fn decide(self) -> Result<Option<Question>, RpcError> {
        let (door, rules) = (self.door()?, &self.snapshot.rules);
        if rules.policy.is_open() && rules.audit.is_none() {
            return Ok(None);
        }
        let verdict = self.verdict(door);
        let asks = verdict.decision == Decision::Ask && door.asks();
        if asks && rules.consent.is_some() {
            let question = self.question(door, &verdict);
            let Some(grant) = rules.grants.covering(&question, unix_seconds()) else { return Ok(Some(question)) };
            self.note(&verdict, Some(&format!("grant {grant}")));
            return Ok(None);
        }
        self.note(&verdict, None);
        if asks || verdict.decision == Decision::Deny { Err(refused()) } else { Ok(None) }
    }

    /// Asks for consent on the way of a call. A person is asked once about the same request of a stateless call, which runs
    /// again for each answer.
    async fn ask(self, question: &Question, call: &Call) -> Result<(), RpcError> {
        let rules = &self.snapshot.rules;
        let Some(consent) = &rules.consent else { return Err(refused()) };
        let key = self.key();
        let answer = call.inputs.step(&key, || async {
            let answer = asked_under(&**consent, question, call, &key).await;
            if let Err(error) = rules.grants.add(question, answer, None, unix_seconds()) {
                tracing::warn!("the consent counts once only: {error}");
            }
            self.note(&self.verdict(question.door), Some(answer.as_str()));
            answer
        });
        if answer.await? == Answer::Deny { Err(refused()) } else { Ok(()) }
    }

    fn door(self) -> Result<Door, RpcError> {
        match &*self.request.method {
            Elicit::METHOD => Ok(Door::Elicitation),
            CreateMessage::METHOD => Ok(Door::Sampling),
            ListRoots::METHOD => Ok(Door::Roots),
            method => Err(RpcError::method_not_found(method)),
        }
    }

    fn raw(&self) -> Arc<str> {
        self.call.tool_name().unwrap_or_default().into()
    }

    fn verdict(self, door: Door) -> Verdict {
        let (rules, raw) = (&self.snapshot.rules, self.raw());
        let mut subject = Subject::new(self.snapshot.profile.name(), self.server, Kind::Tool, &raw, door);
        subject.principal = self.call.principal();
        subject.trust = rules.trust(self.server);
        rules.policy.decide(&subject)
    }

    fn question(self, door: Door, verdict: &Verdict) -> Question {
        let (key, raw) = (Rules::flow_key(self.call), self.raw());
        let mut tools = self.snapshot.tools.entries().iter().map(|entry| &entry.value);
        let tool = tools.find(|tool| tool.raw == raw && self.snapshot.members[tool.member].id() == self.server);
        Question {
            principal: key.principal,
            session: key.session,
            profile: self.snapshot.profile.name().clone(),
            server: self.server.clone(),
            kind: Kind::Tool,
            definition: tool.and_then(|tool| Some(tool.definition.fingerprint()?.digest)),
            raw,
            door,
            effects: Effects::STRICTEST,
            trust: self.snapshot.rules.trust(self.server),
            flow: Flow::Clear,
            arguments: self.request.params.as_ref().map(JsonText::from),
            rule: verdict.rule.clone(),
        }
    }

    /// The key of the consent. The number of the request is not known, and would not be the same in each round.
    fn key(self) -> String {
        let params = self.request.params.as_ref().map_or("", |params| params.get());
        let digest = Digest::of(format!("{}\n{params}", self.request.method));
        format!("{CONSENT}/{}", hex(&digest.as_bytes()[..16]))
    }

    fn note(self, verdict: &Verdict, consent: Option<&str>) {
        let (rules, Ok(door)) = (&self.snapshot.rules, self.door()) else { return };
        if rules.audit.is_none() {
            return;
        }
        let mut record = Record::new(self.server.clone(), Kind::Tool, self.raw(), door, verdict.decision);
        record.parent = request_id(self.call);
        record.principal = self.call.caller.as_ref().map(|caller| caller.principal().clone());
        record.profile = Some(self.snapshot.profile.name().clone());
        record.rule.clone_from(&verdict.rule);
        record.consent = consent.map(Into::into);
        rules.note(record);
    }
}

pub(crate) fn refused() -> RpcError {
    RpcError::new(couplet_types::code::METHOD_NOT_FOUND, "the client does not accept this request")
}

/// Whether a person can be asked during a call.
pub(crate) fn can_ask(call: &Call) -> bool {
    call.revision.has_sessions() || Method::named(&call.method).is_some_and(|method| method.may_ask)
}

/// Asks with a key of its own, so that the answer is that to no other question of the call.
async fn asked_under(consent: &dyn Consent, question: &Question, call: &Call, key: &str) -> Answer {
    let mut own = call.clone();
    own.inputs = Inputs::live(Keyed { call: call.clone(), key: key.into() });
    consent.ask(question, &own).await
}

/// Requests to the caller of a call, all of which have the same key.
struct Keyed {
    call: Call,
    key: Arc<str>,
}

impl Backchannel for Keyed {
    fn request(&self, request: InputRequest) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        let (call, key): (Call, _) = (self.call.clone(), self.key.clone());
        let revision: Revision = call.revision;
        Box::pin(async move { call.inputs.ask(revision, &call.peer, &key, Ask::of(&request)?).await })
    }
}

/// The end of a round of a stateless server: its requests and its state.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Round {
    pub(crate) asks: Vec<(String, InputRequest)>,
    pub(crate) state: Option<String>,
}

impl Flight<'_> {
    /// Whether a call goes on that was sent before, and whose requests may have waited for consent.
    pub(crate) fn may_resume(&self, call: &Call) -> bool {
        let rules = &self.snapshot.rules;
        rules.consent.is_some() && !rules.policy.is_open() && call.request_state().is_ok_and(|state| state.is_some())
    }

    /// Runs a call that is sent again. If its stateless server has run and its requests wait for consent, that is not
    /// repeated.
    pub(crate) async fn resumed(&self, call: &Call) -> Reply {
        let mut ran = None;
        let round = call.inputs.step(ROUND, || async {
            let reply = match self.admit(call).await {
                Ok(admitted) => self.send(call, admitted, false).await,
                Err(reply) => reply,
            };
            match reply {
                Reply::InputRequired { asks, state } => {
                    ran = Some(None);
                    Some(Round { asks, state })
                }
                reply => {
                    ran = Some(Some(reply));
                    None
                }
            }
        });
        let round = match round.await {
            Ok(round) => round,
            Err(error) => return error.into(),
        };
        match (ran, round) {
            (Some(Some(reply)), _) => reply,
            (Some(None), Some(round)) => self.put_stored(call, round).await,
            // The rules may be others by now. The call has its record.
            (None, Some(round)) => match self.check(call, true).await {
                Ok(admitted) => {
                    admitted.leave_unrecorded();
                    self.put_stored(call, round).await
                }
                Err(reply) => reply,
            },
            (_, None) => Call::invalid_state().into(),
        }
    }

    /// Decides about the requests in the reply of a stateless server, for a call whose round was the server's.
    pub(crate) async fn put_in_round(&self, mut call: Call, reply: Reply) -> Reply {
        let Reply::InputRequired { asks, state } = reply else { return reply };
        // The answers of this round were for the server.
        call.inputs = Inputs::rounds(Vec::new(), None);
        let put = |call: Call| async move { self.put(&call, Round { asks, state }).await };
        Inputs::drive(call, &self.member().rounds, unix_seconds, put).await
    }

    /// Puts the requests of a stateless server to the caller, after the consent to those that need it. They are stored in
    /// the round before a person is asked.
    pub(crate) async fn put(&self, call: &Call, round: Round) -> Reply {
        let own = self.named(call);
        match own.as_ref().map(|own| self.questions(own, &round)) {
            Ok(Ok(questions)) if questions.is_empty() => self.put_now(call, round),
            Ok(Ok(_)) => match call.inputs.step(ROUND, || async { Some(round) }).await {
                Ok(Some(round)) => self.put_stored(call, round).await,
                Ok(None) => Call::invalid_state().into(),
                Err(error) => error.into(),
            },
            Ok(Err(error)) => error.into(),
            Err(error) => error.clone().into(),
        }
    }

    async fn put_stored(&self, call: &Call, round: Round) -> Reply {
        let own = match self.named(call) {
            Ok(own) => own,
            Err(error) => return error.into(),
        };
        let questions = match self.questions(&own, &round) {
            Ok(questions) => questions,
            Err(error) => return error.into(),
        };
        for (requested, question) in questions {
            if let Err(error) = requested.ask(&question, call).await {
                return error.into();
            }
        }
        self.put_now(call, round)
    }

    fn put_now(&self, call: &Call, Round { asks, state }: Round) -> Reply {
        self.sealed(call, Reply::InputRequired { asks, state })
    }

    /// The requests that need the consent of a person, with the questions.
    fn questions<'a>(&'a self, own: &'a Call, round: &'a Round) -> Result<Vec<(Requested<'a>, Question)>, RpcError> {
        let mut questions = Vec::new();
        for (_, request) in &round.asks {
            let requested = Requested { snapshot: self.snapshot, server: self.member().id(), call: own, request };
            questions.extend(requested.decide()?.map(|question| (requested, question)));
        }
        Ok(questions)
    }
}
