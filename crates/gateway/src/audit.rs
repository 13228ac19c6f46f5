//! The audit file of a configuration, and the key that its head is signed with.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use couplet_host::audit::{Arguments, AuditOptions, JsonLines, WhenFull};
use couplet_hosts::Env;
use hmac_sha256::Hash;

use crate::{
    Config, Error, ErrorKind,
    config::{Audit, AuditArgs, OnFull},
    files,
    secrets::Secrets,
};

/// The least length of a configured key.
const SHORTEST: usize = 32;

/// The audit file of a configuration, open.
#[derive(Clone)]
pub(crate) struct AuditFile {
    settings: Audit,
    path: PathBuf,
    lines: Arc<JsonLines>,
}

impl AuditFile {
    /// Opens the audit file of a configuration, unless it is the one that is open.
    pub(crate) fn open(config: &Config, env: &Env, current: Option<Self>) -> Result<Option<Self>, Error> {
        let Some(settings) = &config.audit else { return Ok(None) };
        let path = Secrets::new(env.clone(), config.folder()).path(&settings.file);
        if let Some(current) = current.filter(|current| current.settings == *settings && current.path == path) {
            return Ok(Some(current));
        }
        let mut options = AuditOptions::default();
        options.arguments = match settings.args {
            AuditArgs::Shape => Arguments::Shape,
            AuditArgs::Redacted => Arguments::Redacted,
        };
        options.when_full = match settings.on_full {
            OnFull::Block => WhenFull::Block,
            OnFull::Drop => WhenFull::Drop,
        };
        if let Some(size) = settings.rotate {
            options.rotate = size.0 as u64;
        }
        options.key = key(config, env)?;
        options.replica.clone_from(&settings.replica);
        let lines = JsonLines::open(&path, options)
            .map_err(|error| Error::new(ErrorKind::Io, format!("`{}` cannot be used: {error}", path.display())))?;
        Ok(Some(Self { settings: settings.clone(), path, lines: Arc::new(lines) }))
    }

    pub(crate) fn sink(&self) -> Arc<JsonLines> {
        self.lines.clone()
    }

    pub(crate) async fn flush(&self) {
        if let Err(error) = self.lines.flush().await {
            tracing::error!(file = %self.path.display(), "the audit file is not complete: {error}");
        }
    }
}

/// Returns the key that the head of an audit file is signed with: that of the configuration, or else the user's own, which
/// the first gateway with an audit file creates. `None` if there is none. This may block.
///
/// # Errors
/// If the key of the configuration cannot be resolved or is too short, or if the user's own cannot be read.
pub fn audit_key(config: Option<&Config>, env: &Env) -> Result<Option<[u8; 32]>, Error> {
    if let Some(key) = config.map(|config| configured(config, env)).transpose()?.flatten() {
        return Ok(Some(key));
    }
    let path = key_path(env);
    read(&path).map_err(|error| Error::io(&path, "read", &error))
}

/// The key of a gateway. The user's own is created if there is none; where that is not possible, there is no key.
fn key(config: &Config, env: &Env) -> Result<Option<[u8; 32]>, Error> {
    if let Some(key) = configured(config, env)? {
        return Ok(Some(key));
    }
    let path = key_path(env);
    let key = create(&path).inspect_err(|error| {
        tracing::warn!(file = %path.display(), "the audit file is not signed: its key cannot be stored: {error}");
    });
    Ok(key.ok())
}

fn configured(config: &Config, env: &Env) -> Result<Option<[u8; 32]>, Error> {
    let Some(written) = config.audit.as_ref().and_then(|audit| audit.key.as_ref()) else { return Ok(None) };
    let wrong =
        |what: &str| Error::new(ErrorKind::Config, format!("`{}`: the key of `audit` {what}", config.path.display()));
    let secrets = Secrets::new(env.clone(), config.folder());
    let key = secrets.resolve_written(written).map_err(|why| wrong(&format!("is not known: {why}")))?;
    if key.len() < SHORTEST {
        return Err(
            wrong(&format!("must have at least {SHORTEST} characters")).hinted("`openssl rand -hex 32` makes one")
        );
    }
    Ok(Some(Hash::hash(key.as_bytes())))
}

fn key_path(env: &Env) -> PathBuf {
    files::state_folder(env).join("audit.key")
}

/// Reads the user's own key, or creates it: only the user can read it.
fn create(path: &Path) -> io::Result<[u8; 32]> {
    if let Some(key) = read(path)? {
        return Ok(key);
    }
    let mut key = [0_u8; 32];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    files::private_folder(path.parent().unwrap_or(Path::new(".")))?;
    files::create_private(path, &files::hex(&key))?;
    // Another gateway may have been faster.
    read(path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn read(path: &Path) -> io::Result<Option<[u8; 32]>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let digits = text.trim_end();
    let byte = |at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
    let mut key = [0; 32];
    let is_key = digits.len() == 64 && (0..32).zip(&mut key).all(|(at, to)| byte(at).map(|byte| *to = byte).is_some());
    if is_key { Ok(Some(key)) } else { Err(io::Error::other("expected 64 hexadecimal digits")) }
}
