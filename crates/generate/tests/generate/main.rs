//! Clients that are generated: as expected, compiled, and safe whatever a server says.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod compiled;
mod golden;
mod hostile;
mod lexed;
mod schemas;

use couplet_generate::Definitions;
use couplet_types::{Prompt, ResourceTemplate, Tool};
use serde::Deserialize;

/// A file of definitions.
#[derive(Deserialize)]
struct File {
    server: Option<String>,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    templates: Vec<ResourceTemplate>,
}

fn definitions(name: &str) -> Definitions {
    let path = format!("{}/tests/generate/definitions/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let File { server, tools, prompts, templates } = serde_json::from_str(&text).expect("definitions are JSON");
    let mut definitions = Definitions::new().tools(tools).prompts(prompts).templates(templates);
    definitions.server = server;
    definitions
}
