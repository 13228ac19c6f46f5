//! The lists of servers, as they were last seen: a file for each, below the state directory.
//!
//! A server is asked again only over HTTP, on this machine or where it was used before. Nothing is ever started.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use couplet::{
    core::clock::unix_seconds,
    types::{CompletionReference, Prompt, Resource, ResourceTemplate, Tool},
};
use couplet_host::pins::Digest;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    command::run_to_end,
    commands::list::Offer,
    exit::Failure,
    output::{Output, text},
    target::{ConnectionArgs, Opening, Place, Session, Target, Timeout, state_folder},
};

/// The number of servers whose lists are stored.
const SERVERS: usize = 64;
/// The size of a file; longer lists are not stored.
const BYTES: usize = 1 << 20;
/// The age after which lists are not used, in seconds.
const OLD: u64 = 30 * 24 * 3600;
/// The age up to which a server is not asked again, in seconds.
const FRESH: u64 = 60;

/// The time that a completion may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(Instant);

impl Deadline {
    pub(super) fn new() -> Self {
        Self(Instant::now() + Duration::from_secs(1))
    }

    fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

/// The lists in a file.
#[derive(Default, Serialize, Deserialize)]
struct Stored {
    seconds: u64,
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    prompts: Vec<Prompt>,
}

/// Stores tools, which a command has just received. A failure is ignored: completion is a convenience.
pub(crate) fn remember_tools(target: &Target, tools: &[Tool]) {
    remember(target, |stored| stored.tools = slim_tools(tools));
}

/// Stores prompts.
pub(crate) fn remember_prompts(target: &Target, prompts: &[Prompt]) {
    remember(target, |stored| stored.prompts = slim_prompts(prompts));
}

/// Stores the lists that were requested: all of them, one kind, or tools and prompts for a name.
pub(crate) fn remember_offer(target: &Target, offer: &Offer, what: Option<&str>) {
    let has = |kind: &str| match what {
        None => true,
        Some(one @ ("tools" | "resources" | "prompts")) => one == kind,
        Some(_) => kind != "resources",
    };
    remember(target, |stored| {
        if has("tools") {
            stored.tools = slim_tools(&offer.tools);
        }
        if has("prompts") {
            stored.prompts = slim_prompts(&offer.prompts);
        }
        if has("resources") {
            stored.resources = slim_resources(&offer.resources);
            stored.templates = slim_templates(&offer.templates);
        }
    });
}

/// Returns the lists of a server, if they are known or can be asked for.
pub(super) fn of(target: &Target, deadline: Deadline) -> Option<Offer> {
    let stored = folder().and_then(|folder| load(&path(&folder, target)));
    let age = stored.as_ref().map(|stored| unix_seconds().saturating_sub(stored.seconds));
    if age.is_none_or(|age| age > FRESH) && may_ask(target, stored.is_some()) {
        let asked = ask(target, deadline, async |session| Offer::of(session, None).await);
        if let Ok(offer) = asked {
            remember_offer(target, &offer, None);
            return Some(offer);
        }
    }
    let Stored { tools, resources, templates, prompts, .. } = stored.filter(|_| age.is_some_and(|age| age < OLD))?;
    Some(Offer { tools, resources, templates, prompts, failed: Vec::new() })
}

/// Asks a server for the values of an argument, if it may be asked.
pub(super) fn values(
    target: &Target,
    of: CompletionReference,
    argument: &str,
    typed: &str,
    given: &[&str],
    deadline: Deadline,
) -> Vec<String> {
    let is_known = folder().is_some_and(|folder| load(&path(&folder, target)).is_some());
    if !may_ask(target, is_known) {
        return Vec::new();
    }
    let pair = |word: &&str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let context: Vec<(String, String)> = given.iter().filter_map(pair).collect();
    let asked = ask(target, deadline, async |session| {
        let asked = session.client.complete(of, argument, typed);
        Ok(if context.is_empty() { asked.await?.values } else { asked.context(context).await?.values })
    });
    asked.unwrap_or_default()
}

/// Whether a user expects requests at the press of a key: to this machine, or to a URL that was used before. Headers of
/// a configuration may be secrets, and are left to commands.
fn may_ask(target: &Target, is_known: bool) -> bool {
    match &target.place {
        Place::Url { url, headers, .. } => headers.is_empty() && (is_known || is_loopback(url)),
        Place::Program { .. } => false,
    }
}

fn is_loopback(url: &str) -> bool {
    let authority =
        url.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Connects without a terminal, within the deadline.
fn ask<T>(
    target: &Target,
    deadline: Deadline,
    work: impl AsyncFnOnce(&Session) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let output = Arc::new(Output::silent());
    let time = Timeout(Some(deadline.left()));
    let connection = ConnectionArgs { timeout: time, max_time: Some(time), ..ConnectionArgs::default() };
    run_to_end(Session::with(Opening::to(target.clone(), connection), &output, work))
}

fn remember(target: &Target, change: impl FnOnce(&mut Stored)) {
    let Some(folder) = folder() else { return };
    let path = path(&folder, target);
    let mut stored = load(&path).unwrap_or_default();
    change(&mut stored);
    stored.seconds = unix_seconds();
    let _ = save(&path, &stored).and_then(|()| prune(&folder));
}

fn folder() -> Option<PathBuf> {
    state_folder().map(|folder| folder.join("lists"))
}

/// The file of a server. Its name tells nothing: a URL or a command may have secrets.
fn path(folder: &Path, target: &Target) -> PathBuf {
    let key = match &target.place {
        Place::Url { url, .. } => json!({ "url": url }),
        Place::Program { words, cwd, .. } => {
            let here = std::env::current_dir().unwrap_or_default();
            json!({ "command": words, "cwd": cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd)) })
        }
    };
    let digest = Digest::of(key.to_string()).to_string();
    let name: String = digest.chars().filter(char::is_ascii_alphanumeric).collect();
    folder.join(format!("{name}.json"))
}

fn load(path: &Path) -> Option<Stored> {
    let size = fs::metadata(path).ok()?.len();
    let text = (size <= BYTES as u64).then(|| fs::read(path)).and_then(Result::ok)?;
    serde_json::from_slice(&text).ok()
}

/// Replaces a file, which only the user can read.
fn save(path: &Path, stored: &Stored) -> io::Result<()> {
    let text = serde_json::to_vec(stored)?;
    if text.len() > BYTES {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let write = || {
        io::Write::write_all(&mut options.open(&fresh)?, &text)?;
        fs::rename(&fresh, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&fresh)))
}

/// Removes the oldest files if there are too many.
fn prune(folder: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(folder)?
        .filter_map(|file| file.ok().and_then(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))))
        .collect();
    files.sort();
    let many = files.len().saturating_sub(SERVERS);
    files.iter().take(many).try_for_each(|(_, path)| fs::remove_file(path))
}

fn slim_tools(tools: &[Tool]) -> Vec<Tool> {
    let slim = |tool: &Tool| {
        let mut slim = Tool::new(&tool.name, tool.input_schema.clone());
        slim.description = first_line(tool.description.as_deref());
        slim
    };
    tools.iter().map(slim).collect()
}

fn slim_prompts(prompts: &[Prompt]) -> Vec<Prompt> {
    let slim = |prompt: &Prompt| {
        let mut slim = Prompt::new(&prompt.name);
        slim.description = first_line(prompt.description.as_deref());
        slim.arguments.clone_from(&prompt.arguments);
        slim
    };
    prompts.iter().map(slim).collect()
}

fn slim_resources(resources: &[Resource]) -> Vec<Resource> {
    let slim = |resource: &Resource| {
        let mut slim = Resource::new(&resource.uri, &resource.name);
        slim.description = first_line(resource.description.as_deref());
        slim
    };
    resources.iter().map(slim).collect()
}

fn slim_templates(templates: &[ResourceTemplate]) -> Vec<ResourceTemplate> {
    let slim = |template: &ResourceTemplate| {
        let mut slim = ResourceTemplate::new(&template.uri_template, &template.name);
        slim.description = first_line(template.description.as_deref());
        slim
    };
    templates.iter().map(slim).collect()
}

fn first_line(text: Option<&str>) -> Option<String> {
    text.map(text::first_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(url: &str) -> Target {
        Target::find(url, &ConnectionArgs::default(), || unreachable!("it is a URL")).unwrap()
    }

    #[test]
    fn only_this_machine_and_known_urls_are_asked() {
        for (address, is_known, expected) in [
            ("http://127.0.0.1:7878/mcp", false, true),
            ("http://localhost/mcp", false, true),
            ("http://[::1]:80/mcp", false, true),
            ("https://example.com/mcp", false, false),
            ("https://example.com/mcp", true, true),
            ("https://localhost.example.com/mcp", false, false),
            ("https://localhost@example.com/mcp", false, false),
        ] {
            assert_eq!(may_ask(&url(address), is_known), expected, "{address}");
        }
        let program = Target::find("./server", &ConnectionArgs::default(), || unreachable!("a command")).unwrap();
        assert!(!may_ask(&program, true), "a command is never started");
    }

    #[test]
    fn files_are_few() {
        let folder = std::env::temp_dir().join(format!("couplet-lists-{}", std::process::id()));
        for number in 0..SERVERS + 3 {
            save(&folder.join(format!("{number}.json")), &Stored::default()).unwrap();
            prune(&folder).unwrap();
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), SERVERS);
        assert!(folder.join(format!("{}.json", SERVERS + 2)).exists(), "the newest stay");
        let long = vec![Tool::new("x".repeat(BYTES), couplet::types::RawJson::from_text("{}").unwrap())];
        save(&folder.join("long.json"), &Stored { tools: long, ..Stored::default() }).unwrap();
        assert!(!folder.join("long.json").exists(), "what is too long is not stored");
        fs::remove_dir_all(&folder).unwrap();
    }
}
