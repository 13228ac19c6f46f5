//! The description of a view.

use std::fmt::Write;

use couplet_core::{Description, ExtensionSpec};
use couplet_proxy::TaskForms;
use couplet_types::{
    Implementation, Map, PromptsCapability, RawJson, ResourcesCapability, ServerCapabilities, TASKS_EXTENSION,
    ToolsCapability,
};

use crate::service::{ViewInner, snapshot::Snapshot};

/// The most bytes of the instructions of one server, and of all.
const INSTRUCTIONS: usize = 4 << 10;
const ALL_INSTRUCTIONS: usize = 16 << 10;

pub(crate) fn describe(view: &ViewInner, snapshot: &Snapshot) -> Description {
    let only = match &snapshot.members[..] {
        [only] if snapshot.profile.is_bare() => Some(only),
        _ => None,
    };
    // One server under its own names is served as a proxy would.
    if let Some(about) =
        only.and_then(|only| only.upstream.running()).map(|proxy| couplet_core::Service::describe(&proxy))
    {
        let mut own = Description::new(about.info.clone(), capabilities(snapshot));
        own.instructions = instructions(view, snapshot);
        own.capabilities.experimental.clone_from(&about.capabilities.experimental);
        own.capabilities.extensions.clone_from(&about.capabilities.extensions);
        own.extensions.clone_from(&about.extensions);
        return own;
    }
    let info: Implementation = snapshot.info.clone();
    let mut about = Description::new(info, capabilities(snapshot));
    about.instructions = instructions(view, snapshot);
    about.extensions = extensions(&about.capabilities);
    about
}

/// What any of the servers can do. A server that was never reached may be able to do everything; what is not there then,
/// is an empty list.
fn capabilities(snapshot: &Snapshot) -> ServerCapabilities {
    let is_unknown = snapshot.members.iter().any(|member| !member.catalog.is_fetched());
    let all = || snapshot.members.iter().map(|member| member.catalog.capabilities());
    let mut can = ServerCapabilities::default();
    can.tools = Some(ToolsCapability::default().list_changed(true));
    if is_unknown || all().any(|can| can.prompts.is_some()) {
        can.prompts = Some(PromptsCapability::default().list_changed(true));
    }
    if is_unknown || all().any(|can| can.resources.is_some()) {
        let subscribes = all().any(|can| can.resources.as_ref().is_some_and(|own| own.subscribe == Some(true)));
        can.resources = Some(ResourcesCapability::default().list_changed(true).subscribe(is_unknown || subscribes));
    }
    can.logging = Some(RawJson::empty_object());
    can.completions = Some(RawJson::empty_object());
    let with_tasks = snapshot.members.iter().find_map(|member| {
        let mut own = ServerCapabilities::clone(member.catalog.capabilities());
        TaskForms::declare(&mut own, member.catalog.revision()?);
        let settings = own.extensions.as_ref()?.get(TASKS_EXTENSION)?.clone();
        own.tasks.is_some().then_some((own.tasks, settings))
    });
    if let Some((tasks, settings)) = with_tasks {
        can.tasks = tasks;
        can.extensions = Some(Map::from_iter([(TASKS_EXTENSION, settings)]));
    }
    can
}

fn extensions(can: &ServerCapabilities) -> Vec<ExtensionSpec> {
    let has_tasks = can.extensions.as_ref().is_some_and(|all| all.contains_key(TASKS_EXTENSION));
    has_tasks.then(TaskForms::extension).into_iter().collect()
}

/// The instructions of each server under its id, so that no server can speak for another one.
fn instructions(view: &ViewInner, snapshot: &Snapshot) -> Option<String> {
    let approved = snapshot.members.iter().enumerate().filter_map(|(at, member)| {
        let text = member.catalog.instructions()?;
        snapshot.approves_instructions(at).then_some((member, text))
    });
    let approved: Vec<_> = approved.collect();
    if let [(_, only)] = &approved[..]
        && !view.shows_ids()
    {
        return Some(only.to_string());
    }
    let mut out = String::new();
    for (member, text) in approved {
        let text = truncated(text, INSTRUCTIONS).replace("</server", "<\\/server");
        let _ = write!(out, "<server id=\"{}\">\n{text}\n</server>\n", member.id());
    }
    (!out.is_empty()).then(|| truncated(&out, ALL_INSTRUCTIONS).to_owned())
}

fn truncated(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
