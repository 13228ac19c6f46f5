//! Logging in at servers that want to know who asks.

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

/// How a person logs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LoginWay {
    /// In a browser on this machine.
    #[default]
    Browser,
    /// In a browser anywhere; the address that it ends at is pasted.
    Paste,
    /// With a code, on any device.
    Device,
}

/// Logs in when a server asks for it, and remembers it in a file that only the user can read. Without a terminal only
/// what is remembered is used.
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

/// Where this program keeps what it remembers.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let state = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else {
        folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")))
    };
    state.map(|state| state.join("couplet"))
}

fn logins() -> Result<Option<FileStore>, Failure> {
    let Some(folder) = state_folder() else { return Ok(None) };
    fs::create_dir_all(&folder).map_err(|e| Failure::file(&folder, "made", &e))?;
    Ok(Some(FileStore::open(folder.join("logins.json"))?))
}

fn show(page: &str, output: &Output) -> Result<(), Error> {
    tell(page, output)?;
    if questions::open(page).is_err() {
        output.note(
            "There is no browser here to open it: open it in yours, on this machine. For one on another machine, there \
             are `couplet login URL --no-browser` and --device.",
        );
    }
    Ok(())
}

/// Shows the page, and asks for the address that it leads back to.
async fn pasted(page: &str, output: &Arc<Output>) -> Result<String, Error> {
    tell(page, output)?;
    output.note("Afterwards the browser shows an address that it cannot open, http://127.0.0.1:…: paste it here.");
    let asked = tokio::task::spawn_blocking(|| questions::line("  address: "));
    match asked.await {
        Ok(questions::Line::Text(address)) if !address.is_empty() => Ok(address),
        _ => Err(Error::new(ErrorKind::Auth, "no address was pasted, so there is no login")),
    }
}

fn tell(page: &str, output: &Output) -> Result<(), Error> {
    if !output.can_ask() {
        return Err(Error::new(ErrorKind::Auth, "the server wants a login, and there is no terminal to tell somebody"));
    }
    output.asks();
    output.note(&format!("The server wants to know who asks. Log in at\n  {}", output.err.name(text::line(page))));
    Ok(())
}

/// A code needs no terminal: it can be read in a log, too.
fn show_code(code: &DeviceCode, output: &Output) {
    output.asks();
    let page = output.err.name(text::line(&code.verification_uri));
    let word = output.err.strong(text::line(&code.user_code));
    let minutes = code.expires_in.as_secs().div_ceil(60);
    output.note(&format!("Log in on any device, within {minutes} minutes, at\n  {page}\nwith the code {word}"));
    if let Some(page) = &code.verification_uri_complete {
        output.note(&format!("or at once at\n  {}", output.err.name(text::line(page))));
    }
}
