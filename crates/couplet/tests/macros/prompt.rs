//! `#[prompt]`.

use couplet::{
    Server, prompt,
    server::extract::{Completing, State},
};
use serde_json::json;

use crate::support::Client;

/// Explains an expression.
#[prompt(title = "Explain", complete(level = levels))]
fn explain(
    /// What to explain.
    expr: String,
    level: Option<String>,
    #[default(2)] times: u8,
) -> String {
    format!("Explain {expr} {times} times to a {}.", level.as_deref().unwrap_or("child"))
}

fn levels(typed: Completing) -> Vec<String> {
    ["child", "student"].into_iter().filter(|l| l.starts_with(&typed.value)).map(str::to_owned).collect()
}

#[prompt(name = "with-state", description = "Ours.")]
async fn with_state(State(n): State<u8>) -> String {
    n.to_string()
}

fn server() -> Server {
    Server::new("test", "1").prompt(explain).prompt(with_state).with_state(7)
}

#[tokio::test]
async fn listings_come_from_the_function() {
    let listed = Client::new(server()).await.ask("prompts/list", json!({})).await;
    assert_eq!(
        listed["prompts"],
        json!([
            {
                "name": "explain",
                "title": "Explain",
                "description": "Explains an expression.",
                "arguments": [
                    { "name": "expr", "description": "What to explain.", "required": true },
                    { "name": "level" },
                    { "name": "times" },
                ],
            },
            { "name": "with-state", "description": "Ours." },
        ])
    );
}

#[tokio::test]
async fn gets_reach_the_function() {
    let mut client = Client::new(server()).await;
    for (prompt, arguments, want) in [
        ("explain", json!({ "expr": "1" }), "Explain 1 2 times to a child."),
        ("explain", json!({ "expr": "1", "times": "3", "level": "cat" }), "Explain 1 3 times to a cat."),
        (
            "explain",
            json!({ "expr": "1", "times": "x" }),
            "argument `times`: expected an integer from 0 to 255, got the string \"x\"",
        ),
        ("with-state", json!({}), "7"),
    ] {
        assert_eq!(client.get(prompt, arguments.clone()).await, want, "{prompt} {arguments}");
    }
    assert_eq!(explain::call("1".to_owned(), None, 1), "Explain 1 1 times to a child.");
}

#[tokio::test]
async fn arguments_are_completed() {
    let mut client = Client::new(server()).await;
    let ask = json!({
        "ref": { "type": "ref/prompt", "name": "explain" },
        "argument": { "name": "level", "value": "s" },
    });
    assert_eq!(client.ask("completion/complete", ask).await["completion"]["values"], json!(["student"]));
}
