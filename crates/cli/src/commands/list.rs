//! `couplet list`: what a server offers.

use std::{fmt::Write, sync::Arc};

use couplet::{
    Client,
    client::ServerInfo,
    types::{Prompt, Resource, ResourceTemplate, Tool},
};
use serde_json::json;

use crate::{
    arguments::nearest,
    exit::Failure,
    output::{Output, text},
    show::{self, Entry, columns},
    target::{Opening, Session, TargetArgs},
};

/// What to list.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// tools, resources, prompts, or the name of a tool or prompt to show in full; everything if left out
    what: Option<String>,
}

/// Everything that a server lists.
pub(crate) struct Offer {
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = Opening::of(&args.target)?;
    Session::with(opening, output, async |session: &Session| {
        let offer = Offer::of(session, args.what.as_deref()).await?;
        let server = session.client.server();
        let text = match args.what.as_deref() {
            None | Some("tools" | "resources" | "prompts") if output.json => offer.to_json(server)?,
            None => format!("{}\n{}", show::heading(server, &session.target, output.out), offer.to_text(output)),
            Some("tools" | "resources" | "prompts") => offer.to_text(output),
            Some(name) => offer.one(name, output)?,
        };
        output.print(text.trim_start_matches('\n'))
    })
    .await
}

impl Offer {
    /// Asks for the lists, or for one of them.
    pub(crate) async fn of(session: &Session, what: Option<&str>) -> Result<Self, Failure> {
        Ok(Self::from_client(&session.client, what).await?)
    }

    /// The same, where there is no session.
    pub(crate) async fn from_client(client: &Client, what: Option<&str>) -> Result<Self, couplet::Error> {
        let wants = |kind: &str| match what {
            Some(one @ ("tools" | "resources" | "prompts")) => one == kind,
            Some(_) => kind != "resources",
            None => true,
        };
        let mut offer = Self { tools: Vec::new(), resources: Vec::new(), templates: Vec::new(), prompts: Vec::new() };
        if wants("tools") {
            offer.tools = client.tools().await?;
        }
        if wants("resources") {
            offer.resources = client.resources().await?;
            offer.templates = client.resource_templates().await?;
        }
        if wants("prompts") {
            offer.prompts = client.prompts().await?;
        }
        Ok(offer)
    }

    fn to_json(&self, server: &ServerInfo) -> Result<String, Failure> {
        show::json_line(&json!({
            "server": server.info,
            "revision": server.version.as_str(),
            "capabilities": server.capabilities,
            "instructions": server.instructions,
            "tools": self.tools,
            "resources": self.resources,
            "resourceTemplates": self.templates,
            "prompts": self.prompts,
        }))
    }

    pub(crate) fn to_text(&self, output: &Output) -> String {
        let mut page = String::new();
        let resources = self.resources.iter().map(show::resource).chain(self.templates.iter().map(show::template));
        let lists: [(&str, Vec<Entry>); 3] = [
            ("Tools", self.tools.iter().map(show::tool).collect()),
            ("Resources", resources.collect()),
            ("Prompts", self.prompts.iter().map(show::prompt).collect()),
        ];
        for (heading, entries) in lists.iter().filter(|(_, entries)| !entries.is_empty()) {
            let _ = write!(page, "\n{}\n{}", output.out.strong(heading), columns(entries, output.out));
        }
        if page.is_empty() { "\nnothing is offered\n".to_owned() } else { page }
    }

    /// One thing, in full.
    pub(crate) fn one(&self, name: &str, output: &Output) -> Result<String, Failure> {
        let tool = self.tools.iter().find(|tool| tool.name == name);
        let prompt = self.prompts.iter().find(|prompt| prompt.name == name);
        match (tool, prompt) {
            (Some(tool), _) if output.json => show::json_line(tool),
            (Some(tool), _) => Ok(show::tool_in_full(tool, output.out)),
            (None, Some(prompt)) if output.json => show::json_line(prompt),
            (None, Some(prompt)) => Ok(show::prompt_in_full(prompt, output.out)),
            (None, None) => {
                let names =
                    self.tools.iter().map(|t| t.name.as_str()).chain(self.prompts.iter().map(|p| p.name.as_str()));
                Err(unknown("tool or prompt", name, names.chain(["tools", "resources", "prompts"])))
            }
        }
    }
}

/// There is no such thing, and what was perhaps meant.
pub(crate) fn unknown<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a str>) -> Failure {
    const SHOWN: usize = 12;
    let names: Vec<&str> = names.collect();
    let failure = Failure::usage(format!("there is no {what} `{name}`"));
    match nearest(name, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None if names.is_empty() => failure.hint("the server has none"),
        None if names.len() > SHOWN => failure.hint(format!(
            "there are {}; `couplet list TARGET` shows them",
            text::count(names.len(), "one", "of them")
        )),
        None => failure.hint(format!("there are {}", names.join(", "))),
    }
}
