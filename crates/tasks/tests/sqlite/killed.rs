//! A process that runs tasks is killed: none is lost, and none claims to run without anybody who runs it.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    time::Duration,
};

use couplet_client::Client;
use couplet_server::{Ctx, Handle, Server, ToolError, extract::Args, schemars::JsonSchema, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Sqlite, Store, Task, TaskTool, Tasks};
use couplet_types::TaskStatus;
use serde::Deserialize;

use crate::store::TempFile;

const FILE: &str = "COUPLET_TASKS_FILE";
const TASKS: usize = 50;

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

fn server(store: Sqlite) -> Handle {
    let tasks = Tasks::new(store).poll_interval(Duration::from_millis(1));
    Server::new("worker", "1").extension(tasks).tool(tool("work", work).task(Task::required())).build()
}

async fn connect(server: Handle) -> Client {
    let never = |_| std::future::pending();
    Client::new("c", "1").extension(ClientTasks::new()).on_elicit(never).connect(server).await.unwrap()
}

/// Not a test: the process that is killed. It says which tasks it has begun.
#[test]
fn worker() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let client = connect(server(Sqlite::open(file).unwrap())).await;
        for number in 0..TASKS {
            let called = client.call_task("work", serde_json::json!({ "number": number })).await.unwrap();
            let Called::Task(task) = called else { panic!("no task") };
            println!("begun {number} {}", task.id());
            std::io::stdout().flush().unwrap();
        }
        // Until it is killed; and if nobody does it, not for ever.
        tokio::time::sleep(Duration::from_secs(60)).await;
    });
}

fn start(file: &TempFile) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "killed::worker", "--nocapture"]).env(FILE, &file.0).stdout(Stdio::piped());
    child.spawn().unwrap()
}

/// Lets a process begin so many tasks, kills it, and returns their ids by number.
fn killed_after(file: &TempFile, tasks: usize) -> Vec<(usize, String)> {
    let mut child = start(file);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let begun = lines.map_while(Result::ok).filter_map(|line| {
        let (number, id) = line.split_once("begun ")?.1.split_once(' ')?;
        Some((number.parse().unwrap(), id.to_owned()))
    });
    let begun: Vec<(usize, String)> = begun.take(tasks).collect();
    // On Unix this is SIGKILL: the process does not hear of it.
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(begun.len(), tasks, "the process ended by itself");
    begun
}

async fn check(file: &TempFile, begun: &[(usize, String)]) {
    let store = Sqlite::open(&file.0).unwrap();
    let client = connect(server(store.clone())).await;
    let kept = store.list(None, None, 1000).await.unwrap().unwrap();
    assert!(kept.iter().all(|r| r.status.is_terminal()), "a task works without a worker: {kept:?}");
    let mut finished = 0;
    for (number, id) in begun {
        let task = client.task(id.as_str());
        let state = task.state().await.unwrap_or_else(|e| panic!("task {number} is lost: {e}"));
        match state.status {
            TaskStatus::Completed => {
                assert_eq!(task.wait().await.unwrap().text(), format!("number {number}"));
                assert_eq!(number % 3, 0);
                finished += 1;
            }
            TaskStatus::Failed => {
                let reason = task.wait().await.unwrap_err().to_string();
                assert!(reason.contains("the process that ran the task ended"), "{number}: {reason}");
            }
            other => panic!("task {number} is {other:?}"),
        }
    }
    assert!(finished > 0, "no task was done");
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_killed_process_leaves_no_task_that_claims_to_run() {
    let file = TempFile::new("killed");
    let all = killed_after(&file, TASKS);
    check(&file, &all).await;
    // Once more, in the middle of the work, with the tasks of the first time still there.
    let more = killed_after(&file, 20);
    check(&file, &[all, more].concat()).await;
}

#[tokio::test]
async fn one_process_has_the_file() {
    let file = TempFile::new("locked");
    let mut child = start(&file);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.contains("begun "))));
    assert!(Sqlite::open(&file.0).is_err(), "two processes have it");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(Sqlite::open(&file.0).is_ok());
}
