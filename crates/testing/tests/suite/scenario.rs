//! A real client that does everything there is to do, in every revision, wherever the server is.

use std::{
    future::IntoFuture,
    sync::{Arc, Mutex},
};

use couplet_client::{Change, Client, ClientBuilder, Filter, Outcome};
use couplet_core::{Connect, Error, ErrorKind};
use couplet_testing::{Surface, block_on};
use couplet_types::{
    CompletionReference, ContentBlock, CreateMessageResult, LogParams, LoggingLevel, Meta, Ping, PingParams, Root,
    StopReason,
};
use serde_json::{Value, json};
use tokio::{sync::oneshot, time::timeout};

use crate::{
    child::{PATIENCE, program},
    fixture,
    rows::{ROWS, Row},
    shapes::answered,
    tap::Tap,
};

type Logs = Arc<Mutex<Vec<LogParams>>>;

/// A client that answers everything.
fn client(row: &Row, logs: &Logs) -> ClientBuilder {
    let logs = logs.clone();
    Client::new("scenario", "1.0.0")
        .title("The scenario")
        .versions([row.version])
        .timeout(None)
        .max_timeout(None)
        .on_elicit(|ask| async move {
            let answer = answered(&json!({ "method": "elicitation/create", "params": ask.params() }));
            ask.accept(&answer["content"])
        })
        .on_elicit_url(|ask| async move {
            assert_eq!(ask.url(), Some("https://example.com/login"));
            ask.accept_url()
        })
        .on_sample(|_| async { Ok(CreateMessageResult::new("m", "a fish").stop_reason(StopReason::EndTurn)) })
        .sampling_tools(true)
        .roots([Root::new("file:///work").name("work")])
        .on_log(move |line| logs.lock().expect("nobody panics while holding it").push(line))
}

/// Does everything, and closes the connection.
async fn scenario(client: &Client, row: &Row, logs: &Logs) -> Result<(), Error> {
    lists(client, row).await?;
    calls(client, row).await?;
    reads(client, row).await?;
    prompts(client, row).await?;
    progress_and_logs(client, row, logs).await?;
    questions(client, row).await?;
    roots(client, row).await?;
    cancelling(client, row).await?;
    changes(client, row).await?;
    only_in_sessions(client, row).await?;
    client.close().await?;
    let late = client.call("add", json!({ "a": 1, "b": 2 })).await.expect_err("the connection is closed");
    assert!(late.is_closed(), "{}: {late:?}", row.version);
    Ok(())
}

async fn lists(client: &Client, row: &Row) -> Result<(), Error> {
    let server = client.server();
    assert_eq!(server.version, row.version);
    assert_eq!(server.instructions.as_deref(), Some("Call everything."));
    let info = server.info.as_ref().expect("the server tells its name");
    assert_eq!((&*info.name, &*info.version), ("fixture", "1.2.3"));
    assert_eq!(info.title.is_some(), row.titles, "{}", row.version);
    let tools = client.tools().await?;
    let names: Vec<_> = tools.iter().map(|t| &*t.name).collect();
    for name in ["add", "sum", "blocks", "form", "sample", "roots", "slow", "grow"] {
        assert!(names.contains(&name), "{}: {names:?}", row.version);
    }
    let uris: Vec<_> = client.resources().await?.into_iter().map(|r| r.uri).collect();
    assert_eq!(uris, ["fix://text", "fix://blob", "fix://json", "fix://live", "fix://asked"]);
    let templates: Vec<_> = client.resource_templates().await?.into_iter().map(|r| r.uri_template).collect();
    assert_eq!(templates, ["fix://item/{kind}/{id}", "fix://gone/{id}"]);
    let prompts: Vec<_> = client.prompts().await?.into_iter().map(|p| p.name).collect();
    assert_eq!(prompts, ["plan", "gallery", "asked"]);
    let surface = Surface::of(client).await?;
    assert_eq!(surface.as_json()["tools"].as_array().map(Vec::len), Some(tools.len()));
    Ok(())
}

async fn calls(client: &Client, row: &Row) -> Result<(), Error> {
    assert_eq!(client.call("add", json!({ "a": 1, "b": 2 })).await?.text(), "3");
    let sum: Value = client.call("sum", json!({ "a": 1, "b": 2 })).await?.structured()?;
    assert_eq!(sum, json!({ "total": 3.0 }));
    let range: Vec<i64> = client.call("range", json!({ "n": 3 })).await?.structured()?;
    assert_eq!(range, [0, 1, 2]);
    let blocks = client.call("blocks", ()).await?;
    let [_, _, audio, _, _, link] = blocks.content() else { panic!("{:?}", blocks.content()) };
    assert_eq!(matches!(audio, ContentBlock::Audio(_)), row.audio, "{}", row.version);
    assert_eq!(matches!(link, ContentBlock::ResourceLink(_)), row.links, "{}", row.version);
    let failed = client.call("fail", ()).await?;
    assert!(failed.is_error());
    assert_eq!(failed.text(), "it did not work");
    for (tool, code) in [("refuse", 1234), ("boom", -32603), ("nobody", -32602)] {
        let error = client.call(tool, ()).await.expect_err("an error of the protocol");
        assert_eq!(error.rpc().map(|e| e.code), Some(code), "{}: {error}", row.version);
    }
    let meta = client.call("meta", ()).meta(Meta::new().with("example.com/a", json!(1))).await?;
    assert_eq!(meta.text(), r#"{"example.com/a":1}"#, "{}", row.version);
    let mut many = Vec::new();
    for n in 0..100 {
        many.push(tokio::spawn(client.call("add", json!({ "a": n, "b": 1 })).into_future()));
    }
    for (n, sum) in many.into_iter().enumerate() {
        assert_eq!(sum.await.expect("no panic")?.text(), (n + 1).to_string());
    }
    Ok(())
}

async fn reads(client: &Client, row: &Row) -> Result<(), Error> {
    assert_eq!(client.read("fix://text").await?.all_text(), "some text");
    assert_eq!(client.read("fix://blob").await?.contents[0].as_blob(), Some("AAEC"));
    assert_eq!(client.read("fix://json").await?.all_text(), r#"{"a":[1,2]}"#);
    assert_eq!(client.read("fix://item/apple/7").await?.all_text(), "apple 8");
    for uri in ["fix://nothing", "fix://gone/1"] {
        let error = client.read(uri).await.expect_err("it does not exist");
        assert_eq!(error.rpc().map(|e| i64::from(e.code)), Some(row.not_found), "{}: {error}", row.version);
    }
    Ok(())
}

async fn prompts(client: &Client, row: &Row) -> Result<(), Error> {
    let plan = client.prompt("plan", json!({ "country": "Norway", "days": "3" })).await?;
    assert_eq!(plan.messages[0].content.as_text(), Some("3 days in anywhere, Norway."));
    assert_eq!(plan.description.as_deref(), Some("Plans a trip."));
    assert_eq!(client.prompt("gallery", ()).await?.messages.len(), 6);
    let error = client.prompt("plan", ()).await.expect_err("an argument is missing");
    assert_eq!(error.rpc().map(|e| e.code), Some(-32602), "{}: {error}", row.version);
    let plan = CompletionReference::prompt("plan");
    assert_eq!(client.complete(plan.clone(), "country", "n").await?.values, ["Norway", "Nepal"]);
    let item = CompletionReference::resource("fix://item/{kind}/{id}");
    assert_eq!(client.complete(item, "kind", "ap").await?.values, ["apple", "apricot"]);
    let cities = client.complete(plan, "city", "").context([("country", "Norway")]).await?.values;
    // Older revisions cannot say what is settled.
    let expected: &[&str] = if row.titles { &["Oslo", "Bergen"] } else { &["Oslo", "Bergen", "Santiago"] };
    assert_eq!(cities, expected, "{}", row.version);
    Ok(())
}

async fn progress_and_logs(client: &Client, row: &Row, logs: &Logs) -> Result<(), Error> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = heard.clone();
    let tell = move |p: couplet_types::ProgressParams| hear.lock().expect("no panic").push((p.progress, p.message));
    assert_eq!(client.call("work", ()).on_progress(tell).await?.text(), "worked");
    let message = |n: i32| row.progress_message.then(|| format!("part {n}"));
    let expected = [(1.0, message(1)), (2.0, message(2)), (3.0, message(3))];
    assert_eq!(*heard.lock().expect("no panic"), expected, "{}", row.version);
    for (level, count) in [(LoggingLevel::Debug, 3), (LoggingLevel::Warning, 2), (LoggingLevel::Emergency, 0)] {
        client.set_log_level(level).await?;
        logs.lock().expect("no panic").clear();
        client.call("chatter", ()).await?;
        let heard = logs.lock().expect("no panic").clone();
        assert_eq!(heard.len(), count, "{}: from `{level:?}`: {heard:?}", row.version);
    }
    Ok(())
}

async fn questions(client: &Client, row: &Row) -> Result<(), Error> {
    let form = "{\"name\":\"Ada\",\"mail\":\"ada@example.com\",\"count\":3,\"ratio\":3.0,\"ready\":true,";
    for (tool, told, revisions) in [
        ("form", form, "--xxx"),
        ("choose", "\"titled\":\"s\"", "--xxx"),
        ("visit", "visited", "---xx"),
        ("visit-known", "visited", "---xx"),
        ("both", "true true", "--xxx"),
        ("wizard", "true true", "--xxx"),
        ("sample", "m: a fish", "xxxxx"),
        ("sample-tools", "m", "---xx"),
        ("roots", "file:///work", "xxxxx"),
    ] {
        let result = client.call(tool, ()).await?;
        let told = if row.is_in(revisions) { told } else { "the client cannot ask" };
        assert!(result.text().contains(told), "{}: `{tool}`: {result:?}", row.version);
        assert_eq!(result.is_error(), !row.is_in(revisions), "{}: {result:?}", row.version);
    }
    let steps: Value = client.call("counters", ()).await?.structured()?;
    assert_eq!(steps["steps"], if row.forms { 2 } else { 1 }, "{}", row.version);
    if row.forms {
        assert_eq!(client.read("fix://asked").await?.all_text(), "true");
        let asked = client.prompt("asked", ()).await?;
        assert_eq!(asked.messages[0].content.as_text(), Some("yes is true"));
        // Whoever carries the rounds on by itself sees the questions where they are part of a result.
        let once = client.call_outcome("form", ()).await?;
        assert_eq!(matches!(once, Outcome::InputRequired { .. }), !row.session, "{}: {once:?}", row.version);
    }
    Ok(())
}

async fn roots(client: &Client, row: &Row) -> Result<(), Error> {
    client.set_roots([Root::new("file:///a"), Root::new("file:///b")]).await?;
    assert_eq!(client.call("roots", ()).await?.text(), "file:///a file:///b", "{}", row.version);
    let counters: Value = client.call("counters", ()).await?.structured()?;
    let notes = counters["notes"].as_array().expect("a list");
    assert_eq!(notes.contains(&json!("notifications/roots/list_changed")), row.session, "{}", row.version);
    Ok(())
}

async fn cancelling(client: &Client, row: &Row) -> Result<(), Error> {
    let (tx, started) = oneshot::channel();
    let mut tx = Some(tx);
    let tell = move |_| {
        tx.take().map(|tx| tx.send(()));
    };
    let mut slow = client.call("slow", ()).on_progress(tell).into_future();
    tokio::select! {
        done = &mut slow => panic!("it never ends: {done:?}"),
        started = started => started.expect("it reports its start"),
    }
    drop(slow);
    let counters: Value = client.call("counters", ()).await?.structured()?;
    assert_eq!((&counters["started"], &counters["dropped"]), (&json!(1), &json!(1)), "{}", row.version);
    Ok(())
}

async fn changes(client: &Client, row: &Row) -> Result<(), Error> {
    let filter = Filter::new().tools().prompts().resources().resource("fix://live");
    let mut changes = client.listen(filter.clone()).await?;
    assert_eq!(*changes.honoured(), filter, "{}", row.version);
    client.call("grow", json!({ "name": "new" })).await?;
    client.call("touch", json!({ "name": "fix://text" })).await?;
    client.call("touch", json!({ "name": "fix://live" })).await?;
    let mut heard = Vec::new();
    while heard.len() < 4 {
        heard.push(changes.next().await.expect("the subscription goes on"));
    }
    heard.sort();
    let expected = [Change::Tools, Change::Prompts, Change::Resources, Change::Updated("fix://live".into())];
    assert_eq!(heard, expected, "{}", row.version);
    assert_eq!(client.call("new", ()).await?.text(), "grown");
    assert_eq!(client.read("grown://new").await?.all_text(), "grown");
    assert!(client.prompts().await?.iter().any(|p| p.name == "new"));
    assert_eq!(client.call("shrink", json!({ "name": "new" })).await?.text(), "true");
    assert!(!client.tools().await?.iter().any(|t| t.name == "new"));
    drop(changes);
    client.call("touch", json!({ "name": "fix://live" })).await?;
    Ok(())
}

async fn only_in_sessions(client: &Client, row: &Row) -> Result<(), Error> {
    for outcome in [client.ping().await, client.request::<Ping>(PingParams::new()).await.map(drop)] {
        match outcome {
            Ok(()) => assert!(row.session, "{}", row.version),
            Err(error) => {
                assert!(!row.session, "{}: {error}", row.version);
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            }
        }
    }
    Ok(())
}

async fn run(name: &str, row: &Row, place: impl Connect) {
    let logs = Logs::default();
    let whole = async {
        let client = client(row, &logs).connect(place).await?;
        scenario(&client, row, &logs).await
    };
    let done = timeout(PATIENCE, Box::pin(whole)).await;
    done.unwrap_or_else(|_| panic!("{name}, {}: it hangs", row.version))
        .unwrap_or_else(|e| panic!("{name}, {}: {e:?}", row.version));
}

#[test]
fn in_memory() {
    block_on(async {
        for row in &ROWS {
            run("memory", row, fixture::server()).await;
        }
    });
}

#[test]
fn in_a_child_process() {
    block_on(async {
        for row in &ROWS {
            run("child", row, couplet::stdio::Command::new(program())).await;
        }
    });
}

/// The same over bytes that are looked at: every message both ways against the official schema.
#[test]
fn under_observation() {
    block_on(async {
        for row in &ROWS {
            let (tap, pipe) = Tap::new(fixture::server());
            run("tap", row, pipe).await;
            tap.check(row).await;
        }
    });
}

async fn check_pages(row: &Row, place: impl Connect) -> Result<(), Error> {
    let client = client(row, &Logs::default()).connect(place).await?;
    let mut sizes = Vec::new();
    let mut pages = client.tool_pages();
    while let Some(page) = pages.next().await {
        sizes.push(page?.len());
    }
    assert_eq!(sizes, [2, 2, 1], "{}", row.version);
    let counts = [
        client.tools().await?.len(),
        client.resources().await?.len(),
        client.resource_templates().await?.len(),
        client.prompts().await?.len(),
    ];
    assert_eq!(counts, [5; 4], "{}", row.version);
    // What the server does not serve is not asked for.
    let error = client.set_log_level(LoggingLevel::Info).await.expect_err("it does not log");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{}: {error}", row.version);
    client.close().await
}

#[test]
fn pages() {
    block_on(async {
        for row in &ROWS {
            let child = couplet::stdio::Command::new(program()).arg("paged");
            for outcome in [check_pages(row, fixture::paged()).await, check_pages(row, child).await] {
                outcome.unwrap_or_else(|e| panic!("{}: {e:?}", row.version));
            }
        }
    });
}

/// A client that speaks everything agrees with a server on the latest revision that the server speaks.
#[test]
fn agreeing_on_a_revision() {
    block_on(async {
        for row in &ROWS {
            let server = couplet_server::Server::new("one", "1").versions([row.version]).build();
            let client = Client::new("any", "1").connect(server).await;
            let client = client.unwrap_or_else(|e| panic!("{}: {e:?}", row.version));
            assert_eq!(client.server().version, row.version);
            // Nothing is offered, and nothing is listed.
            assert!(client.tools().await.is_ok_and(|t| t.is_empty()), "{}", row.version);
            client.close().await.unwrap_or_else(|e| panic!("{}: {e:?}", row.version));
            let other = &ROWS[if row.session { 4 } else { 0 }];
            let server = couplet_server::Server::new("one", "1").versions([row.version]).build();
            let refused = Client::new("other", "1").versions([other.version]).connect(server).await;
            let refused = refused.map(drop).expect_err("they have nothing in common");
            assert_eq!(refused.kind(), ErrorKind::Version, "{}: {refused:?}", row.version);
        }
    });
}
