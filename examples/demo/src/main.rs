//! Starts the calculator as a child process, once in each revision of the protocol, lists what it offers, and uses it.

use std::{env, path::PathBuf, process::ExitCode};

use couplet::{ProtocolVersion, prelude::*};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match env::args().nth(1).as_deref() {
        None | Some("demo") => {}
        Some(other) => {
            eprintln!("there is no command `{other}`; the one that exists is `demo`");
            return ExitCode::from(2);
        }
    }
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the demo failed: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let server = calculator()?;
    let client = Client::new("demo", "1.0.0").connect(Command::new(&server)).await?;
    let about = client.server();
    let name = about.info.as_ref().map_or("a server without a name", |info| info.display_name());
    println!("connected to {name}, speaking {}\n", about.version);
    for tool in client.tools().await? {
        println!("  tool      {:<22} {}", tool.name, tool.description.unwrap_or_default());
    }
    for template in client.resource_templates().await? {
        println!("  resource  {:<22} {}", template.uri_template, template.description.unwrap_or_default());
    }
    for prompt in client.prompts().await? {
        println!("  prompt    {:<22} {}", prompt.name, prompt.description.unwrap_or_default());
    }
    client.close().await?;

    println!("\nthe same server, spoken to in each revision:\n");
    for version in ProtocolVersion::ALL {
        let client = Client::new("demo", "1.0.0").versions([version]).connect(Command::new(&server)).await?;
        let sum = client.call("add", json!({ "a": 2, "b": 3 })).await?.text();
        let square = client.read("calc://square/12").await?.all_text();
        let messages = client.prompt("explain", json!({ "expr": "2 + 3" })).await?.messages;
        let wrong = client.call("add", json!({ "a": 2, "b": "three" })).await;
        let wrong = wrong.map_or_else(|e| e.to_string(), |result| result.text());
        println!("  {version}  2 + 3 = {sum}   12² = {square}   {} prompt message", messages.len());
        assert_eq!((sum.as_str(), square.as_str(), messages.len()), ("5", "144", 1));
        assert!(wrong.contains("argument `b`: expected a number"), "{wrong}");
        client.close().await?;
    }
    println!("\nand a wrong argument is explained: argument `b`: expected a number, got the string \"three\"");
    Ok(())
}

/// The calculator beside this program. Cargo builds it first if it is not there yet.
fn calculator() -> Result<PathBuf, Box<dyn std::error::Error>> {
    let program = env::current_exe()?.with_file_name(format!("calculator{}", env::consts::EXE_SUFFIX));
    let mut build = std::process::Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--package", "calculator"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status();
    if !program.exists() {
        built?;
        return Err(format!("`{}` could not be built", program.display()).into());
    }
    Ok(program)
}
