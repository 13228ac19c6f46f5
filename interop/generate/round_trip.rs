//! A round trip with generated clients: `GENERATE_SERVERS` has the command lines of the servers, `GENERATE_FOLDER` a
//! folder that the server of files may write to.

#![deny(warnings)]

mod everything;
mod filesystem;
mod hostile;
mod kitchen;
mod sqlite;

use std::{collections::BTreeMap, env, time::Duration};

use couplet::{Client, ErrorKind, prelude::Command};
use everything::{ArgsPromptArguments, DynamicTextResourceVariables, EchoInput, Everything};
use everything::{GetStructuredContentInput, GetStructuredContentInputLocation as Location};
use filesystem::{Filesystem, ReadTextFileInput, WriteFileInput};
use sqlite::{ExecuteInput, QueryInput, Sqlite};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let servers: BTreeMap<String, Vec<String>> = serde_json::from_str(&env::var("GENERATE_SERVERS")?)?;
    let connect = async |name: &str| {
        let line = &servers[name];
        let command = Command::new(&line[0]).args(&line[1..]);
        Client::new("round-trip", "1.0.0").connect(command).await
    };
    with_everything(Everything::new(connect("everything").await?)).await?;
    with_filesystem(Filesystem::new(connect("filesystem").await?)).await?;
    with_sqlite(Sqlite::new(connect("sqlite").await?)).await
}

async fn with_everything(client: Everything) -> Outcome {
    let echo = client.echo(&EchoInput { message: "hi".to_owned() }).timeout(Duration::from_secs(30)).await?;
    assert_eq!(echo.text(), "Echo: hi");
    let weather = client.get_structured_content(&GetStructuredContentInput { location: Location::Chicago }).await?;
    assert!(!weather.conditions.is_empty() && weather.humidity > 0.0);
    let prompt = client.prompt_args_prompt(&ArgsPromptArguments::new("Oslo")).await?;
    assert_eq!(prompt.messages.len(), 1);
    let variables = DynamicTextResourceVariables { resource_id: "1".to_owned() };
    assert_eq!(client.read_dynamic_text_resource(&variables).await?.contents.len(), 1);
    Ok(())
}

async fn with_filesystem(client: Filesystem) -> Outcome {
    let path = format!("{}/rust.txt", env::var("GENERATE_FOLDER")?);
    client.write_file(&WriteFileInput { path: path.clone(), content: "one\ntwo\n".to_owned() }).await?;
    let read = client.read_text_file(&ReadTextFileInput { head: Some(1.0), ..ReadTextFileInput::new(&path) }).await?;
    assert_eq!(read.content.trim_end(), "one");
    let missing = client.read_text_file(&ReadTextFileInput::new(path + ".missing")).await;
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::Tool);
    Ok(())
}

async fn with_sqlite(client: Sqlite) -> Outcome {
    for sql in ["CREATE TABLE rust (a, b)", "INSERT INTO rust VALUES (1, 'x')"] {
        client.execute(&ExecuteInput { sql: sql.to_owned() }).await?;
    }
    let query = client.query(&QueryInput::new("SELECT * FROM rust")).await?;
    assert_eq!((query.columns, query.rows), (vec!["a".to_owned(), "b".to_owned()], vec![vec![1.into(), "x".into()]]));
    Ok(())
}
