//! The capabilities that a server with sessions sees of stateless callers.

use std::{future::IntoFuture, time::Duration};

use couplet_client::{Client, ClientBuilder};
use couplet_proxy::{Isolation, Proxy};
use couplet_server::{Ctx, Server, ServerHandle, ToolError, tool};
use couplet_types::{CreateMessageResult, ProtocolVersion, Root, code};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::kit::{Cable, SESSIONS, STATELESS, authenticated};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Says what the client can do.
async fn can(ctx: Ctx) -> String {
    let can = [
        ("form", ctx.can_elicit()),
        ("url", ctx.can_elicit_url()),
        ("sampling", ctx.can_sample()),
        ("roots", ctx.can_list_roots()),
    ];
    can.into_iter().filter(|(_, can)| *can).map(|(what, _)| what).collect::<Vec<_>>().join(" ")
}

/// Asks, if there is anyone to ask.
async fn name(ctx: Ctx) -> Result<String, ToolError> {
    match ctx.can_elicit() {
        true => Ok(ctx.elicit::<Name>("name", "who are you?").await?.accepted()?.name),
        false => Ok("unknown".to_owned()),
    }
}

fn server(far: ProtocolVersion) -> ServerHandle {
    let slow = || async { tokio::time::sleep(Duration::from_secs(20)).await };
    let server = Server::new("far", "1").versions([far]).tool(tool("slow", slow));
    server.tool(tool("can", can)).tool(tool("name", name)).build()
}

/// A caller that can do some of it.
fn near(what: &str) -> ClientBuilder {
    let client = Client::new("near", "1").versions([STATELESS]);
    what.split_whitespace().fold(client, |client, what| match what {
        "form" => client.on_elicit(|ask| async move { ask.accept(json!({ "name": "Ada" })) }),
        "sampling" => client.on_sample(|_| async { Ok(CreateMessageResult::new("a-model", "a sentence")) }),
        "roots" => client.roots([Root::new("file:///project")]),
        what => panic!("{what}"),
    })
}

async fn call(proxy: &Proxy, what: &str, tool: &'static str) -> String {
    let client = near(what).connect(proxy.service()).await.unwrap();
    client.call(tool, ()).await.unwrap().text()
}

/// A server sees the capabilities of the caller, however many callers with the same there are.
#[tokio::test]
async fn a_server_sees_what_its_caller_can_do() {
    for far in [SESSIONS, ProtocolVersion::V2025_06_18] {
        let cable = Cable::new().transport("tcp");
        let proxy = Proxy::connect(Client::new("proxy", "1"), cable.to(server(far))).await.unwrap();
        for _ in 0..3 {
            for what in ["", "form", "sampling", "form sampling", "roots"] {
                assert_eq!(call(&proxy, what, "can").await, what, "{far}");
                let name = call(&proxy, what, "name").await;
                assert_eq!(name, if what.contains("form") { "Ada" } else { "unknown" }, "{what:?} over {far}");
            }
        }
        assert_eq!(cable.connected(), 6, "the first one, and one for each set over {far}");
        // There is no room for another set, so it is that which has all of it.
        let all = if far == SESSIONS { "form url sampling roots" } else { "form sampling roots" };
        assert_eq!(call(&proxy, "form roots", "can").await, all, "{far}");
        assert_eq!(cable.connected(), 6, "the first one has it");
    }
}

/// Where each connection is a process, or may be one, there is one for all, and what its caller cannot do is refused.
#[tokio::test]
async fn processes_are_shared_by_callers_with_other_capabilities() {
    for cable in [Cable::new(), Cable::new().transport("pipe")] {
        let proxy = Proxy::connect(Client::new("proxy", "1"), cable.to(server(SESSIONS))).await.unwrap();
        for what in ["", "form", "sampling"] {
            assert_eq!(call(&proxy, what, "can").await, "form url sampling roots");
        }
        let client = near("sampling").connect(proxy.service()).await.unwrap();
        let refused = client.call("name", ()).await.unwrap_err();
        assert_eq!(refused.rpc().unwrap().code, code::MISSING_CLIENT_CAPABILITY, "{refused}");
        assert_eq!(cable.connected(), 1);
    }
}

/// Principals never share a connection; with other isolation than that of sessions, capabilities do not separate callers.
#[tokio::test]
async fn isolation_comes_first() {
    for (isolation, expected) in [(Isolation::Session, 5), (Isolation::Principal, 2), (Isolation::Shared, 1)] {
        let cable = Cable::new().transport("tcp");
        let proxy = Proxy::builder(Client::new("proxy", "1")).isolation(isolation);
        let proxy = proxy.connect(cable.to(server(SESSIONS))).await.unwrap();
        for (principal, what) in [("ann", "form"), ("ann", ""), ("bob", "form"), ("bob", ""), ("ann", "form")] {
            let client = near(what).connect(authenticated(principal, &proxy)).await.unwrap();
            client.call("can", ()).await.unwrap();
        }
        assert_eq!(cable.connected(), expected, "{isolation:?}");
    }
}

/// A target that can be connected to only once is shared by all, and so are the connections when there can be no more.
#[tokio::test]
async fn one_connection_is_enough() {
    for (cable, most) in [(Cable::new().most(1), 16), (Cable::new(), 1)] {
        let cable = cable.transport("tcp");
        let proxy = Proxy::builder(Client::new("proxy", "1")).connections(most);
        let proxy = proxy.connect(cable.to(server(SESSIONS))).await.unwrap();
        for what in ["form", "", "form sampling roots"] {
            assert_eq!(call(&proxy, what, "can").await, "form url sampling roots");
        }
        assert_eq!(call(&proxy, "form", "name").await, "Ada");
        assert_eq!(cable.connected(), 1);
    }
}

/// On the only connection, calls of callers with other capabilities do not wait for each other.
#[tokio::test(start_paused = true)]
async fn callers_of_one_connection_do_not_take_turns() {
    let cable = Cable::new().transport("tcp");
    let proxy = Proxy::builder(Client::new("proxy", "1")).connections(1);
    let proxy = proxy.connect(cable.to(server(SESSIONS))).await.unwrap();
    let client = near("form").connect(proxy.service()).await.unwrap();
    let slow = tokio::spawn(client.call("slow", ()).into_future());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    for what in ["", "form sampling"] {
        call(&proxy, what, "can").await;
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    slow.await.unwrap().unwrap();
    assert_eq!(cable.connected(), 1);
}
