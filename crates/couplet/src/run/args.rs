//! The command line of [`run`](super::run).

use std::ffi::OsString;

/// The address of `--http` without a value.
const ADDRESS: &str = "127.0.0.1:8080";

/// The mode that a command line selects.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Stdio,
    /// HTTP at an address.
    Http(String),
    Help,
    Version,
}

/// Parses the arguments after the program's name.
///
/// # Errors
/// If there is one that is not known, or too many.
pub(super) fn parse(args: impl Iterator<Item = OsString>) -> Result<Mode, String> {
    let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [] => Ok(Mode::Stdio),
        ["-h" | "--help", ..] => Ok(Mode::Help),
        ["-V" | "--version", ..] => Ok(Mode::Version),
        ["--http"] => Ok(Mode::Http(ADDRESS.to_owned())),
        ["--http", address] if !address.starts_with('-') => Ok(Mode::Http(complete(address))),
        [joined] if joined.starts_with("--http=") => Ok(Mode::Http(complete(&joined["--http=".len()..]))),
        ["--http", _, unknown, ..] | ["--http", unknown] | [unknown, ..] => {
            Err(format!("unknown argument `{unknown}`"))
        }
    }
}

/// An address with a host: a port alone is one of this machine.
fn complete(address: &str) -> String {
    match address.strip_prefix(':').unwrap_or(address).parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => address.to_owned(),
    }
}

/// One line about the arguments.
pub(super) fn usage(name: &str) -> String {
    format!("usage: {name} [--http [ADDRESS]]")
}

pub(super) fn help(name: &str, version: &str) -> String {
    format!(
        "{name} {version}

{}

Serves the Model Context Protocol on standard input and output.

options:
      --http [ADDRESS]  Serve HTTP at this address instead, with the endpoint /mcp (default: {ADDRESS})
  -h, --help            Print this help
  -V, --version         Print name and version",
        usage(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_parsed() {
        let http = |address: &str| Ok(Mode::Http(address.to_owned()));
        let unknown = |argument: &str| Err(format!("unknown argument `{argument}`"));
        for (args, want) in [
            ("", Ok(Mode::Stdio)),
            ("--http", http("127.0.0.1:8080")),
            ("--http 0.0.0.0:80", http("0.0.0.0:80")),
            ("--http=[::1]:80", http("[::1]:80")),
            ("--http 9000", http("127.0.0.1:9000")),
            ("--http :0", http("127.0.0.1:0")),
            ("--help", Ok(Mode::Help)),
            ("-V", Ok(Mode::Version)),
            ("--htpp", unknown("--htpp")),
            ("serve", unknown("serve")),
            ("--http --verbose", unknown("--verbose")),
            ("--http 9000 extra", unknown("extra")),
            ("--http=9000 extra", unknown("--http=9000")),
        ] {
            assert_eq!(parse(args.split_whitespace().map(OsString::from)), want, "{args}");
        }
    }

    #[test]
    fn help_names_every_option() {
        let help = help("calc", "1.0.0");
        for part in ["calc 1.0.0", "--http [ADDRESS]", "--help", "--version", ADDRESS] {
            assert!(help.contains(part), "{part}: {help}");
        }
    }
}
