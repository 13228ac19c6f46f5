//! One decision for every way to a target: each kind, each door and each decision.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::{Client, Filter};
use couplet_core::{BoxFuture, Call, Error, Service};
use couplet_host::{
    Host, HostBuilder, Server as Entry,
    consent::{Answer, Consent, Question},
    pins::Digest,
    policy::{Layer, Policy},
};
use couplet_server::{Server, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Task, TaskTool, Tasks};
use couplet_transform::ToolSearch;
use couplet_types::{CompletionReference, ProtocolVersion};
use serde_json::{Value, json};

use crate::kit::{SESSIONS, STATELESS, able, connect, id, in_all_pairs, in_time, server};

/// The decisions, and whether there is a person to ask.
const DECISIONS: [(&str, bool); 5] = [("allow", false), ("ask", true), ("ask", false), ("deny", true), ("deny", false)];

fn is_open(decision: &str, has_consent: bool) -> bool {
    decision == "allow" || (decision == "ask" && has_consent)
}

/// A kind of target: the condition of a rule, the server's own name, the name for clients, and one that does not exist.
struct Target {
    kind: &'static str,
    raw: &'static str,
    exposed: &'static str,
    absent: &'static str,
    /// The ways to it, and whether a person is asked on each.
    doors: &'static [(Way, bool)],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    List,
    Call,
    /// A call through the tool that calls what a search has found.
    CallTool,
    Search,
    Read,
    Subscribe,
    Get,
    Complete,
}

const TARGETS: [Target; 4] = [
    Target {
        kind: "tool",
        raw: "echo",
        exposed: "files__echo",
        absent: "files__none",
        doors: &[(Way::List, false), (Way::Search, false), (Way::Call, true), (Way::CallTool, true)],
    },
    Target {
        kind: "resource",
        raw: "files://one",
        exposed: "files://one",
        absent: "none://one",
        doors: &[(Way::List, false), (Way::Read, true), (Way::Subscribe, false)],
    },
    Target {
        kind: "template",
        raw: "files://{n}/page",
        exposed: "files://{n}/page",
        absent: "none://{n}/page",
        doors: &[(Way::List, false), (Way::Complete, false)],
    },
    Target {
        kind: "prompt",
        raw: "ask",
        exposed: "files__ask",
        absent: "files__none",
        doors: &[(Way::List, false), (Way::Get, true), (Way::Complete, false)],
    },
];

/// A person who allows everything, and counts.
#[derive(Clone, Default)]
struct Yes(Arc<AtomicUsize>);

impl Consent for Yes {
    fn ask<'a>(&'a self, _: &'a Question, _: &'a Call) -> BoxFuture<'a, Answer> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Answer::Once))
    }
}

fn decided(host: HostBuilder, rules: &str, consent: Option<&Yes>) -> HostBuilder {
    let layer = Layer::new("policy", serde_json::from_str::<Vec<_>>(rules).unwrap());
    let host = host.policy(Policy::new(vec![layer]));
    match consent {
        Some(yes) => host.consent(yes.clone()),
        None => host,
    }
}

/// The clients of one host: one that lists, and one that searches.
struct Clients {
    plain: Client,
    search: Client,
}

/// What a client learns on a way to a name: whether it is there, or the error.
async fn reached(clients: &Clients, way: Way, kind: &str, name: &str) -> Result<bool, String> {
    let Clients { plain, search } = clients;
    let word = json!({ "word": "x" });
    let done = |result: Result<(), Error>| match result {
        Ok(()) => Ok(true),
        Err(error) => Err(error.rpc().map_or_else(|| error.to_string(), |rpc| serde_json::to_string(rpc).unwrap())),
    };
    match way {
        Way::List => Ok(match kind {
            "tool" => plain.tools().await.unwrap().iter().any(|tool| tool.name == name),
            "prompt" => plain.prompts().await.unwrap().iter().any(|prompt| prompt.name == name),
            "resource" => plain.resources().await.unwrap().iter().any(|resource| resource.uri == name),
            _ => plain.resource_templates().await.unwrap().iter().any(|template| template.uri_template == name),
        }),
        Way::Search => {
            let text = search.call("search_tools", json!({ "query": "echo" })).await.unwrap().text();
            let found: Option<Value> = serde_json::from_str(&text).ok();
            let mut found = found.iter().flat_map(|found| found["tools"].as_array().unwrap());
            Ok(found.any(|tool| tool["name"] == name))
        }
        Way::Call => done(plain.call(name, word).await.map(drop)),
        Way::CallTool => match search.call("call_tool", json!({ "name": name, "arguments": word })).await {
            Ok(result) if result.is_error() => Err(result.text()),
            result => done(result.map(drop)),
        },
        Way::Read => done(plain.read(name).await.map(drop)),
        Way::Get => done(plain.prompt(name, word).await.map(drop)),
        Way::Complete if kind == "prompt" => {
            done(plain.complete(CompletionReference::prompt(name), "word", "").await.map(drop))
        }
        Way::Complete => done(plain.complete(CompletionReference::resource(name), "n", "").await.map(drop)),
        Way::Subscribe => match plain.listen(Filter::new().resource(name)).await {
            Ok(changes) => Ok(changes.honoured().uris.contains(name)),
            Err(error) => done(Err(error)),
        },
    }
}

/// Checks each way to a target. A denied one is what an absent one is: in lists, in searches, and to the letter in errors.
async fn check(target: &Target, near: ProtocolVersion, far: ProtocolVersion, (decision, has_consent): (&str, bool)) {
    let Target { kind, raw, exposed, absent, doors } = target;
    let rules = format!(r#"[{{"{decision}":{{"{kind}":"files/{raw}"}}}},{{"allow":{{}}}}]"#);
    let yes = Yes::default();
    let host = Host::builder().server("files", server("files", far).build());
    let host = host.server("mail", server("mail", far).build());
    let host = decided(host, &rules, has_consent.then_some(&yes)).build();
    let search: Arc<dyn Service> = Arc::new(ToolSearch::new(host.service()));
    let clients =
        Clients { plain: connect(able(near).0, host.service()).await, search: connect(able(near).0, search).await };
    for (way, asks) in *doors {
        let what = format!("{near} to {far}: {decision}, consent: {has_consent}, {kind}, {way:?}");
        let outcome = reached(&clients, *way, kind, exposed).await;
        let unknown = reached(&clients, *way, kind, absent).await;
        let asked = yes.0.swap(0, Ordering::SeqCst);
        if is_open(decision, has_consent) {
            assert_eq!(outcome, Ok(true), "{what}");
            assert_eq!(asked, usize::from(*asks && decision == "ask"), "{what}: questions");
        } else {
            let unknown = unknown.map_err(|error| error.replace(absent, exposed));
            assert_eq!(outcome, unknown, "{what}");
            assert_ne!(outcome, Ok(true), "{what}");
            assert_eq!(asked, 0, "{what}: questions");
        }
    }
}

#[tokio::test]
async fn s16_every_door_has_the_same_decision() {
    in_all_pairs(|near, far| async move {
        for target in &TARGETS {
            for decision in DECISIONS {
                check(target, near, far, decision).await;
            }
        }
    })
    .await;
}

/// A template that is denied serves no resource. Other templates, and listed resources, are not affected.
#[tokio::test]
async fn s16_a_denied_template_serves_nothing() {
    in_all_pairs(|near, far| async move {
        let rules = r#"[{"deny":{"template":"files/*"}},{"allow":{}}]"#;
        let host = Host::builder().server("files", server("files", far).build());
        let host = decided(host.server("mail", server("mail", far).build()), rules, None).build();
        let client = connect(able(near).0, host.service()).await;
        let error = |uri: &'static str| {
            let client = client.clone();
            async move { serde_json::to_string(client.read(uri).await.unwrap_err().rpc().unwrap()).unwrap() }
        };
        assert_eq!(error("files://7/page").await, error("none://7/page").await.replace("none:", "files:"));
        assert_eq!(client.read("files://one").await.unwrap().all_text(), "files one");
        assert_eq!(client.read("mail://7/page").await.unwrap().all_text(), "mail page 7");
        let subscribed = client.listen(Filter::new().resource("files://7/page")).await;
        assert!(!subscribed.is_ok_and(|changes| changes.honoured().uris.contains("files://7/page")));
    })
    .await;
}

/// A task follows the decision about its tool, also if that has changed since the task was created.
#[tokio::test]
async fn s16_a_task_is_decided_like_its_tool() {
    for (near, far) in [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)] {
        for (decision, has_consent) in DECISIONS {
            for door in ["", r#","door":"task""#] {
                let what = format!("{near} to {far}: {decision}, consent: {has_consent}{door}");
                in_time(&what, async {
                    let server = Server::new("s", "1")
                        .versions([far])
                        .extension(Tasks::in_memory())
                        .tool(tool("job", || async { "done" }).task(Task::optional()))
                        .build();
                    let entry = || Entry::new(id("s"), server.clone()).launch(Digest::of("s"));
                    let host = Host::builder().add(entry()).build();
                    host.ready(Duration::from_secs(10)).await;
                    let client = Client::new("near", "1").versions([near]).extension(ClientTasks::new());
                    let client = connect(client, host.service()).await;
                    let Called::Task(task) = client.call_task("s__job", ()).await.unwrap() else { panic!("{what}") };
                    let rules = format!(r#"[{{"{decision}":{{"tool":"s/job"{door}}}}},{{"allow":{{}}}}]"#);
                    let yes = Yes::default();
                    host.replace(decided(Host::builder().add(entry()), &rules, has_consent.then_some(&yes))).await;
                    let state = client.task(task.id()).state().await;
                    if is_open(decision, has_consent) {
                        assert!(state.is_ok(), "{what}: {state:?}");
                    } else {
                        let unknown = client.task("nothing").state().await.unwrap_err();
                        assert_eq!(state.unwrap_err().rpc().unwrap(), unknown.rpc().unwrap(), "{what}");
                    }
                    assert_eq!(yes.0.load(Ordering::SeqCst), 0, "{what}: the call was asked about");
                })
                .await;
            }
        }
    }
}
