//! `couplet gateway check`: a configuration without serving it.

use std::{fmt::Write, sync::Arc};

use couplet_gateway::{Config, Inspected, PinFile, Unapproved, inspect};
use couplet_host::names::Kind;
use serde_json::json;

use super::{ConfigArgs, here, load};
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
};

/// The arguments of `couplet gateway check`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Start the servers and count what they offer, too
    #[arg(long)]
    connect: bool,
}

pub(super) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let env = here()?;
    let config = load(args.config.config, &env, output)?;
    if !args.connect {
        return output.print(&written(&config, output));
    }
    let _ = couplet::stdio::children::guard();
    let lock = PinFile::new(config.lock_path()).read()?;
    let found = inspect(&config, &env, &lock, |_| Some(Unapproved::Leave)).await;
    output.print(&offered(&found, output)?)?;
    let failed = found.iter().filter(|server| server.seen.is_err()).count();
    if failed == 0 {
        return Ok(());
    }
    Err(Failure::new(Exit::Unreachable, format!("{} not available", text::count(failed, "server is", "servers are"))))
}

/// The servers as they are configured.
fn written(config: &Config, output: &Output) -> String {
    if output.json {
        let server = |server: &couplet_gateway::config::Server| json!({ "key": server.key, "id": server.id, "launch": server.launch.lines() });
        let servers: Vec<_> = config.servers.iter().map(server).collect();
        let profiles: Vec<_> = config.profiles.keys().collect();
        return format!("{}\n", json!({ "servers": servers, "disabled": config.disabled, "profiles": profiles }));
    }
    let mut page = String::new();
    for server in &config.servers {
        let _ = writeln!(page, "{}", output.out.name(text::line(&server.key)));
        for line in server.launch.lines() {
            let _ = writeln!(page, "  {}", text::line(line));
        }
    }
    for key in &config.disabled {
        let _ = writeln!(page, "{} {}", output.out.name(text::line(key)), output.out.faint("disabled"));
    }
    let servers = text::count(config.servers.len(), "server", "servers");
    let profiles = match config.profiles.len() {
        0 => String::new(),
        number => format!(", {}", text::count(number, "profile", "profiles")),
    };
    let _ = writeln!(page, "{} {servers}{profiles}", output.out.good("valid:"));
    page
}

/// The servers with what they offer.
fn offered(found: &[Inspected], output: &Output) -> Result<String, Failure> {
    let mut page = String::new();
    let width = found.iter().map(|one| text::width(&text::line(&one.server.key))).max().unwrap_or(0);
    for one in found {
        let count = |kind| one.seen.iter().flatten().filter(|seen| seen.kind == kind).count();
        let (tools, prompts) = (count(Kind::Tool), count(Kind::Prompt));
        let resources = count(Kind::Resource) + count(Kind::Template);
        if output.json {
            let error = one.seen.as_ref().err();
            let line = json!({
                "server": one.server.key, "id": one.server.id,
                "tools": tools, "prompts": prompts, "resources": resources, "error": error,
            });
            let _ = writeln!(page, "{line}");
            continue;
        }
        let name = output.out.name(text::pad(&text::line(&one.server.key), width));
        let _ = match &one.seen {
            Ok(_) => writeln!(
                page,
                "{name}  {}, {}, {}",
                text::count(tools, "tool", "tools"),
                text::count(prompts, "prompt", "prompts"),
                text::count(resources, "resource", "resources"),
            ),
            Err(why) => {
                writeln!(page, "{name}  {}", output.out.error(text::visible(why).replace('\n', "\n    ")))
            }
        };
    }
    Ok(page)
}
