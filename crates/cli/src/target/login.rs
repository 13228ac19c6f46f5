//! Logging in at servers that want to know who asks.

use std::{env, fs, path::PathBuf, sync::Arc};

use couplet::{
    Error, ErrorKind,
    auth::client::{FileStore, OAuth},
};

use crate::{
    exit::Failure,
    output::{Output, text},
    questions,
};

/// Logs in with a browser when a server asks for it, and remembers it in a file that only the user can read. Without a
/// terminal only what is remembered is used.
pub(crate) fn oauth(output: &Arc<Output>) -> Result<OAuth, Failure> {
    let login = OAuth::new("Couplet");
    let login = match logins()? {
        Some(store) => login.store(store),
        None => login,
    };
    let output = output.clone();
    Ok(login.browser(move |page| {
        let output = output.clone();
        async move { show(&page, &output) }
    }))
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
    if !output.can_ask() {
        return Err(Error::new(ErrorKind::Auth, "the server wants a login, and there is no terminal to tell somebody"));
    }
    output.asks();
    output.note(&format!("The server wants to know who asks. Log in at\n  {}", output.err.name(text::line(page))));
    if questions::open(page).is_err() {
        output.note("There is no browser here to open it: open it in yours, on this machine.");
    }
    Ok(())
}
