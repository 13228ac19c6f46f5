//! Exit codes, which scripts can rely on, and the error type of all commands.

use std::fmt::Write;

use couplet::{
    Error, ErrorKind,
    http::client::{Challenge, ConnectFailure},
    types::RpcError,
};
use couplet_serve::{BindError, Signal};
use serde_json::json;

use crate::output::{Output, Paint, text};

/// The exit code of a failed command. The numbers are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Refused = 1,
    Usage = 2,
    Unreachable = 3,
    Protocol = 4,
    Timeout = 5,
    Unanswered = 6,
    Unauthorized = 7,
    File = 8,
    HungUp = 129,
    Interrupted = 130,
    Terminated = 143,
}

impl Exit {
    /// Whether a signal ended the program.
    pub(crate) fn is_signal(self) -> bool {
        matches!(self, Self::HungUp | Self::Interrupted | Self::Terminated)
    }
}

impl From<Signal> for Exit {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Interrupt => Self::Interrupted,
            Signal::HangUp => Self::HungUp,
            _ => Self::Terminated,
        }
    }
}

/// The codes with their names in JSON and their meanings.
const TABLE: &[(Exit, &str, &str)] = &[
    (Exit::Refused, "refused", "error from the tool or server, or failed check"),
    (Exit::Usage, "usage", "invalid command line: option, argument, tool or server name"),
    (Exit::Unreachable, "unreachable", "server not started, unreachable or gone; address in use"),
    (Exit::Protocol, "protocol", "protocol error, or unsupported revision or feature"),
    (Exit::Timeout, "timeout", "timeout"),
    (Exit::Unanswered, "unanswered", "user input required without a terminal, or declined"),
    (Exit::Unauthorized, "unauthorized", "authentication required"),
    (Exit::File, "file", "local file not readable or writable"),
    (Exit::HungUp, "hung-up", "hangup (SIGHUP)"),
    (Exit::Interrupted, "interrupted", "interrupt (SIGINT, Ctrl-C)"),
    (Exit::Terminated, "terminated", "termination (SIGTERM)"),
];

/// Formats the table for `--help`.
pub(crate) fn help() -> String {
    let mut help = String::from("Exit codes:\n    0  success\n");
    for (code, _, meaning) in TABLE {
        let _ = writeln!(help, "  {:>3}  {meaning}", *code as u8);
    }
    help + JSON
}

/// The output format with `--json`, for `--help`.
const JSON: &str = "
JSON output (--json):
  Standard output has the result on one line. `listen`, `ping`, `lint`, `test`
  and `validate` print a line for each change, response, finding, call or file;
  `schema` and `rdf` print documents. A tool call that failed is a result with
  `isError`, and exits with 1.
  Standard error has a line for an error, with `details`, `hint` and `rpc` if
  available, and a line for each warning:
    {\"error\":{\"exit\":2,\"kind\":\"usage\",\"message\":\"…\"}}
    {\"warning\":\"…\"}";

/// An error that ends the program: the message, further details, and a hint.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    /// More lines, such as the server's standard error.
    pub(crate) details: Vec<String>,
    pub(crate) hint: Option<String>,
    rpc: Option<Box<RpcError>>,
    /// Why the connection failed, if known.
    pub(crate) way: Option<ConnectFailure>,
    /// Nothing is printed: the error was reported already, or standard output is closed.
    silent: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), details: Vec::new(), hint: None, rpc: None, way: None, silent: false }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Exits with a code and prints nothing.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self { silent: true, ..Self::new(exit, "") }
    }

    /// Creates the error for a file that cannot be read or written.
    pub(crate) fn file(path: &std::path::Path, what: &str, error: &std::io::Error) -> Self {
        Self::new(Exit::File, format!("`{}` cannot be {what}: {error}", path.display()))
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert(hint.into());
        self
    }

    pub(crate) fn detail(mut self, line: impl Into<String>) -> Self {
        self.details.push(line.into());
        self
    }

    /// Returns the server's JSON-RPC error, if that is the cause.
    pub(crate) fn rpc(&self) -> Option<&RpcError> {
        self.rpc.as_deref()
    }

    /// Prints the error to standard error and returns the exit code.
    pub(crate) fn report(&self, output: &Output) -> u8 {
        match (self.silent, output.json) {
            (true, _) => {}
            (false, true) => output.complain(&self.to_json()),
            (false, false) => output.complain(&self.to_text(output.err)),
        }
        self.exit as u8
    }

    fn to_json(&self) -> String {
        let name = TABLE.iter().find(|(exit, ..)| *exit == self.exit).map_or("", |(_, name, _)| name);
        let mut error = json!({ "exit": self.exit as u8, "kind": name, "message": self.message });
        if !self.details.is_empty() {
            error["details"] = json!(self.details);
        }
        if let Some(hint) = &self.hint {
            error["hint"] = json!(hint);
        }
        if let Some(rpc) = &self.rpc {
            error["rpc"] = json!(rpc);
        }
        json!({ "error": error }).to_string()
    }

    fn to_text(&self, paint: Paint) -> String {
        let mut text = format!("{} {}", paint.error("error:"), text::visible(&self.message));
        for line in &self.details {
            let _ = write!(text, "\n  {}", text::visible(line).replace('\n', "\n  "));
        }
        if let Some(hint) = &self.hint {
            let _ = write!(text, "\n{} {}", paint.strong("hint:"), text::visible(hint));
        }
        text
    }
}

/// The start of the message for a JSON-RPC error. The method is inserted after it where it is known.
pub(crate) const SERVER_ERROR: &str = "the server returned an error";

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match error.kind() {
            ErrorKind::Rpc | ErrorKind::Tool => Exit::Refused,
            ErrorKind::Timeout => Exit::Timeout,
            ErrorKind::Closed | ErrorKind::Transport => Exit::Unreachable,
            ErrorKind::Auth => Exit::Unauthorized,
            ErrorKind::Config => Exit::Usage,
            ErrorKind::Callback => Exit::Unanswered,
            _ => Exit::Protocol,
        };
        if let Some(rpc) = error.rpc() {
            let message = format!("{SERVER_ERROR}: {} ({})", rpc.message, rpc.code);
            let failure = Self { rpc: Some(Box::new(rpc.clone())), ..Self::new(exit, message) };
            return match advice(exit, &failure, None) {
                Some(hint) => failure.hint(hint),
                None => failure,
            };
        }
        let failure = Self { way: ConnectFailure::of(&error), ..Self::new(exit, with_cause(&error)) };
        match advice(exit, &failure, Challenge::of(&error)) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// Returns the hint for an error of the library.
fn advice(exit: Exit, failure: &Failure, challenge: Option<&Challenge>) -> Option<&'static str> {
    let says = |words: &[&str]| words.iter().any(|word| failure.message.contains(word));
    Some(match (exit, failure.way) {
        (_, Some(ConnectFailure::UnknownAuthority)) => {
            "trust its certificate authority with --cacert FILE, or skip verification with --insecure"
        }
        (_, Some(ConnectFailure::ClientCertificate)) => "present a client certificate with --cert FILE --key FILE",
        (_, Some(ConnectFailure::Proxy)) => {
            "HTTPS_PROXY, HTTP_PROXY and ALL_PROXY set the proxy; NO_PROXY lists hosts to connect to directly"
        }
        (_, Some(ConnectFailure::WrongName | ConnectFailure::Expired | ConnectFailure::BadCertificate)) => {
            "skip certificate verification with --insecure"
        }
        _ if says(&["; a message may have "]) => "raise the limit, for example with --max-message 64M",
        (Exit::Unauthorized, _) if challenge.is_some_and(|challenge| !challenge.wants_login()) => {
            if !says(&["host name"]) {
                return None;
            }
            "use a host name that the server allows; Couplet's servers allow more with --allow-host"
        }
        (Exit::Unauthorized, _) if says(&["plain `http://`"]) => return None,
        (Exit::Unauthorized, _) => {
            "run `couplet login URL` in a terminal, or pass --header \"Authorization: Bearer …\""
        }
        (Exit::Unreachable, _) if says(&["cannot be reached"]) => "check the address, and that the server is running",
        (Exit::Unreachable, _) if says(&["with the status", "at this address"]) => {
            "use the URL of an MCP endpoint, such as https://example.com/mcp"
        }
        _ => return None,
    })
}

impl From<BindError> for Failure {
    fn from(error: BindError) -> Self {
        Self::new(Exit::Unreachable, error.to_string()).hint(error.hint())
    }
}

impl From<couplet_gateway::Error> for Failure {
    fn from(error: couplet_gateway::Error) -> Self {
        use couplet_gateway::ErrorKind as Kind;
        let exit = match error.kind() {
            Kind::Config | Kind::Io => Exit::File,
            Kind::Unreachable => Exit::Unreachable,
            _ => Exit::Usage,
        };
        Self { hint: error.hint().map(str::to_owned), ..Self::new(exit, error.to_string()) }
    }
}

impl From<couplet_hosts::Error> for Failure {
    fn from(error: couplet_hosts::Error) -> Self {
        use couplet_hosts::ErrorKind as Kind;
        let exit = match error.kind() {
            Kind::Findings => Exit::Refused,
            Kind::Broken | Kind::Conflict | Kind::Io => Exit::File,
            _ => Exit::Usage,
        };
        Self { hint: error.hint().map(str::to_owned), ..Self::new(exit, error.to_string()) }
    }
}

impl From<couplet_bundle::Error> for Failure {
    fn from(error: couplet_bundle::Error) -> Self {
        use couplet_bundle::ErrorKind as Kind;
        let exit = match error.kind() {
            Kind::Findings => Exit::Refused,
            Kind::Broken | Kind::Io => Exit::File,
            _ => Exit::Usage,
        };
        Self { hint: error.hint().map(str::to_owned), ..Self::new(exit, error.to_string()) }
    }
}

impl From<couplet_vocab::cli::Failure> for Failure {
    fn from(error: couplet_vocab::cli::Failure) -> Self {
        let exit = match () {
            () if error.is_closed() => return Self::silent(Exit::Refused),
            () if error.is_file() => Exit::File,
            () if error.is_usage() => Exit::Usage,
            () => Exit::Refused,
        };
        Self { hint: error.hint().map(str::to_owned), ..Self::new(exit, error.to_string()) }
    }
}

/// Formats an error with its root cause, if that adds anything, and with the proxy, if that failed.
fn with_cause(error: &Error) -> String {
    let mut message = without_api(&error.to_string());
    let mut sources = Vec::new();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        sources.push(without_api(&error.to_string()));
        source = error.source();
    }
    let root = sources.pop().filter(|_| !message.ends_with('?'));
    let proxy = sources.into_iter().find(|source| source.starts_with("the proxy `"));
    for more in proxy.into_iter().chain(root) {
        if !message.contains(&more) {
            let _ = write!(message, ": {more}");
        }
    }
    message
}

/// Settings of the Rust API that library messages name.
const SETTINGS: [&str; 2] = ["timeout", "max_timeout"];

/// Removes the clauses of a library message that start with a function or setting of the Rust API: users have flags.
fn without_api(message: &str) -> String {
    let is_api = |clause: &&str| {
        let name = clause.strip_prefix('`').and_then(|rest| rest.split('`').next()).unwrap_or_default();
        SETTINGS.contains(&name) || name.contains("::")
    };
    let mut clauses = message.split("; ");
    let first = clauses.next().into_iter();
    first.chain(clauses.filter(|clause| !is_api(clause))).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_do_not_name_functions() {
        for (said, expected) in [
            ("no answer within 1s; `timeout` sets how long to wait", "no answer within 1s"),
            ("no answer within 1s; `max_timeout` is the limit; it may be lost", "no answer within 1s; it may be lost"),
            ("no token; `OAuth::new` gets one", "no token"),
            ("`OAuth::new` is named; `a` stays", "`OAuth::new` is named; `a` stays"),
        ] {
            let failure: Failure = Error::new(ErrorKind::Timeout, said).into();
            assert_eq!(failure.message, expected);
        }
    }

    #[test]
    fn the_documentation_has_every_code() {
        let documentation = include_str!("lib.rs");
        for (code, name, meaning) in TABLE {
            let row = format!("//! | {} | `{name}` | {meaning} |", *code as u8);
            assert!(documentation.contains(&row), "{row}");
        }
    }
}
