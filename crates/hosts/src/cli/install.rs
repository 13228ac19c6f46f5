//! `couplet install`.

use std::{io::Write, path::PathBuf};

use super::{Out, Planned, Plans, Selection, WriteOptions, prepare::Asked};
use crate::{Config, Env, Error, Host, Hosts, Overwrite, Scope};

/// Adds a server to the configuration of hosts.
#[derive(Clone, Debug, clap::Args)]
pub struct InstallArgs {
    /// A URL, or a command in one argument: "node server.js"
    pub target: String,
    /// Arguments of the command, passed unchanged
    #[arg(last = true)]
    pub args: Vec<String>,
    /// The name of the server in the hosts (default: derived from the command or URL)
    #[arg(short, long)]
    pub name: Option<String>,
    /// Which hosts.
    #[command(flatten)]
    pub selection: Selection,
    /// The scope: user, project (a file in this folder), or local (this user in this folder)
    #[arg(long, default_value = "user")]
    pub scope: Scope,
    /// An environment variable of the server; without a value, the host passes on its own
    #[arg(short, long = "env", value_name = "KEY=VALUE")]
    pub env: Vec<String>,
    /// A file with variables, one KEY=VALUE on each line
    #[arg(short = 'f', long = "env-file", value_name = "FILE")]
    pub env_file: Vec<PathBuf>,
    /// A header for a server at a URL; ${NAME} refers to a variable of the host
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// Use HTTP+SSE, the deprecated transport, for the URL
    #[arg(long)]
    pub sse: bool,
    /// The working folder of the server
    #[arg(long, value_name = "FOLDER")]
    pub cwd: Option<PathBuf>,
    /// How.
    #[command(flatten)]
    pub options: WriteOptions,
    /// Write JSON.
    #[arg(skip)]
    pub json: bool,
}

/// Adds a server to hosts. If one of the named hosts cannot be changed, no file is written; with `--all`, each host is
/// changed independently of the others.
///
/// # Errors
/// If the arguments are invalid, or a file cannot be changed; see [`ErrorKind`](crate::ErrorKind).
pub fn install(args: &InstallArgs, env: &Env, out: &mut dyn Write) -> Result<(), Error> {
    let hosts = Hosts::load(env)?;
    let asked = Asked::new(args, env)?;
    let mut plans = Plans::new(&args.selection);
    for host in args.selection.required(env, &hosts, args.scope)? {
        plans.push(host, plan(args, env, host, &asked))?;
    }
    plans.carry_out(env, &args.options, args.json, &mut Out(out))
}

fn plan<'a>(args: &'a InstallArgs, env: &'a Env, host: &'a Host, asked: &'a Asked) -> Result<Planned<'a>, Error> {
    let config = Config::read(host, host.place(env, args.scope)?)?;
    let (entry, mut notes) = asked.for_host(env, host, args.scope);
    let overwrite = if args.options.force { Overwrite::Yes } else { Overwrite::No };
    let change = config.add(&asked.name, &entry, overwrite)?;
    notes.extend(change.notes().iter().cloned());
    let verb = if config.server(&asked.name).is_some() { "replaced" } else { "added" };
    let what = format!("{verb} `{}` ({})", asked.name, args.scope);
    let again = Box::new(move || plan(args, env, host, asked));
    Ok(Planned { host, scope: args.scope, change, what, notes, next: host.next_step(), again })
}
