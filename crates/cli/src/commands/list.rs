//! `couplet list`: the tools, resources and prompts of a server.

use std::{fmt::Write, sync::Arc};

use couplet::{
    Client,
    client::ServerInfo,
    types::{
        ListPrompts, ListResourceTemplates, ListResources, ListTools, Prompt, Request, Resource, ResourceTemplate,
        Tool, code,
    },
};
use serde_json::json;

use crate::{
    arguments::nearest,
    completion::lists::remember_offer,
    exit::{Exit, Failure},
    output::{Output, text},
    show::{self, Entry, columns},
    target::{Opening, Session, TargetArgs},
};

/// The arguments of `couplet list`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// tools, resources or prompts, or the name of a tool or prompt to describe (default: everything)
    what: Option<String>,
}

/// The lists of a server.
#[derive(Default)]
pub(crate) struct Offer {
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
    /// The methods that failed, with their errors.
    pub(crate) failed: Vec<(&'static str, Failure)>,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = Opening::of(&args.target)?;
    Session::with(opening, output, async |session: &Session| {
        let offer = Offer::of(session, args.what.as_deref()).await?;
        remember_offer(&session.target, &offer, args.what.as_deref());
        let server = session.client.server();
        let text = match args.what.as_deref() {
            None | Some("tools" | "resources" | "prompts") if output.json => offer.to_json(server)?,
            None => format!("{}\n{}", show::heading(server, &session.target, output.out), offer.to_text(output)),
            Some("tools" | "resources" | "prompts") => offer.to_text(output),
            Some(name) => offer.one(name, output)?,
        };
        output.print(text.trim_start_matches('\n'))?;
        offer.check(output)
    })
    .await
}

impl Offer {
    /// Requests the lists, or one of them. A list that fails is left out if there are others.
    pub(crate) async fn of(session: &Session, what: Option<&str>) -> Result<Self, Failure> {
        Self::from_client(&session.client, what).await
    }

    /// Requests the lists from a client without a [`Session`].
    pub(crate) async fn from_client(client: &Client, what: Option<&str>) -> Result<Self, Failure> {
        let wants = |kind: &str| match what {
            Some(one @ ("tools" | "resources" | "prompts")) => one == kind,
            Some(_) => kind != "resources",
            None => true,
        };
        let is_one = matches!(what, Some("tools" | "resources" | "prompts"));
        let mut offer = Self::default();
        if wants("tools") {
            offer.tools = offer.unless_refused(ListTools::METHOD, client.tools().await, is_one)?;
        }
        if wants("resources") {
            offer.resources = offer.unless_refused(ListResources::METHOD, client.resources().await, is_one)?;
            let templates = client.resource_templates().await;
            // A server may have resources and no templates.
            offer.templates = offer.unless_refused(ListResourceTemplates::METHOD, templates, false)?;
        }
        if wants("prompts") {
            offer.prompts = offer.unless_refused(ListPrompts::METHOD, client.prompts().await, is_one)?;
        }
        Ok(offer)
    }

    /// Returns a list, or an empty one if the server returned an error. If only this list was requested, that is an error.
    fn unless_refused<T>(
        &mut self,
        method: &'static str,
        listed: Result<Vec<T>, couplet::Error>,
        is_one: bool,
    ) -> Result<Vec<T>, Failure> {
        let failure: Failure = match listed {
            Ok(list) => return Ok(list),
            Err(error) => error.into(),
        };
        if is_one || !matches!(failure.exit, Exit::Refused | Exit::Protocol) {
            return Err(failure);
        }
        self.failed.push((method, failure));
        Ok(Vec::new())
    }

    /// Warns about lists that failed. A method that the server does not support is not an error; anything else is.
    pub(crate) fn check(&self, output: &Output) -> Result<(), Failure> {
        let mut fails = false;
        for (method, failure) in &self.failed {
            let hint = failure.hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
            output.warn(&text::visible(&format!("`{method}` failed: {}{hint}", failure.message)));
            fails |= failure.rpc().is_none_or(|rpc| rpc.code != code::METHOD_NOT_FOUND);
        }
        if fails { Err(Failure::silent(Exit::Refused)) } else { Ok(()) }
    }

    pub(crate) fn to_json(&self, server: &ServerInfo) -> Result<String, Failure> {
        let mut all = json!({
            "server": server.info,
            "revision": server.version.as_str(),
            "capabilities": server.capabilities,
            "instructions": server.instructions,
            "tools": self.tools,
            "resources": self.resources,
            "resourceTemplates": self.templates,
            "prompts": self.prompts,
        });
        if !self.failed.is_empty() {
            let failed: Vec<_> =
                self.failed.iter().map(|(m, f)| json!({ "method": m, "message": f.message })).collect();
            all["failed"] = json!(failed);
        }
        show::json_line(&all)
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
        if page.is_empty() { "\nno tools, resources or prompts\n".to_owned() } else { page }
    }

    /// Describes one tool or prompt.
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

/// Creates the error for an unknown name, with the nearest one as a hint.
pub(crate) fn unknown<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a str>) -> Failure {
    const SHOWN: usize = 12;
    let names: Vec<&str> = names.collect();
    let failure = Failure::usage(format!("unknown {what} `{name}`"));
    match nearest(name, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None if names.is_empty() => failure.hint(format!("the server has no {what}s")),
        None if names.len() > SHOWN => failure.hint(format!("`couplet list TARGET` lists all {}", names.len())),
        None => failure.hint(format!("expected one of {}", names.join(", "))),
    }
}
