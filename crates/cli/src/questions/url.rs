//! URL elicitation.

use std::process::{Command, Stdio};

use couplet::{
    client::Elicitation,
    types::{ElicitResult, RpcError},
};

use super::prompt;
use crate::output::{Output, text};

#[derive(Clone, Copy)]
enum Choice {
    Open,
    Visited,
    Decline,
    Cancel,
}

/// Shows the whole URL, and opens it only if the user agrees.
pub(crate) fn ask(output: &Output, heading: &str, ask: &Elicitation) -> Result<ElicitResult, RpcError> {
    let url = ask.url().unwrap_or_default();
    output.complain(&format!("\n{heading} {}", text::visible(ask.message())));
    output.complain(&format!("  URL:  {}", output.err.name(text::line(url))));
    output.complain(&format!("  host: {}", output.err.strong(text::line(ask.url_host().unwrap_or("?")))));
    if ask.is_suspicious_url() {
        output.warn("the URL looks suspicious; open it only if you trust the host");
    }
    let answers =
        [("no", Choice::Decline), ("open", Choice::Open), ("visited", Choice::Visited), ("cancel", Choice::Cancel)];
    match prompt::choose("  [No/open in the browser/visited it myself/cancel] ", &answers, Choice::Cancel) {
        Choice::Open => {
            if let Err(why) = open(url) {
                output.warn(&format!("cannot open a browser: {why}; open the URL yourself"));
            }
            ask.accept_url()
        }
        Choice::Visited => ask.accept_url(),
        Choice::Decline => ask.decline(),
        Choice::Cancel => ask.cancel(),
    }
}

/// Opens an HTTP URL with the system's browser, without a shell.
pub(crate) fn open(url: &str) -> Result<(), String> {
    let lower = url.to_ascii_lowercase();
    if !(lower.starts_with("https://") || lower.starts_with("http://")) {
        return Err("not an http or https URL".to_owned());
    }
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(before).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut opening = command.spawn().map_err(|e| format!("`{program}`: {e}"))?;
    // Some openers run as long as the browser; waiting reaps the process.
    std::thread::spawn(move || opening.wait());
    Ok(())
}
