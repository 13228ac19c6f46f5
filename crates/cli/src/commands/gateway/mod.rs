//! `couplet gateway`: many servers as one, from a configuration file.

mod approve;
mod audit;
mod check;
mod consent;
mod explain;
mod grants;
mod pins;
mod running;
mod serve;
mod status;
mod trust;

use std::{path::PathBuf, sync::Arc};

use clap::Subcommand;
use couplet_gateway::Config;
use couplet_hosts::Env;
use couplet_serve::{SiteArgs, SocketArgs, StateKeyArgs};

use crate::{
    exit::{Exit, Failure},
    help,
    output::{Output, text},
    target::environment,
    threads::ThreadArgs,
};

/// The arguments of `couplet gateway`.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<GatewayCommand>,
    #[command(flatten)]
    serve: ServeArgs,
}

/// A subcommand of `couplet gateway`.
#[derive(Debug, Subcommand)]
enum GatewayCommand {
    /// Check a configuration
    Check(check::Args),
    /// Compare servers with the lock file, or approve what they offer
    #[command(after_help = help::GATEWAY_PINS)]
    Pins(pins::Args),
    /// Show the servers of running gateways: states, restarts, latencies
    Status(status::Args),
    /// Answer calls that wait for consent on this machine
    #[command(after_help = help::GATEWAY_CONSENT)]
    Consent(consent::Args),
    /// List stored answers of running gateways, or revoke one
    #[command(after_help = help::GATEWAY_GRANTS)]
    Grants(grants::Args),
    /// Say why a tool is missing, denied or asked about
    Explain(explain::Args),
    /// Approve the configuration file of a project
    Trust(trust::Args),
    /// Check that audit files are complete and unchanged
    Audit(audit::Args),
    /// Print the JSON Schema of the configuration
    Schema,
}

/// The arguments for serving.
#[derive(clap::Args, Debug)]
struct ServeArgs {
    /// Configuration (JSON with comments, TOML or YAML), or a host's own file
    /// (default: gateway.json in the configuration folder of couplet)
    config: Option<PathBuf>,
    /// Serve this profile at the main endpoint
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Serve on stdio, even if the configuration has an address
    #[arg(long, conflicts_with = "http")]
    stdio: bool,
    /// Add the servers of a project's file, if it is approved
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = ".mcp.json")]
    project: Vec<PathBuf>,
    /// Accept connections from other machines: a reverse proxy in front
    /// authenticates callers and adds TLS
    #[arg(long, help_heading = "HTTP")]
    behind_proxy: bool,
    #[command(flatten)]
    key: StateKeyArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    socket: SocketArgs,
    #[command(flatten)]
    site: SiteArgs,
}

/// A configuration on the command line.
#[derive(clap::Args, Clone, Debug)]
struct ConfigArgs {
    /// Configuration (default: gateway.json in the configuration folder of
    /// couplet)
    config: Option<PathBuf>,
}

impl Args {
    /// Whether the command serves over HTTP. The configuration may say so, too.
    pub(crate) fn serves(&self) -> bool {
        self.command.is_none() && self.serve.socket.is_http()
    }
}

impl Args {
    /// Whether the command starts servers to look at them.
    pub(crate) fn inspects(&self) -> bool {
        self.command.is_some()
    }
}

pub(crate) fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    use crate::command::wait;
    // Servers inherit no file that this program was started with.
    #[cfg(unix)]
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
    match args.command {
        None => args.serve.threads.run_to_end(serve::run(args.serve, output)),
        Some(GatewayCommand::Check(args)) => wait(check::run(args, output)),
        Some(GatewayCommand::Pins(args)) => wait(pins::run(args, output)),
        Some(GatewayCommand::Status(args)) => status::run(&args, output),
        Some(GatewayCommand::Consent(args)) => wait(consent::run(args, output)),
        Some(GatewayCommand::Grants(args)) => grants::run(&args, output),
        Some(GatewayCommand::Explain(args)) => wait(explain::run(args, output)),
        Some(GatewayCommand::Trust(args)) => trust::run(&args, output),
        Some(GatewayCommand::Audit(args)) => audit::run(&args, output),
        Some(GatewayCommand::Schema) => {
            let schema = serde_json::to_string_pretty(&couplet_gateway::schema());
            output.print(&format!("{}\n", schema.map_err(|e| Failure::new(Exit::File, e.to_string()))?))
        }
    }
}

/// Loads a configuration, and warns about members that are ignored.
fn load(path: Option<PathBuf>, env: &Env, output: &Output) -> Result<Config, Failure> {
    let path = match path {
        Some(path) => PathBuf::from(crate::target::expanded(&path.to_string_lossy())),
        None => default_config(env)?,
    };
    let config = Config::load(&path, env)?;
    for note in &config.notes {
        output.warn(&text::line(note));
    }
    Ok(config)
}

/// Returns the first of the default files that exists.
fn default_config(env: &Env) -> Result<PathBuf, Failure> {
    let folder = match env.var("XDG_CONFIG_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => env.home().join(".config"),
    };
    let names = ["gateway.json", "gateway.jsonc", "gateway.toml", "gateway.yaml", "gateway.yml"];
    let paths: Vec<_> = names.iter().map(|name| folder.join("couplet").join(name)).collect();
    paths.iter().find(|path| path.exists()).cloned().ok_or_else(|| {
        Failure::usage(format!("there is no configuration `{}`", env.display_path(&paths[0])))
            .hint("name one: `couplet gateway FILE`; the file of a host, such as ~/.cursor/mcp.json, will do")
    })
}

fn here() -> Result<Env, Failure> {
    environment()
}
