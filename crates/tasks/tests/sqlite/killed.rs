//! A process that runs tasks is killed: none is lost, and none claims to run without anybody who runs it.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    time::Duration,
};

use couplet_client::Client;
use couplet_server::{Ctx, Server, ServerHandle, ToolError, extract::Args, schemars::JsonSchema, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Sqlite, Store, Task, TaskTool, Tasks};
use couplet_types::TaskStatus;
use serde::Deserialize;
use serde_json::json;

use crate::store::TempFile;

const FILE: &str = "COUPLET_TASKS_FILE";
const TASKS: usize = 50;
const WRITERS: usize = 8;

#[derive(Deserialize, JsonSchema)]
struct Which {
    number: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Yes {
    #[expect(dead_code, reason = "it is never answered")]
    yes: bool,
}

/// Of three tasks, one is done at once, one never, and one asks and is never answered.
async fn work(Args(Which { number }): Args<Which>, ctx: Ctx) -> Result<String, ToolError> {
    ctx.progress(0.5, "half of it").await;
    match number % 3 {
        0 => Ok(format!("number {number}")),
        1 => std::future::pending().await,
        _ => ctx.elicit::<Yes>("sure", "?").await?.accepted().map(|_| String::new()),
    }
}

/// A task of which something is always being written.
async fn write(Args(Which { number }): Args<Which>, ctx: Ctx) -> String {
    for step in 1..=5 {
        ctx.progress(f64::from(step) / 5.0, format!("step {step}")).await;
    }
    format!("number {number}")
}

fn server(store: Sqlite) -> ServerHandle {
    let tasks = Tasks::new(store).poll_interval(Duration::from_millis(1));
    let server = Server::new("worker", "1").extension(tasks);
    server.tool(tool("work", work).task(Task::required())).tool(tool("write", write).task(Task::required())).build()
}

async fn connect(server: ServerHandle) -> Client {
    let never = |_| std::future::pending();
    Client::new("c", "1").extension(ClientTasks::new()).on_elicit(never).connect(server).await.unwrap()
}

/// Says something to the process that will kill this one.
fn say(what: &str, number: usize, id: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{what} {number} {id}").and_then(|()| out.flush()).unwrap();
}

/// Begins tasks, and says which.
async fn works(client: Client) {
    for number in 0..TASKS {
        let called = client.call_task("work", json!({ "number": number })).await.unwrap();
        let Called::Task(task) = called else { panic!("no task") };
        say("begun", number, task.id());
    }
}

/// Begins one task after the other, and says which are done.
async fn writes(client: Client, first: usize) {
    for number in (first..).step_by(WRITERS) {
        let called = client.call_task("write", json!({ "number": number })).await.unwrap();
        let Called::Task(task) = called else { panic!("no task") };
        say("begun", number, task.id());
        task.wait().await.unwrap();
        say("done", number, task.id());
    }
}

fn be_killed(run: impl AsyncFnOnce(Client)) {
    let Some(file) = std::env::var_os(FILE) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        run(connect(server(Sqlite::open(file).unwrap())).await).await;
        // Until it is killed; and if nobody does it, not for ever.
        tokio::time::sleep(Duration::from_secs(60)).await;
    });
}

/// Not a test: a process that is killed while it runs tasks.
#[test]
fn worker() {
    be_killed(works);
}

/// Not a test: a process that is killed while it writes.
#[test]
fn writer() {
    be_killed(async |client| {
        (0..WRITERS).for_each(|first| drop(tokio::spawn(writes(client.clone(), first))));
    });
}

fn start(file: &TempFile, which: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", which, "--nocapture"]).env(FILE, &file.0).stdout(Stdio::piped());
    child.spawn().unwrap()
}

/// What a process said before it was killed: its tasks, by number, with their ids.
#[derive(Debug, Default)]
struct Said {
    begun: BTreeMap<String, usize>,
    done: BTreeMap<String, usize>,
}

/// Lets a process say a word so often, kills it, and returns everything that it has said.
fn killed_after(file: &TempFile, which: &str, word: &str, times: usize) -> Said {
    let (mut child, mut said, mut heard) = (start(file, which), Said::default(), 0);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        let mut words = line.split(' ');
        let (Some(first), Some(number), Some(id)) = (words.next(), words.next(), words.next()) else { continue };
        let list = match first {
            "begun" => &mut said.begun,
            "done" => &mut said.done,
            _ => continue,
        };
        list.insert(id.to_owned(), number.parse().unwrap());
        heard += usize::from(first == word);
        if heard == times {
            // On Unix this is SIGKILL: the process does not hear of it. What it has said is still read.
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(heard >= times, "the process ended by itself");
    said
}

/// Opens the file as the next process does, and looks at what the last ones have left. Returns how many tasks failed.
async fn check(file: &TempFile, said: &[Said]) -> usize {
    let whole: String = rusqlite::Connection::open(&file.0)
        .and_then(|file| file.query_row("PRAGMA integrity_check", [], |row| row.get(0)))
        .unwrap();
    assert_eq!(whole, "ok", "the file is broken");
    let store = Sqlite::open(&file.0).unwrap();
    let client = connect(server(store.clone())).await;
    let kept = store.list(None, None, 100_000).await.unwrap().unwrap();
    assert!(kept.iter().all(|r| r.status.is_terminal()), "a task works without a worker: {kept:?}");
    let (mut finished, mut failed) = (0, 0);
    for (id, number) in said.iter().flat_map(|said| &said.begun) {
        let task = client.task(id.as_str());
        let state = task.state().await.unwrap_or_else(|e| panic!("task {number} is lost: {e}"));
        match state.status {
            TaskStatus::Completed => {
                assert_eq!(task.wait().await.unwrap().text(), format!("number {number}"));
                finished += 1;
            }
            TaskStatus::Failed => {
                let reason = task.wait().await.unwrap_err().to_string();
                assert!(reason.contains("the process that ran the task ended"), "{number}: {reason}");
                assert!(state.message.is_some_and(|message| reason.contains(&message)), "{number}: {reason}");
                assert!(!said.iter().any(|said| said.done.contains_key(id)), "task {number} was done");
                failed += 1;
            }
            other => panic!("task {number} is {other:?}"),
        }
    }
    assert!(finished > 0, "no task was done");
    client.close().await.unwrap();
    failed
}

#[tokio::test]
async fn a_killed_process_leaves_no_task_that_claims_to_run() {
    let file = TempFile::new("killed");
    let all = killed_after(&file, "killed::worker", "begun", TASKS);
    assert_eq!(all.begun.len(), TASKS);
    // A process that is killed before it has said anything, perhaps while it looks after what the last one left.
    let mut child = start(&file, "killed::worker");
    child.kill().unwrap();
    child.wait().unwrap();
    let failed = check(&file, std::slice::from_ref(&all)).await;
    assert!(failed >= TASKS * 2 / 3, "{failed} tasks failed, and more of them could not be done");
    // Once more, with fewer tasks, and with those of the first time still there.
    let more = killed_after(&file, "killed::worker", "begun", 20);
    assert!(check(&file, &[all, more]).await > failed);
}

#[tokio::test]
async fn a_process_that_is_killed_while_it_writes_loses_nothing_that_it_has_said() {
    let (file, mut said, mut failed) = (TempFile::new("writes"), Vec::new(), 0);
    for done in [1, 5, 13, 30] {
        said.push(killed_after(&file, "killed::writer", "done", done));
        failed = check(&file, &said).await;
    }
    assert!(failed > 0, "nothing was ever written when it was killed");
}

#[tokio::test]
async fn one_process_has_the_file() {
    let file = TempFile::new("locked");
    let mut child = start(&file, "killed::worker");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.contains("begun "))));
    let error = Sqlite::open(&file.0).expect_err("two processes have it").to_string();
    assert!(error.contains("another process"), "{error}");
    if cfg!(target_os = "linux") {
        assert!(error.contains(&format!("(pid {})", child.id())), "{error}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(Sqlite::open(&file.0).is_ok());
}
