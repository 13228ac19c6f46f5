//! Each decision has its record (S22).

use std::{sync::Arc, time::Duration};

use couplet_client::{Client, Filter};
use couplet_core::{BoxFuture, Call};
use couplet_host::{
    Host, Profile, Server as Entry,
    audit::{MemoryAudit, Outcome, Record},
    consent::{Answer, Consent, Question},
    names::Kind,
    pins::{MemoryPins, Pins},
    policy::{Decision, Door, Glob, Layer, Policy},
    upstream::UpstreamOptions,
};
use couplet_types::{CompletionReference, ProtocolVersion};
use serde_json::json;
use tokio::sync::Notify;

use crate::{
    evil::Evil,
    kit::{SESSIONS, STATELESS, able, authenticated, connect, entry, id, in_time, server},
    raw::Raw,
};

/// An attempt to reach a target, which fails.
async fn attempt(client: &Client, way: &str, name: &str) {
    let word = json!({ "word": "x" });
    let is_reached = match way {
        "call" => client.call(name, word).await.is_ok_and(|done| !done.is_error()),
        "get" => client.prompt(name, word).await.is_ok(),
        "read" => client.read(name).await.is_ok(),
        "complete" => client.complete(CompletionReference::prompt(name), "word", "").await.is_ok(),
        "subscribe" => {
            let changes = client.listen(Filter::new().resource(name)).await;
            changes.is_ok_and(|changes| changes.honoured().uris.contains(name))
        }
        way => panic!("{way}"),
    };
    assert!(!is_reached, "{way} {name}");
}

/// A host with a profile that leaves things out, a server that waits for an approval, and a rule.
async fn host(far: ProtocolVersion, audit: &Arc<MemoryAudit>) -> Host {
    let glob = |pattern| Glob::new(pattern).unwrap();
    let profile = Profile::new("work")
        .server(id("files"))
        .server(id("evil"))
        .deny(id("files"), Kind::Tool, glob("fail"))
        .deny(id("files"), Kind::Prompt, glob("ask"))
        .deny(id("files"), Kind::Resource, glob("files://one"))
        .preset(id("files"), "echo", "word", json!("fixed"));
    let rules = r#"[{"deny":{"resource":"files/files://2/page"}},{"allow":{}}]"#;
    let host = Host::builder()
        .add(entry("files", server("files", far)).unpinned())
        .server("evil", Evil::named("evil", far, &["one"]).service())
        .add(entry("mail", server("mail", far)).unpinned())
        .profile(profile)
        .policy(Policy::new(vec![Layer::new("policy", serde_json::from_str::<Vec<_>>(rules).unwrap())]))
        .pins(Pins::open(MemoryPins::default()).await.unwrap())
        .audit(audit.clone())
        .build();
    host.ready(Duration::from_secs(10)).await;
    host
}

/// Calls of unapproved definitions, of names that the profile hides, and refused subscriptions have one record each, with
/// the reason; a name that does not exist has none.
#[tokio::test]
async fn s22_each_refusal_has_one_record() {
    let cases = [
        ("call", "evil__one", Some(("evil", "one", Door::Call, "pins"))),
        ("call", "files__fail", Some(("files", "fail", Door::Call, "profile"))),
        ("call", "files__echo", Some(("files", "echo", Door::Call, "profile"))),
        ("get", "files__ask", Some(("files", "ask", Door::Get, "profile"))),
        ("complete", "files__ask", Some(("files", "ask", Door::Complete, "profile"))),
        ("read", "files://one", Some(("files", "files://one", Door::Read, "profile"))),
        ("read", "files://2/page", Some(("files", "files://2/page", Door::Read, "policy[0]"))),
        ("subscribe", "files://2/page", Some(("files", "files://2/page", Door::Subscribe, "policy[0]"))),
        ("subscribe", "files://one", Some(("files", "files://one", Door::Subscribe, "profile"))),
        ("subscribe", "mail://one", Some(("mail", "mail://one", Door::Subscribe, "profile"))),
        ("call", "mail__who", Some(("mail", "who", Door::Call, "profile"))),
        ("read", "mail://one", Some(("mail", "mail://one", Door::Read, "profile"))),
        ("call", "files__none", None),
        ("call", "mail__none", None),
        ("get", "files__none", None),
        ("read", "none://one", None),
        ("subscribe", "none://one", None),
    ];
    for (near, far) in [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)] {
        in_time(format_args!("{near} to {far}"), async {
            let audit = Arc::new(MemoryAudit::default());
            let host = host(far, &audit).await;
            let client = connect(able(near).0, authenticated("ann", host.view("work").unwrap().service())).await;
            client.tools().await.unwrap();
            for (way, name, expected) in cases {
                attempt(&client, way, name).await;
                let records = audit.take();
                // A subscription has no time.
                if way != "subscribe" {
                    let ann = |record: &Record| record.principal.as_deref() == Some("ann") && record.total.is_some();
                    assert!(records.iter().all(ann), "{way} {name}: {records:?}");
                }
                let records: Vec<_> = records.iter().map(summary).collect();
                assert_eq!(records, Vec::from_iter(expected), "{near} to {far}: {way} {name}");
            }
            // What is allowed has one, too.
            client.call("files__who", ()).await.unwrap();
            let records = audit.take();
            assert_eq!((records.len(), records[0].outcome), (1, Outcome::Ok));
        })
        .await;
    }
}

/// Each resource of a subscription has one record, whatever is decided about the others.
#[tokio::test]
async fn s22_each_subscription_has_one_record() {
    for near in ProtocolVersion::ALL {
        in_time(near, async {
            let audit = Arc::new(MemoryAudit::default());
            let host = host(STATELESS, &audit).await;
            let client = connect(able(*near).0, authenticated("ann", host.view("work").unwrap().service())).await;
            let filter = Filter::new().resource("files://3/page");
            let allowed = client.listen(filter.clone()).await.unwrap();
            assert!(allowed.honoured().uris.contains("files://3/page"));
            let records = audit.take();
            assert_eq!((records.len(), records[0].decision, records[0].door), (1, Decision::Allow, Door::Subscribe));
            drop(allowed);
            // In a session, the first refusal ends it.
            drop(client.listen(filter.resource("files://2/page").resource("none://one")).await);
            let records = audit.take();
            let of =
                |decision| records.iter().filter(move |record| record.decision == decision).map(|record| &*record.raw);
            assert_eq!(of(Decision::Deny).collect::<Vec<_>>(), ["files://2/page"], "{near}");
            assert!(of(Decision::Allow).all(|uri| uri == "files://3/page") && records.len() < 3, "{near}: {records:?}");
        })
        .await;
    }
}

fn summary(record: &Record) -> (&str, &str, Door, &str) {
    assert_eq!((record.decision, record.outcome), (Decision::Deny, Outcome::NotSent), "{record:?}");
    assert_eq!(record.profile.as_deref(), Some("work"));
    (record.server.as_str(), &record.raw, record.door, record.rule.as_deref().unwrap_or_default())
}

/// The record of a call of a definition that is not approved has the digest of that definition.
#[tokio::test]
async fn s22_a_record_names_the_definition_that_was_not_approved() {
    in_time("pins", async {
        let audit = Arc::new(MemoryAudit::default());
        let host = host(STATELESS, &audit).await;
        let client = connect(able(STATELESS).0, host.view("work").unwrap().service()).await;
        attempt(&client, "call", "evil__one").await;
        let [record] = &audit.take()[..] else { panic!("one record") };
        let catalog = host.upstreams()[1].catalog();
        let definition = catalog.list(couplet_host::catalog::List::Tools)[0].fingerprint();
        assert_eq!(record.pin, definition.map(|print| print.digest));
        assert!(record.pin.is_some() && record.arguments.is_some());
    })
    .await;
}

/// A record has the time in the queue and the time at the server, as far as the call came.
#[tokio::test]
async fn records_have_times() {
    for far in [SESSIONS, STATELESS] {
        in_time(far, async {
            let (audit, raw) = (Arc::new(MemoryAudit::default()), Raw::new(far));
            let mut options = UpstreamOptions::default();
            (options.calls, options.queue) = (1, 0);
            let host = Host::builder().add(Entry::new(id("raw"), raw.clone()).options(options)).audit(audit.clone());
            let host = host.build();
            let client = connect(able(STATELESS).0, host.service()).await;
            client.tools().await.unwrap();
            client.call("raw__echo", ()).await.unwrap();
            let hung = client.clone();
            let hung = tokio::spawn(async move { hung.call("raw__hang", ()).await });
            while raw.received("tools/call").len() < 2 {
                tokio::task::yield_now().await;
            }
            client.call("raw__echo", ()).await.unwrap_err();
            hung.abort();
            let mut records = Vec::new();
            while records.len() < 3 {
                tokio::task::yield_now().await;
                records.extend(audit.take());
            }
            let summary = |record: &Record| (record.outcome, record.queued.is_some(), record.upstream.is_some());
            assert_eq!(
                records.iter().map(summary).collect::<Vec<_>>(),
                [
                    (Outcome::Ok, true, true),
                    (Outcome::Unavailable { sent: false }, true, false),
                    (Outcome::Cancelled, true, true),
                ]
            );
            for Record { queued, upstream, total, .. } in &records {
                assert!(queued.unwrap_or_default() + upstream.unwrap_or_default() <= total.unwrap(), "{records:?}");
            }
        })
        .await;
    }
}

/// A person who does not answer.
#[derive(Clone, Default)]
struct Away(Arc<Notify>);

impl Consent for Away {
    fn ask<'a>(&'a self, _: &'a Question, _: &'a Call) -> BoxFuture<'a, Answer> {
        self.0.notify_one();
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_a_person_is_asked_is_recorded() {
    for near in [SESSIONS, STATELESS] {
        in_time(near, async {
            let (audit, away) = (Arc::new(MemoryAudit::default()), Away::default());
            let rules = serde_json::from_str::<Vec<_>>(r#"[{"ask":{}}]"#).unwrap();
            let host = Host::builder()
                .add(entry("files", server("files", STATELESS)))
                .policy(Policy::new(vec![Layer::new("policy", rules)]))
                .consent(away.clone())
                .audit(audit.clone())
                .build();
            let client = connect(able(near).0, host.service()).await;
            let waiting = client.clone();
            let waiting = tokio::spawn(async move { waiting.call("files__echo", json!({ "word": "x" })).await });
            away.0.notified().await;
            waiting.abort();
            let mut records = Vec::new();
            while records.is_empty() {
                tokio::task::yield_now().await;
                records = audit.take();
            }
            let [record] = &records[..] else { panic!("{records:?}") };
            assert_eq!((record.decision, record.outcome), (Decision::Ask, Outcome::Cancelled));
            assert!(record.consent.is_none() && record.upstream.is_none() && record.total.is_some());
        })
        .await;
    }
}

/// The record of a request of a server has the id of the call that it belongs to.
#[tokio::test]
async fn requests_of_servers_are_parts_of_their_call() {
    for (near, far) in [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)] {
        in_time(format_args!("{near} to {far}"), async {
            let audit = Arc::new(MemoryAudit::default());
            let host = Host::builder().add(entry("files", server("files", far))).audit(audit.clone()).build();
            let client = connect(able(near).0, host.service()).await;
            client.call("files__think", ()).await.unwrap();
            let records = audit.take();
            let of = |door: Door| records.iter().filter(move |record| record.door == door);
            let calls: Vec<_> = of(Door::Call).map(|record| record.request.clone().unwrap()).collect();
            for door in [Door::Sampling, Door::Roots] {
                assert!(of(door).count() > 0, "{near} to {far}: {door:?}");
                for record in of(door) {
                    let parent = record.parent.as_ref().unwrap();
                    assert!(calls.contains(parent) && record.request.is_none(), "{near} to {far}: {records:?}");
                }
            }
        })
        .await;
    }
}
