//! `couplet pack`: builds a bundle, with the server's own list of tools.

use std::sync::Arc;

use couplet_bundle::{
    Surface,
    cli::{PackArgs, pack_with},
};

use super::written;
use crate::{
    command::wait,
    exit::Failure,
    output::Output,
    target::{ConnectionArgs, Opening, Session, TargetArgs},
};

/// The arguments of `couplet pack`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    pack: PackArgs,
    /// List the tools of this server in the generated manifest: a URL, command or name
    #[arg(long, value_name = "TARGET", requires = "binary")]
    ask: Option<String>,
}

pub(crate) fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let surface = match args.ask {
        Some(target) => wait(ask(target, output))?,
        None => Surface::default(),
    };
    written::bundle(output, |here, json, out| pack_with(&PackArgs { json, ..args.pack }, here, &surface, out))
}

async fn ask(target: String, output: &Arc<Output>) -> Result<Surface, Failure> {
    let target = TargetArgs { target, connection: ConnectionArgs::default() };
    Session::with(Opening::of(&target)?, output, async |session: &Session| {
        let tools = session.client.tools().await?;
        Ok(Surface::new(tools.into_iter().map(|tool| (tool.name, tool.description))))
    })
    .await
}
