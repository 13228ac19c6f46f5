use couplet_server::{
    Ctx, Handle, Server, ToolError,
    extract::{Args, Path},
    prompt, resource,
    schemars::JsonSchema,
    tool,
};
use couplet_testing::{Wire, types::ProtocolVersion};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: f64,
    b: f64,
}
#[derive(Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}
#[derive(Deserialize, JsonSchema)]
struct Explain {
    expr: String,
}

async fn deploy(ctx: Ctx) -> Result<String, ToolError> {
    let n: u32 = ctx.step("n", || async { 7 }).await?;
    let yes = ctx.elicit::<Yes>("go", format!("deploy {n}?")).await?.accepted()?;
    Ok(format!("{}", yes.yes))
}

fn server() -> Handle {
    Server::new("calc", "1.0.0")
        .tool(tool("add", |Args(n): Args<Numbers>| n.a + n.b).description("Adds."))
        .tool(tool("deploy", deploy))
        .tool(tool("boom", || -> String { panic!("secret") }))
        .resource(resource("calc://square/{n}", |Path(n): Path<f64>| n * n))
        .prompt(prompt("explain", |Args(e): Args<Explain>| format!("Explain {}", e.expr)))
        .build()
}

#[test]
fn smoke() {
    couplet_testing::block_on(async {
        for version in ProtocolVersion::ALL {
            eprintln!("== {version}");
            let mut caps = couplet_testing::types::ClientCapabilities::default();
            caps.elicitation = Some(Default::default());
            let mut wire = Wire::with(server(), version, caps, Default::default());
            eprintln!("{}", wire.open().await);
            for (m, p) in [
                ("tools/list", json!({})),
                ("tools/call", json!({"name":"add","arguments":{"a":1,"b":2}})),
                ("tools/call", json!({"name":"add","arguments":{"a":1,"b":"x"}})),
                ("tools/call", json!({"name":"nope"})),
                ("tools/call", json!({"name":5})),
                ("tools/call", json!({"name":"boom"})),
                ("resources/templates/list", json!({})),
                ("resources/read", json!({"uri":"calc://square/3"})),
                ("resources/read", json!({"uri":"calc://x"})),
                ("prompts/list", json!({})),
                ("prompts/get", json!({"name":"explain","arguments":{"expr":"1+1"}})),
                ("prompts/get", json!({"name":"explain"})),
                ("completion/complete", json!({})),
                ("what", json!({})),
                ("ping", json!({})),
            ] {
                eprintln!("{m} {p}\n   -> {}", wire.request(m, p.clone()).await);
            }
            let id = wire.start("tools/call", json!({"name":"deploy"}));
            let next = wire.next().await.unwrap();
            eprintln!("deploy -> {next}");
            if next.get("method").is_some() {
                wire.send(
                    &json!({"jsonrpc":"2.0","id":next["id"],"result":{"action":"accept","content":{"yes":true}}}),
                );
                eprintln!("   -> {}", wire.response(id).await);
            } else if let Some(state) = next["result"].get("requestState") {
                let r = wire.request("tools/call", json!({"name":"deploy","requestState":state,"inputResponses":{"go":{"action":"accept","content":{"yes":true}}}})).await;
                eprintln!("   -> {r}");
            }
            assert!(wire.ready().is_empty());
            assert_eq!(wire.connection().unanswered(), 0);
        }
    });
}
