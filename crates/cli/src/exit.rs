//! How the program ends: exit codes that scripts can rely on, and the one type of failure.

use std::fmt::Write;

use couplet::{
    Error, ErrorKind,
    http::client::{Challenge, ConnectFailure},
    types::RpcError,
};
use couplet_serve::{BindError, Caught};
use serde_json::json;

use crate::output::{Output, Paint, text};

/// Why the program failed, as an exit code. The numbers are promised.
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

impl From<Caught> for Exit {
    fn from(signal: Caught) -> Self {
        match signal {
            Caught::Interrupt => Self::Interrupted,
            Caught::Terminate => Self::Terminated,
            Caught::HangUp => Self::HungUp,
        }
    }
}

/// Every code, its name in JSON, and what it means.
const TABLE: &[(Exit, &str, &str)] = &[
    (Exit::Refused, "refused", "the tool or the server answered with an error, or a check found something wrong"),
    (Exit::Usage, "usage", "the command line is wrong: an option, a tool, an argument, the name of a server"),
    (
        Exit::Unreachable,
        "unreachable",
        "a server cannot be started or reached, or is gone; an address cannot be listened at",
    ),
    (Exit::Protocol, "protocol", "the other side does not speak the protocol, or not what was asked for"),
    (Exit::Timeout, "timeout", "no answer came in time"),
    (Exit::Unanswered, "unanswered", "a question needs a person, and there is no terminal, or they refused"),
    (Exit::Unauthorized, "unauthorized", "the server wants to know who asks"),
    (Exit::File, "file", "a file here cannot be read or written"),
    (Exit::HungUp, "hung-up", "SIGHUP: the terminal is gone"),
    (Exit::Interrupted, "interrupted", "Ctrl-C (SIGINT)"),
    (Exit::Terminated, "terminated", "SIGTERM"),
];

/// The table, for `--help`.
pub(crate) fn help() -> String {
    let mut help = String::from("Exit codes:\n    0  all went well\n");
    for (code, _, meaning) in TABLE {
        let _ = writeln!(help, "  {:>3}  {meaning}", *code as u8);
    }
    help + JSON
}

/// What `--json` prints, for `--help`.
const JSON: &str = "
With --json:
  standard output   The result on one line. `listen`, `ping`, `lint` and `validate` print a line for
                    each change, answer, finding or file; `schema` and `rdf` print documents. The
                    result of a tool that failed is a result: it has `isError`, and the exit code is 1.
  standard error    A failure is one line: {\"error\":{\"exit\":2,\"kind\":\"usage\",\"message\":\"…\"}}, with
                    `details`, `hint` and `rpc` where there are any; a warning is {\"warning\":\"…\"}.";

/// Something that ends the program: what happened, what else is known about it, and what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    /// More lines, such as the last words of a server.
    pub(crate) details: Vec<String>,
    pub(crate) hint: Option<String>,
    rpc: Option<Box<RpcError>>,
    /// Why a server could not be reached, where that is known.
    pub(crate) way: Option<ConnectFailure>,
    /// It is told already, or nobody is there to be told.
    silent: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), details: Vec::new(), hint: None, rpc: None, way: None, silent: false }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Ends the program with a code and without a word.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self { silent: true, ..Self::new(exit, "") }
    }

    /// A file that cannot be read or written.
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

    /// What the server reported, if that is what failed.
    pub(crate) fn rpc(&self) -> Option<&RpcError> {
        self.rpc.as_deref()
    }

    /// Tells of the failure, and gives the code to exit with.
    pub(crate) fn tell(&self, output: &Output) -> u8 {
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
            let message = format!("the server answered: {} ({})", rpc.message, rpc.code);
            let failure = Self { rpc: Some(Box::new(rpc.clone())), ..Self::new(exit, message) };
            return match way_out(exit, &failure, None) {
                Some(hint) => failure.hint(hint),
                None => failure,
            };
        }
        let failure = Self { way: ConnectFailure::of(&error), ..Self::new(exit, told(&error)) };
        match way_out(exit, &failure, Challenge::of(&error)) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// What to do about a failure.
fn way_out(exit: Exit, failure: &Failure, challenge: Option<&Challenge>) -> Option<&'static str> {
    let says = |words: &[&str]| words.iter().any(|word| failure.message.contains(word));
    Some(match (exit, failure.way) {
        (_, Some(ConnectFailure::UnknownAuthority)) => {
            "--cacert FILE trusts the authority in a file; --insecure checks nothing"
        }
        (_, Some(ConnectFailure::ClientCertificate)) => "--cert FILE --key FILE show it a certificate",
        (_, Some(ConnectFailure::Proxy)) => {
            "the variables HTTPS_PROXY, HTTP_PROXY and ALL_PROXY name proxies; NO_PROXY lists hosts that need none"
        }
        (_, Some(ConnectFailure::WrongName | ConnectFailure::Expired | ConnectFailure::BadCertificate)) => {
            "--insecure connects all the same, without any check"
        }
        _ if says(&["; a message may have "]) => "--max-message 64M allows larger messages",
        (Exit::Unauthorized, _) if challenge.is_some_and(|challenge| !challenge.wants_login()) => {
            if !says(&["host name"]) {
                return None;
            }
            "use a name that the server serves; one of Couplet's takes more names with --allow-host"
        }
        (Exit::Unauthorized, _) if says(&["plain `http://`"]) => return None,
        (Exit::Unauthorized, _) => {
            "log in with `couplet login URL` in a terminal, or bring --header \"Authorization: Bearer …\""
        }
        (Exit::Unreachable, _) if says(&["cannot be reached"]) => "is the server running, and is the address right?",
        (Exit::Unreachable, _) if says(&["with the status", "at this address"]) => {
            "is it the address of an endpoint, such as https://example.com/mcp?"
        }
        _ => return None,
    })
}

impl From<BindError> for Failure {
    fn from(error: BindError) -> Self {
        Self::new(Exit::Unreachable, error.to_string()).hint(error.hint())
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

/// An error with what is at the bottom of it, if that says more, and with the proxy on the way, if that failed.
fn told(error: &Error) -> String {
    let mut told = plain(&error.to_string());
    let mut sources = Vec::new();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        sources.push(plain(&error.to_string()));
        source = error.source();
    }
    let root = sources.pop().filter(|_| !told.ends_with('?'));
    let proxy = sources.into_iter().find(|source| source.starts_with("the proxy `"));
    for more in proxy.into_iter().chain(root) {
        if !told.contains(&more) {
            let _ = write!(told, ": {more}");
        }
    }
    told
}

/// Messages of the libraries name what a program would call. A person at a terminal has flags.
const CALLS: &[(&str, &str)] = &[
    ("; `timeout` sets how long to wait", ""),
    ("; `max_timeout` sets how long to wait", ""),
    ("`OAuth::registered` takes an id that it knows", "bring a token with --header \"Authorization: Bearer …\""),
];

fn plain(message: &str) -> String {
    CALLS.iter().fold(message.to_owned(), |message, (call, flag)| message.replace(call, flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_of_flags() {
        for (said, expected) in [
            ("no answer within 1s; `timeout` sets how long to wait", "no answer within 1s"),
            (
                "`a.example` registers no clients; `OAuth::registered` takes an id that it knows",
                "`a.example` registers no clients; bring a token with --header \"Authorization: Bearer …\"",
            ),
            ("nothing to change", "nothing to change"),
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
