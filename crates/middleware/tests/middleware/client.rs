//! Middleware of clients.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_client::{
    Change, Client, ClientBuilder, ClientRequest, Filter, Middleware, Next, Notice, ServerRequest, ServerRequestNext,
};
use couplet_core::{BoxFuture, Error, ErrorKind, JsonText, Outcome};
use couplet_middleware::client::{ClientLog, ClientMessage, ClientRecord, ClientRetry, ClientTiming};
use couplet_server::{Ctx, Server, ServerHandle, extract::Args, resource, tool};
use couplet_types::{
    CreateMessageParams, CreateMessageResult, ElicitSchema, PrimitiveSchema, ProtocolVersion, Root, RpcError,
    SamplingMessage,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::{Count, call, in_each_revision};

/// What middleware saw, in order.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn contains(&self, line: &str) -> bool {
        self.0.lock().unwrap().iter().any(|seen| seen == line)
    }
}

/// Middleware that names all messages.
struct Named(&'static str, Seen);

impl Middleware for Named {
    fn request(&self, request: ClientRequest, next: Next) -> BoxFuture<'static, Result<Outcome, Error>> {
        let (name, seen, method) = (self.0, self.1.clone(), request.method());
        seen.add(format!("{name} > {method}"));
        Box::pin(async move {
            let outcome = next.run(request).await;
            seen.add(format!("{name} < {method}"));
            outcome
        })
    }

    fn server_request(
        &self,
        request: ServerRequest,
        next: ServerRequestNext,
    ) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        self.1.add(format!("{} ? {}", self.0, request.method));
        next.run(request)
    }

    fn notification(&self, notification: Notice) -> Option<Notice> {
        self.1.add(format!("{} ! {}", self.0, notification.method));
        Some(notification)
    }

    fn outgoing_notification(&self, notification: Notice) -> Option<Notice> {
        self.1.add(format!("{} ~ {}", self.0, notification.method));
        Some(notification)
    }
}

#[derive(Deserialize, JsonSchema)]
struct Number {
    n: u32,
}

/// A server that asks the client for everything.
fn server() -> ServerHandle {
    let elicit = tool("elicit", async |ctx: Ctx| {
        let schema = ElicitSchema::new().required("name", PrimitiveSchema::string());
        let answer = ctx.elicit_with("name", couplet_types::ElicitParams::form("Name?", &schema)).await?;
        Ok::<_, RpcError>(serde_json::to_string(&answer.content).unwrap())
    });
    let sample = tool("sample", async |ctx: Ctx| {
        let ask = CreateMessageParams::new(vec![SamplingMessage::user("hi")], 9);
        Ok::<_, RpcError>(ctx.sample("hi", ask).await?.content.all_text())
    });
    let roots = tool("roots", async |ctx: Ctx| Ok::<_, RpcError>(ctx.roots().await?.len().to_string()));
    let progress = tool("progress", async |ctx: Ctx| {
        ctx.progress(0.5, "half").await;
        "done"
    });
    Server::new("s", "1")
        .tool(elicit)
        .tool(sample)
        .tool(roots)
        .tool(progress)
        .tool(tool("show", |Args(input): Args<Number>| input.n.to_string()))
        .tool(tool("broken", || Err::<String, _>(RpcError::internal("down"))))
        .resource(resource("test://menu", || "soup").subscribable())
        .build()
}

fn client(version: ProtocolVersion) -> ClientBuilder {
    Client::new("test", "1")
        .versions([version])
        .on_elicit(|ask| async move { ask.accept(json!({ "name": "ada" })) })
        .on_sample(|_| async { Ok(CreateMessageResult::new("model", "hello")) })
        .roots([Root::new("file:///a")])
}

#[test]
fn the_first_one_added_is_the_outermost() {
    in_each_revision(async |version| {
        let seen = Seen::default();
        let client = client(version).middleware(Named("one", seen.clone())).middleware(Named("two", seen.clone()));
        let client = client.connect(server()).await.unwrap();
        assert_eq!(call(&client, "show", json!({ "n": 1 })).await.0, "1");
        assert_eq!(
            seen.take(),
            ["one > tools/call", "two > tools/call", "two < tools/call", "one < tools/call"],
            "{version}"
        );
        client.tools().await.unwrap();
        assert_eq!(seen.take().len(), 4, "lists pass, too");
    });
}

#[test]
fn what_a_server_asks_passes_in_sessions_and_rounds() {
    let elicited = Count::default();
    in_each_revision(async |version| {
        let seen = Seen::default();
        let client = client(version).middleware(Named("one", seen.clone())).middleware(Named("two", seen.clone()));
        let client = client.connect(server()).await.unwrap();
        for (tool, method, answer) in [
            ("elicit", "elicitation/create", r#"{"name":"ada"}"#),
            ("sample", "sampling/createMessage", "hello"),
            ("roots", "roots/list", "1"),
        ] {
            seen.take();
            let result = client.call(tool, json!({})).await;
            // Elicitation exists since 2025-06-18.
            let Ok(result) = result.and_then(|result| result.into_result()) else {
                assert_eq!(tool, "elicit", "{version}");
                continue;
            };
            elicited.add();
            assert_eq!(result.text(), answer);
            let expected = [
                "one > tools/call",
                "two > tools/call",
                &format!("one ? {method}"),
                &format!("two ? {method}"),
                "two < tools/call",
                "one < tools/call",
            ];
            assert_eq!(seen.take(), expected, "{version} {tool}: one call, however many rounds");
        }
    });
    assert_eq!(elicited.get(), 5 * 3 - 2, "three revisions have elicitation");
}

/// Middleware that refuses sampling.
struct NoSampling;

impl Middleware for NoSampling {
    fn server_request(
        &self,
        request: ServerRequest,
        next: ServerRequestNext,
    ) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        match &*request.method {
            "sampling/createMessage" => Box::pin(async { Err(RpcError::new(-1, "the user refused")) }),
            "roots/list" => panic!("middleware that panics fails the request alone"),
            _ => next.run(request),
        }
    }
}

#[test]
fn middleware_answers_in_place_of_callbacks() {
    in_each_revision(async |version| {
        let client = client(version).middleware(NoSampling).connect(server()).await.unwrap();
        for tool in ["sample", "roots"] {
            let refused = client.call(tool, json!({})).await.and_then(|result| result.into_result());
            assert!(refused.is_err(), "{version} {tool}");
        }
        assert_eq!(call(&client, "show", json!({ "n": 1 })).await.0, "1");
        // A capability that the client lacks is as unsupported as without middleware.
        let bare = Client::new("test", "1").versions([version]);
        let errors = [bare.clone(), bare.middleware(NoSampling)].map(async |client| {
            let client = client.connect(server()).await.unwrap();
            client.call("elicit", json!({})).await.and_then(|result| result.into_result()).unwrap_err().kind()
        });
        let [without, with] = errors;
        assert_eq!(without.await, with.await, "{version}");
    });
}

/// Middleware that asks the user first, who takes a while.
struct Slow;

impl Middleware for Slow {
    fn server_request(
        &self,
        request: ServerRequest,
        next: ServerRequestNext,
    ) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            next.run(request).await
        })
    }
}

#[test]
fn requests_do_not_time_out_while_middleware_answers() {
    in_each_revision(async |version| {
        let client = client(version).timeout(Duration::from_secs(5)).middleware(Slow).connect(server()).await.unwrap();
        assert_eq!(call(&client, "roots", json!({})).await, ("1".into(), false), "{version}");
    });
}

#[test]
fn notifications_pass_both_ways() {
    let sessions = Count::default();
    in_each_revision(async |version| {
        let (seen, server) = (Seen::default(), server());
        let client = client(version).middleware(Named("one", seen.clone())).connect(server.clone()).await.unwrap();
        let mut changes = client.listen(Filter::new().tools().resource("test://menu")).await.unwrap();
        server.updated("test://menu");
        assert_eq!(changes.next().await, Some(Change::Updated("test://menu".into())));
        assert!(seen.contains("one ! notifications/resources/updated"), "{version}: {:?}", seen.take());
        server.add_tool(tool("more", || "more")).unwrap();
        assert_eq!(changes.next().await, Some(Change::Tools));
        assert!(seen.contains("one ! notifications/tools/list_changed"), "{version}: {:?}", seen.take());
        let half = Count::default();
        let counted = half.clone();
        client.call("progress", json!({})).on_progress(move |_| _ = counted.add()).await.unwrap();
        assert!(half.get() == 1 && seen.contains("one ! notifications/progress"), "{version}");
        client.set_roots([Root::new("file:///b")]).await.unwrap();
        if seen.contains("one ~ notifications/roots/list_changed") {
            sessions.add();
        }
    });
    assert_eq!(sessions.get(), 4, "four revisions have sessions");
}

/// Middleware that drops progress, and panics at changes of tools.
struct Quiet;

impl Middleware for Quiet {
    fn notification(&self, notification: Notice) -> Option<Notice> {
        assert!(notification.method != "notifications/tools/list_changed", "this notification is lost, and no other");
        (notification.method != "notifications/progress").then_some(notification)
    }
}

#[test]
fn notifications_can_be_dropped() {
    in_each_revision(async |version| {
        let server = server();
        let client = client(version).middleware(Quiet).connect(server.clone()).await.unwrap();
        let half = Count::default();
        let counted = half.clone();
        client.call("progress", json!({})).on_progress(move |_| _ = counted.add()).await.unwrap();
        assert_eq!(half.get(), 0, "{version}");
        let tools = client.tools().await.unwrap().len();
        let mut changes = client.listen(Filter::new().tools().resource("test://menu")).await.unwrap();
        server.add_tool(tool("more", || "more")).unwrap();
        server.updated("test://menu");
        assert_eq!(changes.next().await, Some(Change::Updated("test://menu".into())), "{version}");
        assert_eq!(client.tools().await.unwrap().len(), tools + 1, "the cache is invalidated all the same");
    });
}

#[test]
fn middleware_changes_and_answers_requests() {
    in_each_revision(async |version| {
        // Doubles the number, and answers `broken` itself.
        let client = client(version).middleware(async |mut request: ClientRequest, next: Next| {
            match request.target().as_deref() {
                Some("broken") => {
                    let text = json!({ "content": [{ "type": "text", "text": "in place" }] }).to_string();
                    return Ok(Outcome::Complete(JsonText::new(text).unwrap()));
                }
                Some("show") => {
                    let n = request.params.read::<Number>("arguments").unwrap().n;
                    let doubled = JsonText::new(json!({ "n": 2 * n }).to_string()).unwrap();
                    request.params = request.params.with("arguments", &doubled).unwrap();
                }
                _ => {}
            }
            next.run(request).await
        });
        let client = client.connect(server()).await.unwrap();
        assert_eq!(call(&client, "show", json!({ "n": 21 })).await.0, "42");
        assert_eq!(call(&client, "broken", json!({})).await.0, "in place");
    });
}

#[test]
fn parameters_that_middleware_breaks_are_not_sent() {
    in_each_revision(async |version| {
        let client = client(version).middleware(async |mut request: ClientRequest, next: Next| {
            request.params = request.params.without("name").unwrap();
            next.run(request).await
        });
        let client = client.connect(server()).await.unwrap();
        let error = client.call("show", json!({ "n": 1 })).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    });
}

/// A client without middleware, and one with middleware that passes everything, send and return the same.
#[test]
fn passing_middleware_changes_nothing() {
    in_each_revision(async |version| {
        let pass = async |request: ClientRequest, next: Next| next.run(request).await;
        let mut texts = Vec::new();
        for client in [client(version), client(version).middleware(pass).middleware(Named("one", Seen::default()))] {
            let client = client.connect(server()).await.unwrap();
            let steps = Count::default();
            let counted = steps.clone();
            let progress = client.call("progress", json!({})).on_progress(move |_| _ = counted.add()).await.unwrap();
            let error = client.call("broken", json!({})).await.unwrap_err();
            let unknown = client.call("show", json!("no object")).await.unwrap_err();
            let late = client.call("elicit", json!({})).timeout(Duration::from_secs(5)).await.map(|r| r.text());
            texts.push((
                progress.text(),
                steps.get(),
                (error.to_string(), unknown.to_string()),
                late.map_err(|error| error.to_string()),
                client.tools().await.unwrap().len(),
                client.read("test://menu").await.unwrap().all_text(),
            ));
        }
        assert_eq!(texts[0], texts[1], "{version}");
    });
}

#[test]
fn the_log_has_shapes_and_no_values() {
    in_each_revision(async |version| {
        let records: Arc<Mutex<Vec<ClientRecord>>> = Arc::default();
        let all = records.clone();
        let log = ClientLog::new(move |record: &ClientRecord| all.lock().unwrap().push(record.clone()));
        let client = client(version).middleware(log).middleware(ClientLog::tracing()).connect(server()).await.unwrap();
        call(&client, "show", json!({ "n": 1234 })).await;
        client.call("broken", json!({})).await.unwrap_err();
        call(&client, "roots", json!({})).await;
        let records = records.lock().unwrap();
        let shown = &records[0];
        assert_eq!((shown.message, shown.target.as_deref()), (ClientMessage::Request, Some("show")));
        assert_eq!(shown.params, "{name: string(4), arguments: {n: number}}");
        assert!(shown.error.is_none() && !format!("{records:?}").contains("1234"));
        assert!(records[1].error.as_ref().unwrap().contains("down"));
        assert!(records.iter().any(|record| record.message == ClientMessage::ServerRequest));
    });
}

#[test]
fn a_cancelled_request_is_recorded() {
    in_each_revision(async |version| {
        let records: Arc<Mutex<Vec<ClientRecord>>> = Arc::default();
        let all = records.clone();
        let log = ClientLog::new(move |record: &ClientRecord| all.lock().unwrap().push(record.clone())).values();
        let server = Server::new("s", "1").tool(tool("slow", std::future::pending::<&str>));
        let client = client(version).middleware(log).connect(server.build()).await.unwrap();
        let slow = client.call("slow", json!({})).timeout(None).into_future();
        assert!(tokio::time::timeout(Duration::from_secs(3), slow).await.is_err());
        let record = records.lock().unwrap().pop().unwrap();
        assert_eq!(record.error.as_deref(), Some("cancelled"));
        assert!(record.params.contains("\"slow\"") && record.time == Duration::from_secs(3), "{record:?}");
    });
}

#[test]
fn reads_are_repeated_and_writes_are_not() {
    in_each_revision(async |version| {
        let (reads, writes) = (Count::default(), Count::default());
        let (read, write) = (reads.clone(), writes.clone());
        let failing = |count: Count| {
            move || match count.add() {
                n if n < 3 => Err(RpcError::internal("not yet")),
                n => Ok(n.to_string()),
            }
        };
        let server = Server::new("s", "1")
            .resource(resource("test://page", failing(read)))
            .tool(tool("search", failing(Count::default())))
            .tool(tool("write", failing(write)));
        let timing = ClientTiming::new();
        let retry = ClientRetry::new(3).tool("search").when(|error: &Error| error.kind() == ErrorKind::Rpc);
        let client = client(version).middleware(timing.clone()).middleware(retry);
        let client = client.connect(server.build()).await.unwrap();
        assert_eq!(client.read("test://page").await.unwrap().all_text(), "3");
        assert_eq!(call(&client, "search", json!({})).await.0, "3");
        assert!(client.call("write", json!({})).await.is_err());
        assert_eq!((reads.get(), writes.get()), (3, 1));
        let times = timing.times();
        let of = |name: &str| times.iter().find(|times| times.name == name).map(|times| (times.count, times.failed));
        assert_eq!((of("search"), of("write"), of("resources/read")), (Some((1, 0)), Some((1, 1)), Some((1, 0))));
        timing.reset();
        assert!(timing.times().is_empty());
    });
}

/// By default only lost connections are repeated, and not on a client that is closed.
#[test]
fn errors_of_the_server_are_not_repeated_by_default() {
    in_each_revision(async |version| {
        let count = Count::default();
        let counted = count.clone();
        let page = resource("test://page", move || {
            counted.add();
            Err::<String, _>(RpcError::internal("down"))
        });
        let client = client(version).middleware(ClientRetry::new(3));
        let client = client.connect(Server::new("s", "1").resource(page).build()).await.unwrap();
        assert!(client.read("test://page").await.is_err());
        assert_eq!(count.get(), 1);
        client.close().await.unwrap();
        let began = tokio::time::Instant::now();
        assert!(client.read("test://page").await.is_err());
        assert_eq!(began.elapsed(), Duration::ZERO, "a closed client fails at once");
    });
}
