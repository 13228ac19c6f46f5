//! Tasks in a SQLite file: a result can be fetched after the server was restarted, with the id alone.

use std::{path::Path, time::Duration};

use couplet::{
    ProtocolVersion,
    prelude::*,
    server::ServerHandle,
    tasks::{Called, ClientTasks, Sqlite, Tasks},
};
use serde_json::json;

/// Writes a report.
#[tool(task)]
async fn report(about: String) -> String {
    format!("a report about {about}")
}

/// Starts the server with the tasks of the file.
fn start(file: &Path) -> Result<ServerHandle, Box<dyn std::error::Error>> {
    let tasks = Tasks::new(Sqlite::open(file)?).poll_interval(Duration::from_millis(5));
    Ok(Server::new("reports", "1.0.0").extension(tasks).tool(report).build())
}

async fn connect(server: ServerHandle) -> couplet::Result<Client> {
    let client = Client::new("demo", "1.0.0").versions([ProtocolVersion::V2026_07_28]);
    client.extension(ClientTasks::new()).connect(server).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::temp_dir().join(format!("couplet-durable-{}.db", std::process::id()));
    let client = connect(start(&file)?).await?;
    let Called::Task(task) = client.call_task("report", json!({ "about": "tides" })).await? else {
        panic!("the tool runs as a task")
    };
    let id = task.id().to_owned();
    assert_eq!(task.wait().await?.text(), "a report about tides");
    client.close().await?;
    drop(client);

    // The file is free when the server is gone.
    let mut attempts = 0;
    let server = loop {
        match start(&file) {
            Ok(server) => break server,
            Err(error) if attempts == 500 => return Err(error),
            Err(_) => attempts += 1,
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let client = connect(server).await?;
    assert_eq!(client.task(id).wait().await?.text(), "a report about tides");
    println!("the result survived the restart");
    client.close().await?;
    std::fs::remove_file(file)?;
    Ok(())
}
