//! Tasks as a part of the protocol: the server's duties.

use std::time::Duration;

use couplet_tasks::Tasks;
use couplet_testing::types::ProtocolVersion;
use serde_json::{Value, json};

use crate::{
    kit::{call, capabilities, open, text, yes},
    task_kit::{CORE, RELATED, about, begin, begin_id, core, open_as, server, tools, until},
};

#[tokio::test]
async fn line_348_the_server_declares_tasks_where_they_are() {
    for &version in ProtocolVersion::ALL {
        let can = capabilities(server(), version).await;
        let expected = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
        assert_eq!(can["tasks"], if version == CORE { expected } else { Value::Null }, "{version}");
    }
    let undeclared = tools().extension(Tasks::in_memory()).build();
    assert_eq!(capabilities(undeclared.clone(), CORE).await["tasks"].get("list"), None);
    let refused = open(undeclared, CORE, json!({})).await.request("tasks/list", json!({})).await;
    assert_eq!(refused["error"]["code"], -32601, "what is not declared is not there");
}

#[tokio::test]
async fn line_349_a_tool_without_tasks_is_not_run_as_one() {
    let refused = core().await.request("tools/call", json!({ "name": "plain", "task": {} })).await;
    assert_eq!(refused["error"]["code"], -32601);
}

#[tokio::test]
async fn line_350_a_tool_that_must_be_a_task_is_refused_otherwise() {
    let mut wire = core().await;
    assert_eq!(call(&mut wire, "must", json!({})).await["error"]["code"], -32601);
    begin(&mut wire, CORE, "must").await;
    let listed = wire.request("tools/list", json!({})).await;
    let listed = listed["result"]["tools"].as_array().unwrap();
    let support = |name: &str| listed.iter().find(|t| t["name"] == name).unwrap()["execution"]["taskSupport"].clone();
    assert_eq!(
        [support("plain"), support("quick"), support("must")],
        [json!(null), json!("optional"), json!("required")]
    );
}

#[tokio::test]
async fn line_351_a_server_without_tasks_ignores_the_wish() {
    let server = crate::kit::example().build();
    let params = json!({ "name": "echo", "arguments": { "text": "hi" }, "task": { "ttl": 1 } });
    let answer = open(server, CORE, json!({})).await.request("tools/call", params).await;
    assert_eq!(text(&answer), "hi");
}

#[tokio::test]
async fn line_352_a_task_is_answered_at_once() {
    // The tool is never done.
    let mut wire = core().await;
    let answer = wire.request("tools/call", json!({ "name": "hold", "task": { "ttl": 1000 } })).await;
    assert_eq!(answer["result"]["task"]["status"], "working");
    assert_eq!(answer["result"].get("content"), None);
}

#[tokio::test]
async fn line_353_tasks_begin_working_and_end_for_good() {
    let mut wire = core().await;
    let (a, b) = (begin(&mut wire, CORE, "quick").await, begin(&mut wire, CORE, "quick").await);
    assert_ne!(a["taskId"], b["taskId"]);
    assert_eq!((&a["status"], &b["status"]), (&json!("working"), &json!("working")));
    let id = a["taskId"].as_str().unwrap();
    until(&mut wire, id, "completed").await;
    assert_eq!(about(&mut wire, "tasks/cancel", id).await["error"]["code"], -32602);
    until(&mut wire, id, "completed").await;
}

#[tokio::test]
async fn line_354_times_and_the_actual_ttl_are_told() {
    let mut wire = core().await;
    let created = wire.request("tools/call", json!({ "name": "hold", "task": { "ttl": 60_000 } })).await;
    let id = created["result"]["task"]["taskId"].as_str().unwrap().to_owned();
    let looked = about(&mut wire, "tasks/get", &id).await;
    for task in [&created["result"]["task"], &looked["result"]] {
        for key in ["createdAt", "lastUpdatedAt"] {
            let time = task[key].as_str().unwrap();
            assert!(time.starts_with("20") && time.contains('T') && time.ends_with('Z'), "{key}: {time}");
        }
        assert_eq!(task["ttl"], 60_000);
        assert!(task["pollInterval"].as_u64() > Some(0));
    }
}

#[tokio::test]
async fn line_356_a_task_waits_for_input_and_goes_on() {
    let mut wire = core().await;
    let id = begin_id(&mut wire, CORE, "two").await;
    until(&mut wire, &id, "input_required").await;
    let waiting = wire.start("tasks/result", json!({ "taskId": id }));
    let mut questions = Vec::new();
    while questions.len() < 2 {
        let message = wire.next().await.unwrap();
        if message["method"] == "elicitation/create" {
            questions.push(message["id"].clone());
        }
    }
    wire.send(&json!({ "jsonrpc": "2.0", "id": questions[0], "result": yes() }));
    assert_eq!(until(&mut wire, &id, "input_required").await["status"], "input_required", "one is still open");
    wire.send(&json!({ "jsonrpc": "2.0", "id": questions[1], "result": yes() }));
    assert_eq!(text(&wire.response(waiting).await), "a: true b: true");
    until(&mut wire, &id, "completed").await;
}

#[tokio::test]
async fn line_356_a_client_that_comes_back_is_asked_again() {
    let server = server();
    let can = json!({ "elicitation": { "form": {} } });
    let mut gone = open(server.clone(), CORE, can.clone()).await;
    let id = begin_id(&mut gone, CORE, "ask").await;
    gone.start("tasks/result", json!({ "taskId": id }));
    while gone.next().await.unwrap()["method"] != "elicitation/create" {}
    // Its last request is answered, so that a process with no more input can end.
    let last = gone.finish().await;
    assert!(last.iter().any(|m| m["error"]["code"] == -32603), "{last:?}");
    let mut wire = open(server, CORE, can).await;
    until(&mut wire, &id, "input_required").await;
    let waiting = wire.start("tasks/result", json!({ "taskId": id }));
    let question = loop {
        let message = wire.next().await.unwrap();
        if message["method"] == "elicitation/create" {
            break message;
        }
    };
    wire.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": yes() }));
    assert_eq!(text(&wire.response(waiting).await), "sure: true");
}

#[tokio::test]
async fn line_357_looking_at_a_task_is_one_answer() {
    let mut wire = core().await;
    let id = begin_id(&mut wire, CORE, "report").await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    wire.ready();
    about(&mut wire, "tasks/get", &id).await;
    assert_eq!(wire.ready(), Vec::<Value>::new(), "nothing that would need a stream");
}

#[tokio::test]
async fn line_358_the_server_decides_how_long_a_task_is_kept() {
    let server = tools().extension(Tasks::in_memory().max_ttl(Duration::from_secs(60))).build();
    let mut wire = open(server, CORE, json!({})).await;
    let long = wire.request("tools/call", json!({ "name": "quick", "task": { "ttl": 999_999_999 } })).await;
    assert_eq!(long["result"]["task"]["ttl"], 60_000);
    let short = wire.request("tools/call", json!({ "name": "quick", "task": { "ttl": 1 } })).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let id = short["result"]["task"]["taskId"].as_str().unwrap();
    assert_eq!(about(&mut wire, "tasks/get", id).await["error"]["code"], -32602);
}

#[tokio::test]
async fn line_359_the_result_waits_and_is_what_the_request_would_have_answered() {
    let mut wire = core().await;
    let id = begin_id(&mut wire, CORE, "ask").await;
    let waiting = wire.start("tasks/result", json!({ "taskId": id }));
    let question = loop {
        let message = wire.next().await.unwrap();
        if message["method"] == "elicitation/create" {
            break message;
        }
        assert_ne!(message["id"], waiting, "it answers before the task is done");
    };
    wire.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": yes() }));
    let mut answer = wire.response(waiting).await;
    assert_eq!(answer["result"]["_meta"][RELATED]["taskId"], json!(id));
    answer["result"].as_object_mut().unwrap().remove("_meta");
    assert_eq!(answer["result"], json!({ "content": [{ "type": "text", "text": "sure: true" }] }));

    let id = begin_id(&mut wire, CORE, "broken").await;
    let error = about(&mut wire, "tasks/result", &id).await["error"].take();
    assert_eq!((&error["code"], &error["message"]), (&json!(-32050), &json!("it broke")));
    let id = begin_id(&mut wire, CORE, "fail").await;
    assert_eq!(about(&mut wire, "tasks/result", &id).await["result"]["isError"], true);
}

#[tokio::test]
async fn line_360_messages_of_a_task_are_tied_to_it() {
    let mut wire = core().await;
    let params = json!({ "name": "report", "task": {}, "_meta": { "progressToken": "p" } });
    let created = wire.request("tools/call", params).await;
    let id = created["result"]["task"]["taskId"].clone();
    let progress = loop {
        let message = wire.next().await.unwrap();
        if message["method"] == "notifications/progress" {
            break message;
        }
    };
    assert_eq!(progress["params"]["progressToken"], "p", "the token is valid after the answer");
    assert_eq!(progress["params"]["_meta"][RELATED]["taskId"], id);

    let asking = begin_id(&mut wire, CORE, "ask").await;
    // What the parameters say counts, and not what `_meta` says.
    let other = json!({ "taskId": asking, "_meta": { RELATED: { "taskId": id } } });
    wire.start("tasks/result", other.clone());
    let question = loop {
        let message = wire.next().await.unwrap();
        if message["method"] == "notifications/tasks/status" {
            assert_eq!(message["params"].get("_meta"), None);
        } else if message["method"] == "elicitation/create" {
            break message;
        }
    };
    assert_eq!(question["params"]["_meta"][RELATED]["taskId"], json!(asking));
    let looked = wire.request("tasks/get", other).await;
    assert_eq!((&looked["result"]["taskId"], looked["result"].get("_meta")), (&json!(asking), None));
    assert_eq!(about(&mut wire, "tasks/cancel", &asking).await["result"].get("_meta"), None);
}

#[tokio::test]
async fn line_361_status_notifications_are_only_a_help() {
    // The same tool, once looked at and once told: both come to the same.
    let mut wire = core().await;
    let id = begin_id(&mut wire, CORE, "quick").await;
    until(&mut wire, &id, "completed").await;
    let told = wire.ready().into_iter().rfind(|m| m["method"] == "notifications/tasks/status").unwrap();
    assert_eq!((&told["params"]["taskId"], &told["params"]["status"]), (&json!(id), &json!("completed")));
}

#[tokio::test]
async fn line_362_what_can_be_looked_at_is_listed() {
    let mut wire = open_as(&server(), CORE, "alice").await;
    let mut begun = Vec::new();
    for _ in 0..101 {
        begun.push(begin_id(&mut wire, CORE, "quick").await);
    }
    let first = wire.request("tasks/list", json!({})).await["result"].take();
    let cursor = first["nextCursor"].as_str().expect("there is more").to_owned();
    let second = wire.request("tasks/list", json!({ "cursor": cursor })).await["result"].take();
    assert_eq!(second.get("nextCursor"), None);
    let pages = [first["tasks"].as_array().unwrap().clone(), second["tasks"].as_array().unwrap().clone()].concat();
    let listed: Vec<_> = pages.iter().map(|t| t["taskId"].as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, begun);
}

#[tokio::test]
async fn line_363_cancelled_is_cancelled_before_the_answer_and_for_good() {
    for tool in ["hold", "ask"] {
        let mut wire = core().await;
        let id = begin_id(&mut wire, CORE, tool).await;
        let cancelled = about(&mut wire, "tasks/cancel", &id).await;
        assert_eq!(cancelled["result"]["status"], "cancelled", "{tool}");
        assert_eq!(about(&mut wire, "tasks/cancel", &id).await["error"]["code"], -32602, "{tool}");
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(about(&mut wire, "tasks/get", &id).await["result"]["status"], "cancelled", "{tool}");
    }
}

#[tokio::test]
async fn line_364_what_is_not_known_is_a_wrong_parameter() {
    let mut wire = core().await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(about(&mut wire, method, "nobody").await["error"]["code"], -32602, "{method}");
        assert_eq!(wire.request(method, json!({})).await["error"]["code"], -32602, "{method}");
    }
    for cursor in ["bm9ib2R5", "?"] {
        assert_eq!(wire.request("tasks/list", json!({ "cursor": cursor })).await["error"]["code"], -32602, "{cursor}");
    }
}

#[tokio::test]
async fn line_365_failures_say_so() {
    for tool in ["fail", "broken"] {
        let mut wire = core().await;
        let id = begin_id(&mut wire, CORE, tool).await;
        let task = until(&mut wire, &id, "failed").await;
        assert!(task["statusMessage"].as_str().is_some_and(|m| !m.is_empty()), "{tool}: {task}");
    }
}

#[tokio::test]
async fn line_366_tasks_belong_to_who_began_them() {
    let server = server();
    let (mut alice, mut bob) = (open_as(&server, CORE, "alice").await, open_as(&server, CORE, "bob").await);
    let id = begin_id(&mut alice, CORE, "hold").await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(about(&mut bob, method, &id).await["error"]["code"], -32602, "{method}");
    }
    assert_eq!(bob.request("tasks/list", json!({})).await["result"]["tasks"], json!([]));
    assert_eq!(alice.request("tasks/list", json!({})).await["result"]["tasks"][0]["taskId"], json!(id));
    assert_eq!(about(&mut alice, "tasks/get", &id).await["result"]["status"], "working", "bob did not cancel it");
}

#[tokio::test]
async fn line_367_so_many_and_not_more() {
    let server = tools().extension(Tasks::in_memory().max_running(2)).build();
    let mut wire = open(server, CORE, json!({})).await;
    let first = begin_id(&mut wire, CORE, "hold").await;
    begin(&mut wire, CORE, "hold").await;
    let third = json!({ "name": "hold", "task": {} });
    assert_eq!(wire.request("tools/call", third.clone()).await["error"]["code"], -32603);
    about(&mut wire, "tasks/cancel", &first).await;
    assert!(wire.request("tools/call", third).await.get("result").is_some(), "there is room again");
}
