//! A page that the person is asked to visit.

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

/// Shows the address in full, and opens it only when the person says so.
pub(crate) fn ask(output: &Output, heading: &str, ask: &Elicitation) -> Result<ElicitResult, RpcError> {
    let url = ask.url().unwrap_or_default();
    output.complain(&format!("\n{heading} {}", text::visible(ask.message())));
    output.complain(&format!("  it wants you to visit {}", output.err.name(text::line(url))));
    output.complain(&format!("  which is at {}", output.err.strong(text::line(ask.url_host().unwrap_or("?")))));
    if ask.is_suspicious_url() {
        output.warn("the address is not what such addresses look like; be sure that you know it");
    }
    let answers =
        [("no", Choice::Decline), ("open", Choice::Open), ("visited", Choice::Visited), ("cancel", Choice::Cancel)];
    match prompt::choose("  [No/open in the browser/visited it myself/cancel] ", &answers, Choice::Cancel) {
        Choice::Open => {
            if let Err(why) = open(url) {
                output.warn(&format!("the browser cannot be opened: {why}; visit the page yourself"));
            }
            ask.accept_url()
        }
        Choice::Visited => ask.accept_url(),
        Choice::Decline => ask.decline(),
        Choice::Cancel => ask.cancel(),
    }
}

/// Opens a page with the program that the system has for it: never with a shell, and never anything but a page.
pub(crate) fn open(url: &str) -> Result<(), String> {
    let lower = url.to_ascii_lowercase();
    if !(lower.starts_with("https://") || lower.starts_with("http://")) {
        return Err("it is no page of the web".to_owned());
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
    // Some of them stay for as long as the browser does; somebody has to see them end.
    std::thread::spawn(move || opening.wait());
    Ok(())
}
