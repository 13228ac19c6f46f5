//! OAuth logins.

use std::{env, fs, path::PathBuf, sync::Arc};

use couplet::{
    Error, ErrorKind,
    auth::client::{DeviceCode, FileStore, OAuth},
};

use crate::{
    exit::Failure,
    output::{Output, text},
    questions,
};

/// The way to log in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LoginWay {
    /// In a browser on this machine.
    #[default]
    Browser,
    /// In a browser anywhere; the redirect URL is pasted.
    Paste,
    /// With a device code, on any device.
    Device,
}

/// Creates the authorizer that logs in when a server requires it. Logins are stored in a file that only the user can
/// read; without a terminal, only stored logins are used.
pub(crate) fn oauth(output: &Arc<Output>, way: LoginWay) -> Result<OAuth, Failure> {
    let shown = output.clone();
    let login = match way {
        LoginWay::Browser => OAuth::new("Couplet").browser(move |page| {
            let output = shown.clone();
            async move { show(&page, &output) }
        }),
        LoginWay::Paste => OAuth::new("Couplet").paste(move |page| {
            let output = shown.clone();
            async move { pasted(&page, &output).await }
        }),
        LoginWay::Device => OAuth::device("Couplet", move |code| {
            let output = shown.clone();
            async move {
                show_code(&code, &output);
                Ok(())
            }
        }),
    };
    Ok(match logins()? {
        Some(store) => login.store(store),
        None => login,
    })
}

/// Returns the directory of logins and history.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let state = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else {
        folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")))
    };
    state.map(|state| state.join("couplet"))
}

/// Opens the file of logins; `None` if there is no directory for it.
pub(crate) fn logins() -> Result<Option<FileStore>, Failure> {
    let Some(folder) = state_folder() else { return Ok(None) };
    fs::create_dir_all(&folder).map_err(|e| Failure::file(&folder, "created", &e))?;
    Ok(Some(FileStore::open(folder.join("logins.json"))?))
}

fn show(page: &str, output: &Output) -> Result<(), Error> {
    announce(page, output)?;
    if questions::open(page).is_err() {
        output.note(
            "Cannot open a browser: open the URL in a browser on this machine. For a browser on another machine, use \
             `couplet login URL --no-browser` or --device.",
        );
    }
    Ok(())
}

/// Prints the login URL and prompts for the redirect URL.
async fn pasted(page: &str, output: &Arc<Output>) -> Result<String, Error> {
    announce(page, output)?;
    output
        .note("After the login, the browser cannot open a URL that starts with http://127.0.0.1: paste that URL here.");
    let asked = tokio::task::spawn_blocking(|| questions::line("  URL: "));
    match asked.await {
        Ok(questions::Line::Text(address)) if !address.is_empty() => Ok(address),
        _ => Err(Error::new(ErrorKind::Auth, "login cancelled: no URL was pasted")),
    }
}

fn announce(page: &str, output: &Output) -> Result<(), Error> {
    if !output.can_ask() {
        return Err(Error::new(ErrorKind::Auth, "authentication required, and there is no terminal to log in from"));
    }
    output.asks();
    output.note(&format!("The server requires a login. Open\n  {}", output.err.name(text::line(page))));
    Ok(())
}

/// Prints the device code. It needs no terminal: a log will do.
fn show_code(code: &DeviceCode, output: &Output) {
    output.asks();
    let page = output.err.name(text::line(&code.verification_uri));
    let word = output.err.strong(text::line(&code.user_code));
    let minutes = code.expires_in.as_secs().div_ceil(60);
    output.note(&format!("Log in on any device within {minutes} minutes. Open\n  {page}\nand enter the code {word}"));
    if let Some(page) = &code.verification_uri_complete {
        output.note(&format!("or open\n  {}", output.err.name(text::line(page))));
    }
}
