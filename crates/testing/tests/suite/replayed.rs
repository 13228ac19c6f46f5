//! Handlers that run in rounds in every revision, and what a check of them finds.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use couplet_server::{Ctx, Server, ServerHandle, ToolError, prompt, resource, tool};
use couplet_testing::{Replay, replayed};
use serde_json::{Value, json};

use crate::asking::{ASKING, Age, answering, register};

/// A server with handlers that ask, well and badly. The counter is of the world, and outlives the server.
fn server(charges: &Arc<AtomicU64>) -> ServerHandle {
    let (charged, stepped, numbered) = (charges.clone(), charges.clone(), charges.clone());
    let charge = move |ctx: Ctx| {
        charged.fetch_add(1, Ordering::SeqCst);
        async move { ctx.elicit::<Age>("a", "one?").await.map(|_| "charged") }
    };
    let charge_once = move |ctx: Ctx| {
        let charged = stepped.clone();
        async move {
            ctx.step("charge", || async { charged.fetch_add(1, Ordering::SeqCst) }).await?;
            ctx.elicit::<Age>("a", "one?").await?.accepted()?;
            ctx.elicit_url("b", "two?", "https://example.com").await?.accepted()?;
            Ok::<_, ToolError>("charged")
        }
    };
    let unstable = move |ctx: Ctx| {
        let order = numbered.fetch_add(1, Ordering::SeqCst);
        async move { ctx.elicit::<Age>("a", format!("order {order}: ok?")).await.map(|_| "ordered") }
    };
    let dice = |ctx: Ctx| {
        static THROWN: AtomicU64 = AtomicU64::new(0);
        async move {
            ctx.elicit::<Age>("a", "throw?").await?.accepted()?;
            Ok::<_, ToolError>(THROWN.fetch_add(1, Ordering::SeqCst))
        }
    };
    let both = |ctx: Ctx| async move {
        let (a, b) = tokio::join!(ctx.elicit::<Age>("k", "a?"), ctx.elicit::<Age>("k", "b?"));
        Ok::<_, ToolError>(format!("{} {}", a?.accepted()?.age, b?.accepted()?.age))
    };
    let asked =
        |ctx: Ctx| async move { ctx.elicit::<Age>("a", "one?").await.map(|a| format!("{:?}", a.accepted().is_ok())) };
    Server::new("s", "1")
        .tool(tool("register", register))
        .tool(tool("charge", charge))
        .tool(tool("charge-once", charge_once))
        .tool(tool("unstable", unstable))
        .tool(tool("dice", dice))
        .tool(tool("both", both))
        .prompt(prompt("asked", asked))
        .resource(resource("s://asked", asked))
        .build()
}

fn age(age: u64) -> Value {
    json!({ "age": age })
}

#[tokio::test]
async fn a_check_finds_what_differs_in_rounds() {
    let charges = Arc::<AtomicU64>::default();
    for (name, answers, found) in [
        ("register", vec![age(7), age(8), age(30)], Ok("welcome, 30")),
        ("charge-once", vec![age(1), json!({})], Ok("charged")),
        ("charge-once", vec![Value::Null], Ok("the user declined")),
        ("both", vec![age(1), age(2)], Ok("1 2")),
        ("register", vec![age(7)], Err("no answer to `How old are you? (18 or more)`")),
        ("charge", vec![age(1)], Err("`charges` grew by 1 in one run and by 2 in rounds")),
        ("unstable", vec![age(1)], Err("the question `a` was `order ")),
        ("dice", vec![age(1)], Err("its answer is ")),
    ] {
        let (world, counted) = (charges.clone(), charges.clone());
        let replay = Replay::tool(move || server(&world), name, json!({}))
            .answers(answers)
            .watch("charges", move || counted.load(Ordering::SeqCst));
        match (replay.check().await, found) {
            (Ok(result), Ok(text)) => assert_eq!(result["content"][0]["text"], text, "{name}"),
            (Err(difference), Err(words)) => assert!(difference.to_string().contains(words), "{name}: {difference}"),
            (result, _) => panic!("{name}: {result:?}"),
        }
    }
    let world = charges.clone();
    let made = move || server(&world);
    let prompt = Replay::prompt(made.clone(), "asked", json!({})).answers([age(1)]).check().await.unwrap();
    assert_eq!(prompt["messages"][0]["content"]["text"], "true");
    let read = Replay::resource(made, "s://asked").answers([age(1)]).check().await.unwrap();
    assert_eq!(read["contents"][0]["text"], "true");
}

#[tokio::test]
async fn every_revision_can_run_in_rounds() {
    for version in ASKING {
        let charges = Arc::<AtomicU64>::default();
        let (builder, asked) = answering(version, &[7, 30]);
        let client = builder.connect(replayed(server(&charges))).await.unwrap();
        assert_eq!(client.call("register", json!({})).await.unwrap().text(), "welcome, 30", "{version}");
        assert_eq!(asked.lock().unwrap().len(), 2, "{version}");
        let error = client.call("unstable", json!({})).await.unwrap_err().to_string();
        let told = "the question `a` was `order 0: ok?` and is now `order 1: ok?`: put what changes into a `step`";
        assert!(error.contains(told), "{version}: {error}");
        charges.store(0, Ordering::SeqCst);
        client.call("charge", json!({})).await.unwrap();
        assert_eq!(charges.load(Ordering::SeqCst), 2, "{version}: it is charged once per round");
        assert_eq!(client.tools().await.unwrap().len(), 6, "{version}");
    }
}
