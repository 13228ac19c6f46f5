//! The flow rule through a host (S15, acceptance test 16).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use couplet_client::Client;
use couplet_core::{Caller, RequestContext, Service};
use couplet_host::{
    Host,
    consent::Elicited,
    policy::{Glob, Labels, Layer, Policy},
};
use couplet_types::ProtocolVersion;
use serde_json::json;

use crate::kit::{Changed, SESSIONS, STATELESS, connect, entry, in_time, server};

/// A session of a transport.
#[derive(Debug)]
struct Session(&'static str);

impl RequestContext for Session {
    fn session_id(&self) -> Option<&str> {
        Some(self.0)
    }
}

/// A step of a script: a principal, its session, and what it does.
type Step = (&'static str, &'static str, &'static str);

const PRIVATE: &str = "mail__who";
const PRIVATE_READ: &str = "mail://one";
const UNTRUSTED: &str = "web__who";
const SENDS: &str = "post__who";

/// What happens to the last step of a script. All others run without a question.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Runs,
    Stops,
    /// It stops where calls are stateless: a principal has one flow then.
    StopsWithoutSessions,
}

const SCRIPTS: &[(Last, &[Step])] = &[
    (Last::Stops, &[("ann", "a", PRIVATE), ("ann", "a", UNTRUSTED), ("ann", "a", SENDS)]),
    (Last::Stops, &[("ann", "a", UNTRUSTED), ("ann", "a", PRIVATE), ("ann", "a", SENDS)]),
    (Last::Stops, &[("ann", "a", UNTRUSTED), ("ann", "a", SENDS), ("ann", "a", PRIVATE)]),
    (Last::Stops, &[("ann", "a", PRIVATE_READ), ("ann", "a", UNTRUSTED), ("ann", "a", SENDS)]),
    (Last::Stops, &[("ann", "a", SENDS), ("ann", "a", UNTRUSTED), ("ann", "a", PRIVATE_READ)]),
    // Two of three are a benign task, however often.
    (Last::Runs, &[("ann", "a", PRIVATE), ("ann", "a", UNTRUSTED), ("ann", "a", PRIVATE), ("ann", "a", UNTRUSTED)]),
    (Last::Runs, &[("ann", "a", PRIVATE), ("ann", "a", SENDS), ("ann", "a", PRIVATE_READ), ("ann", "a", SENDS)]),
    (Last::Runs, &[("ann", "a", UNTRUSTED), ("ann", "a", SENDS), ("ann", "a", UNTRUSTED), ("ann", "a", SENDS)]),
    // Another session and another principal have flows of their own.
    (Last::StopsWithoutSessions, &[("ann", "a", PRIVATE), ("ann", "b", UNTRUSTED), ("ann", "b", SENDS)]),
    (Last::StopsWithoutSessions, &[("ann", "a", PRIVATE), ("ann", "a", UNTRUSTED), ("ann", "b", SENDS)]),
    (Last::Runs, &[("ann", "a", PRIVATE), ("bob", "b", UNTRUSTED), ("bob", "b", SENDS)]),
    (Last::Runs, &[("ann", "a", PRIVATE), ("ann", "a", UNTRUSTED), ("bob", "a", SENDS)]),
];

/// A host with a server for each label.
fn host(far: ProtocolVersion, decision: &str) -> Host {
    let labelled = |key, labels| entry(key, server(key, far)).labels(Glob::new("*").unwrap(), labels);
    let rules = format!(r#"[{{"{decision}":{{"flow":"trifecta"}}}},{{"allow":{{}}}}]"#);
    Host::builder()
        .add(labelled("mail", Labels::PRIVATE))
        .add(labelled("web", Labels::UNTRUSTED))
        .add(labelled("post", Labels::SENDS))
        .policy(Policy::new(vec![Layer::new("policy", serde_json::from_str::<Vec<_>>(&rules).unwrap())]))
        .consent(Elicited)
        .build()
}

/// The host as a principal reaches it in a session.
fn reached(host: &Host, who: &'static str, session: Option<&'static str>) -> Arc<dyn Service> {
    let caller = Arc::new(Caller::new(who));
    let change = move |call: &mut couplet_core::Call| {
        call.caller = Some(caller.clone());
        call.context = session.map(|session| Arc::new(Session(session)) as Arc<dyn RequestContext>);
    };
    Arc::new(Changed(host.service(), Box::new(change)))
}

async fn runs(client: &Client, what: &str) -> bool {
    match what.contains("://") {
        true => client.read(what).await.is_ok(),
        false => client.call(what, ()).await.is_ok_and(|done| !done.is_error()),
    }
}

async fn check(near: ProtocolVersion, far: ProtocolVersion, decision: &str, answer: &'static str) {
    for (at, (last, steps)) in SCRIPTS.iter().enumerate() {
        let what = format!("{near} to {far}: {decision}, {answer}, script {at}");
        let (host, asked) = (host(far, decision), Arc::new(AtomicUsize::new(0)));
        let stops = *last == Last::Stops || *last == Last::StopsWithoutSessions && near == STATELESS;
        let (final_step, before) = steps.split_last().unwrap();
        for (number, (who, session, target)) in before.iter().chain([final_step]).enumerate() {
            let count = asked.clone();
            let client = Client::new("near", "1").versions([near]).on_elicit(move |ask| {
                count.fetch_add(1, Ordering::SeqCst);
                assert!(ask.message().contains("private data"), "{}", ask.message());
                async move { ask.accept(json!({ "answer": answer })) }
            });
            let session = (near == SESSIONS).then_some(*session);
            let client = connect(client, reached(&host, who, session)).await;
            let is_stopped = stops && number == before.len();
            assert_eq!(runs(&client, target).await, !is_stopped || answer == "once", "{what}, step {number}");
            let expected = usize::from(is_stopped && decision == "ask");
            assert_eq!(asked.load(Ordering::SeqCst), expected, "{what}, step {number}");
        }
    }
}

#[tokio::test]
async fn acceptance_16_the_call_that_completes_a_flow_is_stopped() {
    for (near, far) in [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)] {
        for (decision, answer) in [("ask", "deny"), ("ask", "once"), ("deny", "never asked")] {
            in_time(format_args!("{near} to {far}"), check(near, far, decision, answer)).await;
        }
    }
}
