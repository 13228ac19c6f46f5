//! Consent to requests of servers: sampling where the policy says `ask`.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use couplet_client::Client;
use couplet_core::{BoxFuture, Call, Service};
use couplet_host::{
    Host,
    audit::MemoryAudit,
    consent::{Answer, Consent, Elicited, Headless, Question},
    policy::{Decision, Door, Layer, Policy},
};
use couplet_server::{Ctx, Server, tool};
use couplet_types::{CreateMessageParams, CreateMessageResult, ProtocolVersion, RpcError, SamplingMessage};
use serde_json::json;

use crate::kit::{Changed, SESSIONS, STATELESS, connect, in_time};

const PAIRS: [(ProtocolVersion, ProtocolVersion); 4] =
    [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)];

fn policy() -> Policy {
    let rules = r#"[{"ask":{"door":"sampling"}},{"allow":{}}]"#;
    Policy::new(vec![Layer::new("policy", serde_json::from_str::<Vec<_>>(rules).unwrap())])
}

async fn sample(ctx: &Ctx, key: &str, text: &str) -> Result<(), RpcError> {
    ctx.sample(key, CreateMessageParams::new(vec![SamplingMessage::user(text)], 50)).await.map(drop)
}

async fn twice(ctx: Ctx) -> Result<&'static str, RpcError> {
    sample(&ctx, "first", "first text").await?;
    sample(&ctx, "second", "second text").await?;
    Ok("sampled twice")
}

/// A server that samples twice in a call, and the number of calls that it receives.
fn sampling(far: ProtocolVersion) -> (Arc<dyn Service>, Arc<AtomicUsize>) {
    let server: Arc<dyn Service> = Arc::new(Server::new("s", "1").versions([far]).tool(tool("twice", twice)).build());
    let received = Arc::new(AtomicUsize::new(0));
    let count = received.clone();
    let counted = Changed(
        server,
        Box::new(move |call| {
            count.fetch_add(usize::from(call.method == "tools/call"), Ordering::SeqCst);
        }),
    );
    (Arc::new(counted), received)
}

/// What the caller's user is asked, in order: the first lines of forms, and the texts that are sampled.
type Seen = Arc<Mutex<Vec<String>>>;

/// A client whose user gives these answers, the last one again and again.
async fn client(near: ProtocolVersion, host: &Host, answers: &'static [&'static str]) -> (Client, Seen) {
    let (seen, asked) = (Seen::default(), Arc::new(AtomicUsize::new(0)));
    let (forms, samples) = (seen.clone(), seen.clone());
    let client = Client::new("near", "1")
        .versions([near])
        .on_elicit(move |ask| {
            let text = if ask.message().contains("first text") { "first" } else { "second" };
            assert!(ask.message().starts_with("Allow a sampling request by the tool `twice` of the server `s`?"));
            forms.lock().unwrap().push(format!("consent to the {text}"));
            let at = asked.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
            async move { ask.accept(json!({ "answer": answers[at] })) }
        })
        .on_sample(move |params| {
            samples.lock().unwrap().push(params.messages[0].content.all_text());
            async { Ok(CreateMessageResult::new("a-model", "a sentence")) }
        });
    (connect(client, host.service()).await, seen)
}

/// A person is asked before each sampling request, which reaches the client only with the consent. The server receives the
/// call as often as without consent.
#[tokio::test]
async fn s06_sampling_needs_the_consent_of_a_person() {
    for (near, far) in PAIRS {
        for (answers, is_done, expected) in [
            (&["once"][..], true, &["consent to the first", "first text", "consent to the second", "second text"][..]),
            (&["once", "deny"], false, &["consent to the first", "first text", "consent to the second"]),
            (&["deny"], false, &["consent to the first"]),
            (&["always"], true, &["consent to the first", "first text", "second text"]),
        ] {
            let what = format!("{near} to {far}: {answers:?}");
            in_time(&what, async {
                let (server, received) = sampling(far);
                let audit = Arc::new(MemoryAudit::default());
                let host = Host::builder().server("s", server).policy(policy()).consent(Elicited).audit(audit.clone());
                let host = host.build();
                let (client, seen) = client(near, &host, answers).await;
                let done = client.call("s__twice", ()).await;
                assert_eq!(done.as_ref().is_ok_and(|done| !done.is_error()), is_done, "{what}: {done:?}");
                assert_eq!(*seen.lock().unwrap(), expected, "{what}");
                let sampled = expected.iter().filter(|seen| seen.ends_with("text")).count();
                let calls = if far == STATELESS { 1 + sampled } else { 1 };
                assert_eq!(received.load(Ordering::SeqCst), calls, "{what}: calls that the server receives");
                let records = audit.take();
                let records: Vec<_> = records.iter().filter(|record| record.door == Door::Sampling).collect();
                assert!(records.iter().all(|record| record.decision == Decision::Ask), "{what}: {records:?}");
                assert!(records.iter().all(|record| record.rule.as_deref() == Some("policy[0]")), "{what}");
                let mut consents: Vec<_> = records.iter().map(|record| record.consent.as_deref().unwrap()).collect();
                consents.retain(|consent| !consent.starts_with("grant "));
                let expected = &answers
                    [..expected.iter().filter(|seen| seen.starts_with("consent")).count().min(2).min(answers.len())];
                assert_eq!(consents[..expected.len()], *expected, "{what}");
                if answers == ["always"] {
                    // The grant covers the next call, too.
                    assert!(!client.call("s__twice", ()).await.unwrap().is_error(), "{what}");
                    assert_eq!(seen.lock().unwrap()[3..], ["first text", "second text"], "{what}");
                }
            })
            .await;
        }
    }
}

/// A consent that does not ask the caller, such as a queue at the machine of the host.
struct Aside(Answer, Arc<Mutex<Vec<Question>>>);

impl Consent for Aside {
    fn ask<'a>(&'a self, question: &'a Question, call: &'a Call) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let asked = call.inputs.step("aside", || async {
                self.1.lock().unwrap().push(question.clone());
                self.0
            });
            asked.await.unwrap()
        })
    }
}

#[tokio::test]
async fn s06_each_way_to_ask_decides_about_sampling() {
    for (near, far) in PAIRS {
        for answer in [Some(Answer::Once), Some(Answer::Deny), None] {
            let what = format!("{near} to {far}: {answer:?}");
            in_time(&what, async {
                let (server, _) = sampling(far);
                let questions = Arc::new(Mutex::new(Vec::new()));
                let host = Host::builder().server("s", server).policy(policy());
                let host = match answer {
                    Some(answer) => host.consent(Aside(answer, questions.clone())).build(),
                    None => host.consent(Headless).build(),
                };
                let (client, seen) = client(near, &host, &["deny"]).await;
                let done = client.call("s__twice", ()).await;
                let is_open = answer == Some(Answer::Once);
                assert_eq!(done.is_ok_and(|done| !done.is_error()), is_open, "{what}");
                let expected: &[&str] = if is_open { &["first text", "second text"] } else { &[] };
                assert_eq!(*seen.lock().unwrap(), expected, "{what}");
                let texts: Vec<_> = questions.lock().unwrap().iter().map(Question::text).collect();
                assert_eq!(texts.len(), expected.len().max(usize::from(answer.is_some())), "{what}: {texts:?}");
                assert!(texts.iter().all(|text| text.contains("Reason: the rule `policy[0]`")), "{what}: {texts:?}");
            })
            .await;
        }
    }
}
