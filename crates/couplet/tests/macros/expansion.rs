//! The attributes write nothing that could not be written by hand: here it is, by hand.

use couplet::Server;
use serde_json::{Value, json};

use crate::support::Client;

mod with_attributes {
    use couplet::{Server, prompt, resource, server::extract::State, tool};

    use super::Unit;

    /// Adds two numbers.
    #[tool(read_only)]
    async fn add(
        /// The first number.
        a: f64,
        State(unit): State<Unit>,
        #[default(1.0)] b: f64,
    ) -> String {
        format!("{}{}", a + b, unit.0)
    }

    /// The square of a number.
    #[resource("calc://square/{n}")]
    fn square(n: f64) -> String {
        (n * n).to_string()
    }

    /// Explains an expression.
    #[prompt]
    fn explain(expr: String) -> String {
        format!("Explain {expr}.")
    }

    pub(super) fn server() -> Server<Unit> {
        Server::new("calc", "1.0.0").tool(add).resource(square).prompt(explain)
    }
}

mod by_hand {
    use couplet::{
        Server,
        schemars::JsonSchema,
        serde::Deserialize,
        server::{
            IntoPrompt, IntoResource, IntoTool, PromptDef, ResourceDef, ToolDef,
            extract::{Args, FromCall, Path, State},
            prompt, resource, tool,
        },
    };

    use super::Unit;

    #[allow(non_camel_case_types)]
    struct add;

    impl add {
        async fn call(a: f64, State(unit): State<Unit>, b: f64) -> String {
            format!("{}{}", a + b, unit.0)
        }
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(crate = "::couplet::serde")]
    #[schemars(crate = "::couplet::schemars")]
    struct Numbers {
        /// The first number.
        a: f64,
        #[serde(default = "one")]
        b: f64,
    }

    fn one() -> f64 {
        1.0
    }

    impl<S: Clone + Send + Sync + 'static> IntoTool<S> for add
    where
        State<Unit>: FromCall<S>,
    {
        fn into_tool(self) -> ToolDef<S> {
            tool("add", |Args(n): Args<Numbers>, unit: State<Unit>| add::call(n.a, unit, n.b))
                .description("Adds two numbers.")
                .read_only()
                .into_tool()
        }
    }

    #[allow(non_camel_case_types)]
    struct square;

    #[derive(Deserialize)]
    #[serde(crate = "::couplet::serde")]
    struct Variables {
        n: f64,
    }

    impl<S: Clone + Send + Sync + 'static> IntoResource<S> for square {
        fn into_resource(self) -> ResourceDef<S> {
            resource("calc://square/{n}", |Path(v): Path<Variables>| (v.n * v.n).to_string())
                .name("square")
                .description("The square of a number.")
                .into_resource()
        }
    }

    #[allow(non_camel_case_types)]
    struct explain;

    #[derive(Deserialize, JsonSchema)]
    #[serde(crate = "::couplet::serde")]
    #[schemars(crate = "::couplet::schemars")]
    struct Explain {
        expr: String,
    }

    impl<S: Clone + Send + Sync + 'static> IntoPrompt<S> for explain {
        fn into_prompt(self) -> PromptDef<S> {
            prompt("explain", |Args(e): Args<Explain>| format!("Explain {}.", e.expr))
                .description("Explains an expression.")
                .into_prompt()
        }
    }

    pub(super) fn server() -> Server<Unit> {
        Server::new("calc", "1.0.0").tool(add).resource(square).prompt(explain)
    }
}

#[derive(Clone)]
struct Unit(&'static str);

/// Everything that a client can see of these servers.
async fn seen(server: Server<Unit>) -> Vec<Value> {
    let mut client = Client::new(server.with_state(Unit(" m"))).await;
    let mut seen = Vec::new();
    for (method, params) in [
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("tools/call", json!({ "name": "add", "arguments": { "a": 2 } })),
        ("tools/call", json!({ "name": "add", "arguments": { "a": 2, "b": 2 } })),
        ("tools/call", json!({ "name": "add", "arguments": { "b": "x" } })),
        ("resources/read", json!({ "uri": "calc://square/3" })),
        ("resources/read", json!({ "uri": "calc://square/x" })),
        ("prompts/get", json!({ "name": "explain", "arguments": { "expr": "1 + 1" } })),
        ("prompts/get", json!({ "name": "explain", "arguments": {} })),
    ] {
        seen.push(client.ask(method, params).await);
    }
    seen
}

#[tokio::test]
async fn attributes_write_what_could_be_written_by_hand() {
    let (with_attributes, by_hand) = (seen(with_attributes::server()).await, seen(by_hand::server()).await);
    assert_eq!(with_attributes, by_hand);
    assert_eq!(with_attributes[4]["content"][0]["text"], "3 m");
}
