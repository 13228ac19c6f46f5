//! The server that a command connects to: at a URL, as a command, in a file, or configured in a host.

mod diagnostics;
mod file;
mod known;
mod locked;
mod login;
mod observed;
mod place;
mod recorder;
mod session;
mod stop;
mod tls;

use std::{env, path::PathBuf, time::Duration};

use clap::{Args, builder::PossibleValuesParser, builder::TypedValueParser};
use couplet::{ProtocolVersion, core::Limits};

use crate::exit::Failure;

pub(crate) use diagnostics::Diagnostics;
pub(crate) use file::expanded;
pub(crate) use known::{Known, environment};
pub(crate) use locked::{LOCK, LockArgs, definitions, guarded};
pub(crate) use login::{LoginWay, logins, oauth, state_folder};
pub(crate) use place::{Place, Target, is_place};
pub(crate) use recorder::Recorder;
pub(crate) use session::{Opening, Session, builder, program};
pub(crate) use stop::{Stop, end_children, or_interrupted, overdue};
pub(crate) use tls::TlsArgs;

/// TARGET and the connection options.
#[derive(Args, Clone, Debug)]
pub(crate) struct TargetArgs {
    /// URL, command (as one argument), file (server.py, mcp.json), or name of a configured server
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

/// The connection options.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConnectionArgs {
    /// Use this protocol revision only
    #[arg(long, help_heading = "Connection", value_name = "DATE", value_parser = revisions())]
    pub(crate) revision: Option<ProtocolVersion>,
    /// Timeout for connecting and for each response, reset by progress; 0 disables it
    #[arg(long, help_heading = "Connection", value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Timeout,
    /// Deadline for the whole command (default: none)
    #[arg(long, help_heading = "Connection", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) max_time: Option<Timeout>,
    /// Maximum size of a message, such as 512K or 64M (default: 16M)
    #[arg(long, help_heading = "Connection", value_name = "BYTES", value_parser = couplet_serve::bytes)]
    pub(crate) max_message: Option<usize>,
    /// Add an HTTP header to every request (URLs only)
    #[arg(short = 'H', long, help_heading = "Connection", value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) header: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Set an environment variable (commands only); KEY alone passes on its current value
    #[arg(short, long, help_heading = "Connection", value_name = "KEY[=VALUE]", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    /// Working directory (commands only)
    #[arg(long, help_heading = "Connection", value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Directory to offer to the server as a root
    #[arg(long, help_heading = "Connection", value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
}

impl Default for ConnectionArgs {
    fn default() -> Self {
        Self {
            revision: None,
            timeout: Timeout(Some(Duration::from_secs(60))),
            max_time: None,
            max_message: None,
            header: Vec::new(),
            tls: TlsArgs::default(),
            env: Vec::new(),
            cwd: None,
            root: Vec::new(),
        }
    }
}

/// A timeout; `None` is unlimited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeout(pub(crate) Option<Duration>);

impl ConnectionArgs {
    /// Returns the limits of the connection.
    pub(crate) fn limits(&self) -> Limits {
        match self.max_message {
            Some(bytes) => Limits::default().max_message(bytes),
            None => Limits::default(),
        }
    }
}

impl TargetArgs {
    /// Resolves TARGET.
    pub(crate) fn find(&self) -> Result<Target, Failure> {
        Target::find(&self.target, &self.connection, Known::here)
    }
}

fn revisions() -> impl TypedValueParser<Value = ProtocolVersion> {
    PossibleValuesParser::new(ProtocolVersion::ALL.iter().copied().map(ProtocolVersion::as_str))
        .try_map(|text| text.parse::<ProtocolVersion>())
}

/// Parses a number of seconds; 0 is unlimited.
pub(crate) fn seconds(text: &str) -> Result<Timeout, String> {
    let seconds = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    let time = Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())?;
    Ok(Timeout((!time.is_zero()).then_some(time)))
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("expected `NAME: VALUE`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Parses `KEY=VALUE`, or `KEY` of a variable that is set in this environment.
fn variable(text: &str) -> Result<(String, String), String> {
    if text.contains('=') {
        return pair(text);
    }
    match env::var(text) {
        Ok(value) => Ok((text.to_owned(), value)),
        Err(_) => Err(format!("`{text}` is not set in this environment; use `{text}=VALUE`")),
    }
}

/// Parses `KEY=VALUE`.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected `KEY=VALUE`".to_owned()),
    }
}
