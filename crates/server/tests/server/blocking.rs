//! Functions that block, on threads of their own.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use couplet_server::{Ctx, Server, tool};
use serde_json::json;

use crate::support::Client;

/// A safety net: nothing here takes that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A tool that says that it began, and waits until it may go on.
fn waiting(server: Server) -> (Server, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (began, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let may_go_on = Arc::new(Mutex::new(may_go_on));
    let wait = move || {
        began.send(()).unwrap();
        may_go_on.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        "done"
    };
    (server.tool(tool("wait", wait).blocking()).tool(tool("quick", || "quick")), has_begun, go_on)
}

#[tokio::test]
async fn a_blocking_tool_does_not_stop_its_connection() {
    let (server, _has_begun, go_on) = waiting(Server::new("s", "1"));
    let mut client = Client::new(server).await;
    client.send(&json!({ "jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": { "name": "wait" } }));
    // Answered first, though it was asked last.
    assert_eq!(client.call("quick", json!({})).await, "quick");
    go_on.send(()).unwrap();
    let answer = client.next().await;
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!("slow"), &json!("done")));
}

/// Polls the connection once.
async fn begin(client: &mut Client) {
    tokio::select! {
        biased;
        early = client.next() => panic!("{early}"),
        () = std::future::ready(()) => {}
    }
}

#[tokio::test(start_paused = true)]
async fn its_timeout_answers_the_call() {
    let (server, has_begun, go_on) = waiting(Server::new("s", "1").timeout(Duration::from_secs(5)));
    let mut client = Client::new(server).await;
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "wait" } }));
    begin(&mut client).await;
    has_begun.recv_timeout(PATIENCE).unwrap();
    // Time stands still by itself while a thread for blocking work is busy.
    tokio::time::advance(Duration::from_secs(6)).await;
    assert_eq!(client.next().await["error"]["message"], "the handler took longer than 5 s");
    go_on.send(()).unwrap();
}

#[test]
fn a_call_that_is_cancelled_before_its_thread_begins_does_not_run() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (server, has_begun, go_on) = waiting(Server::new("s", "1"));
        let mut client = Client::new(server).await;
        for id in [2, 3, 4] {
            client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "wait" } }));
            begin(&mut client).await;
        }
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } }));
        begin(&mut client).await;
        for id in [2, 4] {
            has_begun.recv_timeout(PATIENCE).unwrap();
            go_on.send(()).unwrap();
            assert_eq!(client.next().await["id"], id);
        }
        assert!(has_begun.try_recv().is_err());
    });
}

#[tokio::test]
async fn its_panic_is_one_failed_call() {
    let mut client = Client::new(Server::new("s", "1").tool(tool("panic", || -> u8 { panic!("no") }).blocking())).await;
    assert_eq!(client.call("panic", json!({})).await, "-32603: the handler failed unexpectedly");
}

#[tokio::test]
async fn a_sync_tool_reports_progress() {
    let report =
        |ctx: Ctx| [ctx.try_progress(0.5, "half"), ctx.try_progress(0.25, "back"), ctx.try_progress(1.0, "all")];
    let report = move |ctx: Ctx| format!("{:?}", report(ctx));
    for report in [tool("report", report), tool("report", report).blocking()] {
        let mut client = Client::new(Server::new("s", "1").tool(report)).await;
        let params = json!({ "name": "report", "_meta": { "progressToken": 7 } });
        client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }));
        let (first, second, answer) = (client.next().await, client.next().await, client.next().await);
        assert_eq!((&first["params"]["progress"], &first["params"]["message"]), (&json!(0.5), &json!("half")));
        assert_eq!(second["params"]["progress"], 1.0);
        assert_eq!(answer["id"], 2);
    }
}
