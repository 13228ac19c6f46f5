//! What a command is about: a server at an address, one to be started, or one that a host on this machine knows.

mod file;
mod heard;
mod known;
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

pub(crate) use file::expanded;
pub(crate) use heard::Heard;
pub(crate) use known::{Known, environment};
pub(crate) use login::{LoginWay, oauth, state_folder};
pub(crate) use place::{Place, Target, is_place};
pub(crate) use recorder::Recorder;
pub(crate) use session::{Opening, Session, builder};
pub(crate) use stop::{Stop, end_children, or_interrupted, overdue};
pub(crate) use tls::TlsArgs;

/// TARGET and how to reach it.
#[derive(Args, Clone, Debug)]
pub(crate) struct TargetArgs {
    /// A URL, a command in one argument, a file (server.py, mcp.json), or the name of a server that a host has configured
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

/// How to reach a server, whatever it is.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConnectionArgs {
    /// Speaks this revision of the protocol and no other
    #[arg(long, help_heading = "Connection", value_name = "DATE", value_parser = revisions())]
    pub(crate) revision: Option<ProtocolVersion>,
    /// How many seconds to wait for the connection, for an answer, or for progress; 0 is for ever
    #[arg(long, help_heading = "Connection", value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Patience,
    /// How many seconds the whole command may take; without it, there is no limit
    #[arg(long, help_heading = "Connection", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) max_time: Option<Patience>,
    /// The size of one message: 16M by default; K, M and G are for 1024
    #[arg(long, help_heading = "Connection", value_name = "BYTES", value_parser = couplet_serve::bytes)]
    pub(crate) max_message: Option<usize>,
    /// Sends a header with every request to a URL
    #[arg(short = 'H', long, help_heading = "Connection", value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) header: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Sets a variable in the environment of a command; KEY alone takes the value that it has here
    #[arg(short, long, help_heading = "Connection", value_name = "KEY[=VALUE]", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    /// The folder to start a command in
    #[arg(long, help_heading = "Connection", value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A folder that the server may ask about (roots)
    #[arg(long, help_heading = "Connection", value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
}

impl Default for ConnectionArgs {
    fn default() -> Self {
        Self {
            revision: None,
            timeout: Patience(Some(Duration::from_secs(60))),
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

/// How long to wait; `None` is for ever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience(pub(crate) Option<Duration>);

impl ConnectionArgs {
    /// The limits of the connection.
    pub(crate) fn limits(&self) -> Limits {
        match self.max_message {
            Some(bytes) => Limits::default().max_message(bytes),
            None => Limits::default(),
        }
    }
}

impl TargetArgs {
    /// Finds out what TARGET is.
    pub(crate) fn find(&self) -> Result<Target, Failure> {
        Target::find(&self.target, &self.connection, Known::here)
    }
}

fn revisions() -> impl TypedValueParser<Value = ProtocolVersion> {
    PossibleValuesParser::new(ProtocolVersion::ALL.iter().copied().map(ProtocolVersion::as_str))
        .try_map(|text| text.parse::<ProtocolVersion>())
}

/// A number of seconds; 0 is for ever.
pub(crate) fn seconds(text: &str) -> Result<Patience, String> {
    let seconds = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    let time = Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())?;
    Ok(Patience((!time.is_zero()).then_some(time)))
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as `Name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// `KEY=VALUE`, or `KEY` for one that is set here.
fn variable(text: &str) -> Result<(String, String), String> {
    if text.contains('=') {
        return pair(text);
    }
    match env::var(text) {
        Ok(value) => Ok((text.to_owned(), value)),
        Err(_) => Err(format!("`{text}` is not set here; write it as `{text}=VALUE`")),
    }
}

/// `KEY=VALUE`.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write it as `KEY=VALUE`".to_owned()),
    }
}
