//! What the client of the simulation does.

use std::{cell::Cell, rc::Rc};

use couplet_client::Client;
use couplet_core::{Error, Filter};
use serde_json::json;

use crate::{exec::Task, random::Random};

/// Whether the connection was cut: only then may an operation fail.
pub(crate) type Cut = Rc<Cell<bool>>;

/// Starts something; returns what it is, for the record.
pub(crate) fn start(random: &mut Random, client: &Client, cut: &Cut) -> (&'static str, Task) {
    let text = format!("t{}", random.below(1000));
    let steps = random.below(6) as u64;
    let arguments = json!({ "text": text, "steps": steps });
    let (client, cut) = (client.clone(), cut.clone());
    let finite = |name, future| (name, future);
    let (name, task) = match random.below(15) {
        0 => finite("echo", call(client, cut, "echo", arguments, text)),
        1 => finite("slow", call(client, cut, "slow", arguments, text)),
        2 | 3 => finite("talk", talk(client, cut, arguments, text)),
        4 | 5 => finite("ask", ask(client, cut, "ask", arguments, text)),
        6 => finite("ask_two", ask(client, cut, "ask_two", arguments, text)),
        7 => return ("stuck", Task::new(stuck(client, cut), true)),
        8 => finite("broken", broken(client, cut, arguments)),
        9 => finite("lists", lists(client, cut)),
        10 => finite("read", read(client, cut, steps)),
        11 => finite("change", call(client, cut, "change", json!({}), "changed".to_owned())),
        12 => return ("listen", Task::new(listen(client, cut), true)),
        13 => finite("ask_again", ask(client, cut, "ask_again", arguments, text)),
        _ => finite("ping", ping(client, cut)),
    };
    (name, Task::new(task, false))
}

type Operation = std::pin::Pin<Box<dyn Future<Output = ()>>>;

/// The value, unless the connection was cut.
fn alive<T>(result: Result<T, Error>, cut: &Cut) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(cut.get() || is_busy(&error), "it failed on a connection that lives: {error:?}");
            None
        }
    }
}

/// The limits of the simulation are small, and what goes beyond is refused.
fn is_busy(error: &Error) -> bool {
    error.rpc().is_some_and(|e| e.message.contains("ask again later"))
}

fn call(client: Client, cut: Cut, tool: &'static str, arguments: serde_json::Value, text: String) -> Operation {
    Box::pin(async move {
        if let Some(result) = alive(client.call(tool, arguments).await, &cut) {
            assert_eq!(result.text(), text);
        }
    })
}

fn talk(client: Client, cut: Cut, arguments: serde_json::Value, text: String) -> Operation {
    Box::pin(async move {
        let steps = arguments["steps"].as_u64().unwrap_or_default();
        let (tx, rx) = std::sync::mpsc::channel();
        let call = client.call("talk", arguments).on_progress(move |p| tx.send(p.progress).expect("it is read"));
        if let Some(result) = alive(call.await, &cut) {
            assert_eq!(result.text(), text);
            let seen: Vec<f64> = rx.try_iter().collect();
            assert_eq!(seen, (1..=steps).map(|s| s as f64).collect::<Vec<_>>(), "all progress came, in order");
        }
    })
}

fn ask(client: Client, cut: Cut, tool: &'static str, arguments: serde_json::Value, text: String) -> Operation {
    Box::pin(async move {
        let asks = client.server().version;
        match client.call(tool, arguments).await {
            // The first two revisions cannot ask.
            Ok(result) if result.is_error() => {
                assert!(result.text().contains("does not support elicitation"), "{asks}: {}", result.text());
            }
            Ok(result) => assert_eq!(result.text(), text, "with {asks}"),
            Err(error) => assert!(cut.get() || is_busy(&error), "{error:?}"),
        }
    })
}

fn stuck(client: Client, cut: Cut) -> Operation {
    Box::pin(async move {
        assert!(alive(client.call("stuck", json!({})).await, &cut).is_none(), "it never answers");
    })
}

fn broken(client: Client, cut: Cut, arguments: serde_json::Value) -> Operation {
    Box::pin(async move {
        let error = client.call("broken", arguments).await.expect_err("it panics");
        assert!(cut.get() || error.rpc().is_some_and(|e| e.code == -32603), "{error:?}");
    })
}

fn lists(client: Client, cut: Cut) -> Operation {
    Box::pin(async move {
        if let Some(tools) = alive(client.tools().await, &cut) {
            assert!(tools.len() >= 10, "{} tools", tools.len());
        }
        if let Some(prompts) = alive(client.prompts().await, &cut) {
            assert_eq!(prompts.len(), 1);
        }
    })
}

fn read(client: Client, cut: Cut, n: u64) -> Operation {
    Box::pin(async move {
        if let Some(result) = alive(client.read(format!("sim://{n}")).await, &cut) {
            assert_eq!(result.all_text(), n.to_string());
        }
        if let Some(result) = alive(client.prompt("about", json!({ "topic": "x" })).await, &cut) {
            assert_eq!(result.messages.len(), 1);
        }
    })
}

fn listen(client: Client, cut: Cut) -> Operation {
    Box::pin(async move {
        let Some(mut changes) = alive(client.listen(Filter::new().tools().resource("sim://1")).await, &cut) else {
            return;
        };
        while changes.next().await.is_some() {}
        assert!(cut.get(), "a subscription ends with its connection");
    })
}

fn ping(client: Client, cut: Cut) -> Operation {
    Box::pin(async move {
        match client.ping().await {
            Ok(()) => {}
            Err(error) => {
                let unsupported = error.kind() == couplet_core::ErrorKind::Unsupported;
                assert!(cut.get() || unsupported || is_busy(&error), "{error:?}");
            }
        }
    })
}
