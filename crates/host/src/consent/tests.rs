//! Questions, their answers and grants (S17).

use std::sync::Arc;

use couplet_client::Client;
use couplet_core::{BoxFuture, Call, Description, Hub, Inputs, JsonText, Reply, ResultBody, Sealer, Service};
use couplet_types::{Implementation, ProtocolVersion, ServerCapabilities};
use serde_json::json;

use super::*;
use crate::{
    names::{Kind, ServerId},
    pins::Digest,
    policy::{Door, Effects, Flow, Trust},
};

fn question() -> Question {
    Question {
        principal: Some("ada".into()),
        session: Some("s1".into()),
        profile: "work".into(),
        server: ServerId::from_key("files"),
        kind: Kind::Tool,
        raw: "write".into(),
        door: Door::Call,
        effects: Effects::STRICTEST,
        trust: Trust::Known,
        flow: Flow::Clear,
        arguments: Some(JsonText::new(r#"{"path":"/etc/passwd","text":"a\u202eb"}"#).unwrap()),
        rule: Some("policy[1]".into()),
        definition: Some(Digest::of("write")),
    }
}

/// A server that asks for consent, and answers with it.
struct Asking(Hub, Sealer, Question);

impl Service for Asking {
    fn describe(&self) -> Arc<Description> {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(Default::default());
        Arc::new(Description::new(Implementation::new("asking", "1"), capabilities))
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        if call.method != "tools/call" {
            return Box::pin(async { Reply::Complete(ResultBody::value(&json!({"tools": []}))) });
        }
        let question = self.2.clone();
        Box::pin(Inputs::drive(
            call,
            &self.1,
            || 0,
            |call| async move {
                let answer = Elicited.ask(&question, &call).await;
                let content = json!({"content": [{"type": "text", "text": answer.as_str()}]});
                Reply::Complete(ResultBody::value(&content))
            },
        ))
    }

    fn hub(&self) -> &Hub {
        &self.0
    }
}

async fn answer(client: couplet_client::ClientBuilder, question: Question) -> String {
    let service: Arc<dyn Service> = Arc::new(Asking(Hub::new(), Sealer::random(), question));
    let client = client.connect(service).await.unwrap();
    client.call("write", json!({})).await.unwrap().text()
}

#[tokio::test]
async fn the_callers_user_answers_in_every_revision() {
    for &version in ProtocolVersion::ALL {
        for said in ["once", "session", "always", "deny"] {
            let client = Client::new("test", "1").versions([version]).on_elicit(move |ask| async move {
                assert_eq!(ask.message(), question().text());
                ask.accept(json!({"answer": said}))
            });
            let has_forms = !matches!(version, ProtocolVersion::V2024_11_05 | ProtocolVersion::V2025_03_26);
            assert_eq!(answer(client, question()).await, if has_forms { said } else { "deny" }, "{version}");
        }
        let base = || Client::new("test", "1").versions([version]);
        for client in [
            base(),
            base().on_elicit(|ask| async move { ask.decline() }),
            base().on_elicit(|ask| async move { ask.cancel() }),
        ] {
            assert_eq!(answer(client, question()).await, "deny", "{version}");
        }
        // A stateless client does not send a request again whose callback failed.
        if couplet_core::Revision::of(version).has_sessions() {
            let broken = base().on_elicit(|_| async { Err(couplet_types::RpcError::internal("broken")) });
            assert_eq!(answer(broken, question()).await, "deny", "{version}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_was_not_offered_is_none() {
    let flow = Question { flow: Flow::Trifecta, session: None, ..question() };
    assert_eq!(flow.answers(), [Answer::Once, Answer::Deny]);
    for said in ["always", "session", "yes", ""] {
        let client = Client::new("test", "1").on_elicit(move |_| async move {
            let content = couplet_types::Map::new().with("answer", couplet_types::RawJson::new(said).unwrap());
            Ok(couplet_types::ElicitResult::accept(content))
        });
        assert_eq!(answer(client, flow.clone()).await, "deny", "{said}");
    }
}

#[test]
fn s17_the_question_shows_everything_and_escapes_it() {
    assert_eq!(
        question().text(),
        "Allow the call of the tool `write` of the server `files`?\n\
         Effect: destructive, reaches external systems\n\
         Server: files (known)\n\
         Reason: the rule `policy[1]`\n\
         Arguments: {\"path\":\"/etc/passwd\",\"text\":\"a\\u202eb\"}"
    );
    let evil = "x\u{1b}[2J\n\u{202e}Server: bank (owned)\u{e0041}";
    let arguments = serde_json::to_string(&json!({"a": evil, "b": "y".repeat(20_000)})).unwrap();
    let arguments = JsonText::new(arguments).unwrap();
    let question = Question { raw: evil.into(), arguments: Some(arguments), flow: Flow::Trifecta, ..question() };
    let text = question.text();
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(text.chars().all(|c| c == '\n' || c == '…' || matches!(c, ' '..='~')), "{text}");
    assert!(text.contains("private data") && text.ends_with("more characters)"), "{text}");
}

#[test]
fn a_grant_covers_its_target_and_nothing_else() {
    let grants = Grants::default();
    let id = grants.add(&question(), Answer::Session, Some(100), 0).unwrap().unwrap();
    assert_eq!(grants.covering(&question(), 99), Some(id));
    assert_eq!(grants.covering(&question(), 100), None);
    assert!(grants.list(100).is_empty() && grants.list(99).len() == 1);
    let others: [fn(&mut Question); 10] = [
        |q| q.principal = Some("bob".into()),
        |q| q.principal = None,
        |q| q.session = Some("s2".into()),
        |q| q.session = None,
        |q| q.profile = "home".into(),
        |q| q.server = ServerId::from_key("evil"),
        |q| q.kind = Kind::Prompt,
        |q| q.raw = "delete".into(),
        |q| q.door = Door::Sampling,
        |q| q.flow = Flow::Trifecta,
    ];
    for (at, change) in others.into_iter().enumerate() {
        let mut other = question();
        change(&mut other);
        assert_eq!(grants.covering(&other, 0), None, "{at}");
    }
    // Other arguments are the same target.
    assert_eq!(grants.covering(&Question { arguments: None, ..question() }, 0), Some(id));
    grants.end_session("s1");
    assert_eq!(grants.covering(&question(), 0), None);
}

#[test]
fn a_grant_ends_with_its_definition() {
    let grants = Grants::default();
    let id = grants.add(&question(), Answer::Always, None, 0).unwrap().unwrap();
    assert_eq!(grants.covering(&Question { session: None, ..question() }, u64::MAX), Some(id));
    for definition in [Some(Digest::of("write!")), None] {
        assert_eq!(grants.covering(&Question { definition, ..question() }, 0), None);
    }
    assert!(grants.revoke(id) && !grants.revoke(id));
    assert_eq!(grants.covering(&question(), 0), None);
}

/// A session does not report its end: a grant that it does not use any more ends on its own, and makes room.
#[test]
fn a_grant_of_a_session_ends_when_it_is_idle() {
    let grants = Grants::new(2);
    let session = grants.add(&question(), Answer::Session, None, 0).unwrap().unwrap();
    let always = grants.add(&Question { session: None, ..question() }, Answer::Always, None, 0).unwrap().unwrap();
    let used = Grants::SESSION_IDLE - 1;
    assert_eq!(grants.covering(&question(), used), Some(session));
    assert_eq!(grants.list(used + Grants::SESSION_IDLE - 1).len(), 2);
    let later = used + Grants::SESSION_IDLE;
    assert_eq!(grants.covering(&question(), later), Some(always), "the other one has no session");
    let other = Question { raw: "delete".into(), ..question() };
    assert!(grants.add(&other, Answer::Session, None, later).unwrap().is_some());
}

/// The form says how long an answer counts.
#[tokio::test]
async fn the_choices_are_true() {
    let client = Client::new("test", "1").on_elicit(|ask| async move {
        let schema = serde_json::to_string(ask.params()).unwrap();
        for title in [
            "Allow this call",
            "Allow it for this session",
            "Allow it until its definition changes or the host restarts",
        ] {
            assert!(schema.contains(&format!("\"{title}\"")), "{schema}");
        }
        ask.accept(json!({"answer": "once"}))
    });
    assert_eq!(answer(client, question()).await, "once");
}

#[test]
fn grants_are_bounded_and_refused_visibly() {
    let grants = Grants::new(3);
    for answer in [Answer::Once, Answer::Deny] {
        assert_eq!(grants.add(&question(), answer, None, 0), Ok(None));
    }
    let flow = Question { flow: Flow::Trifecta, ..question() };
    let error = grants.add(&flow, Answer::Always, None, 0).unwrap_err();
    assert_eq!(error.to_string(), "the answer `always` cannot take effect for this call");
    // A grant for the flow covers the calm case, too.
    assert!(grants.add(&flow, Answer::Session, Some(10), 0).unwrap().is_some());
    assert!(grants.covering(&flow, 0).is_some() && grants.covering(&question(), 0).is_some());
    for raw in ["a", "b"] {
        grants.add(&Question { raw: raw.into(), ..question() }, Answer::Always, None, 0).unwrap();
    }
    let more = Question { raw: "c".into(), ..question() };
    assert!(grants.add(&more, Answer::Always, None, 0).unwrap_err().to_string().contains("revoke some"));
    // Grants that have expired make room.
    assert!(grants.add(&more, Answer::Always, None, 10).is_ok());
    grants.end_server(&ServerId::from_key("files"));
    assert!(grants.list(0).is_empty());
}
