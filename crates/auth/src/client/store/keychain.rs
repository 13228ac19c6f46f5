//! Logins in the system keychain.

use std::{fmt, sync::Arc};

use couplet_core::{BoxFuture, Error, ErrorKind};
use keyring_core::{CredentialStore, Entry, Error as Failure};
use zeroize::Zeroizing;

use super::Store;
use crate::Secret;

/// A [`Store`] in the system keychain: the Keychain of macOS, the Credential Manager of Windows, or the kernel keyring
/// of Linux (which is lost on a restart, and after some days without use).
///
/// Any store of the `keyring` crates can be used instead, such as the Secret Service of a Linux desktop:
///
/// ```
/// # fn main() -> Result<(), couplet_core::Error> {
/// use couplet_auth::client::{Keychain, OAuth};
///
/// # let store = keyring_core::mock::Store::new().unwrap();
/// // let store = zbus_secret_service_keyring_store::Store::new()?;
/// let oauth = OAuth::new("Notes").store(Keychain::with_store("com.example.notes", store));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Keychain {
    service: Arc<str>,
    store: Arc<CredentialStore>,
}

type Text = Zeroizing<Vec<u8>>;

/// Some keychains limit the size of an entry, and tokens are longer.
const PIECE: usize = 2000;
/// An upper limit on the pieces of a value.
const MOST: usize = 500;

impl Keychain {
    /// Opens the system keychain. Entries carry the name `service`.
    ///
    /// This blocks, and writes and deletes a test entry: without a login session, as in a container or a service, Linux
    /// gives each thread a keyring of its own, which would lose every login.
    ///
    /// # Errors
    /// Fails if there is no keychain, or it does not retain entries.
    pub fn system(service: impl Into<String>) -> Result<Self, Error> {
        #[cfg(target_os = "macos")]
        let store = apple_native_keyring_store::keychain::Store::new();
        #[cfg(windows)]
        let store = windows_native_keyring_store::Store::new();
        #[cfg(target_os = "linux")]
        let store = linux_keyutils_keyring_store::Store::new();
        #[cfg(not(any(target_os = "macos", target_os = "linux", windows)))]
        let store: Result<Arc<keyring_core::mock::Store>, Failure> =
            Err(Failure::NotSupportedByStore("there is no keychain for this system".to_owned()));
        let keychain = store.map(|store| Self::with_store(service, store)).map_err(failed)?;
        keychain.check()?;
        Ok(keychain)
    }

    /// Checks that an entry written by one thread is found by another, and deletes it. This blocks.
    ///
    /// # Errors
    /// Fails if the entry is not found, or the keychain fails.
    pub fn check(&self) -> Result<(), Error> {
        let key = format!("check of process {}", std::process::id());
        self.write(&key, Some(&Secret::new("stored"))).map_err(failed)?;
        let found = std::thread::scope(|scope| scope.spawn(|| self.read(&key)).join());
        let removed = self.write(&key, None);
        match found {
            Ok(Ok(Some(found))) if found.reveal() == "stored" => removed.map_err(failed),
            Ok(Err(failure)) => Err(failed(failure)),
            _ => Err(Error::new(
                ErrorKind::Config,
                "the system keychain does not retain entries, because there is no login session here; \
                 store logins in a file instead",
            )),
        }
    }

    /// Uses a given keychain.
    pub fn with_store(service: impl Into<String>, store: Arc<CredentialStore>) -> Self {
        Self { service: service.into().into(), store }
    }

    /// Returns the secret that the user or another program stored under this name, as it is; `None` if there is none.
    /// This blocks.
    ///
    /// # Errors
    /// Fails if the keychain does, or the secret is not UTF-8.
    pub fn plain(&self, name: &str) -> Result<Option<Secret>, Error> {
        let Some(bytes) = self.get(name, 0).map_err(failed)? else { return Ok(None) };
        match str::from_utf8(&bytes) {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(_) => Err(Error::new(ErrorKind::Config, "the entry of the system keychain is not UTF-8")),
        }
    }

    fn entry(&self, key: &str, piece: usize) -> Result<Entry, Failure> {
        let name = if piece == 0 { key.to_owned() } else { format!("{key} #{piece}") };
        self.store.build(&self.service, &name, None)
    }

    fn get(&self, key: &str, piece: usize) -> Result<Option<Text>, Failure> {
        match self.entry(key, piece)?.get_secret() {
            Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
            Err(Failure::NoEntry) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The number of pieces, and the first one.
    fn first(&self, key: &str) -> Result<Option<(usize, Text)>, Failure> {
        let Some(bytes) = self.get(key, 0)? else { return Ok(None) };
        let end = bytes.iter().position(|byte| *byte == b' ');
        let count = end.and_then(|end| str::from_utf8(&bytes[..end]).ok()?.parse().ok()).filter(|n| *n <= MOST);
        Ok(count.zip(end).map(|(count, end)| (count, Zeroizing::new(bytes[end + 1..].to_vec()))))
    }

    fn read(&self, key: &str) -> Result<Option<Secret>, Failure> {
        let Some((count, mut all)) = self.first(key)? else { return Ok(None) };
        for piece in 1..count {
            // An incomplete value counts as missing.
            let Some(more) = self.get(key, piece)? else { return Ok(None) };
            all.extend_from_slice(&more);
        }
        Ok(str::from_utf8(&all).ok().map(Secret::new))
    }

    /// The first piece holds the number of pieces, so it is written last and deleted first.
    fn write(&self, key: &str, value: Option<&Secret>) -> Result<(), Failure> {
        let before = self.first(key)?.map_or(0, |(count, _)| count);
        let pieces: Vec<&[u8]> =
            value.map(|value| value.reveal().as_bytes().chunks(PIECE).collect()).unwrap_or_default();
        if value.is_none() {
            self.remove(key, 0)?;
        }
        for (at, piece) in pieces.iter().enumerate().skip(1) {
            self.entry(key, at)?.set_secret(piece)?;
        }
        if value.is_some() {
            let mut first = Zeroizing::new(format!("{} ", pieces.len()).into_bytes());
            first.extend_from_slice(pieces.first().copied().unwrap_or_default());
            self.entry(key, 0)?.set_secret(&first)?;
        }
        (pieces.len().max(1)..before).try_for_each(|at| self.remove(key, at))
    }

    fn remove(&self, key: &str, piece: usize) -> Result<(), Failure> {
        match self.entry(key, piece)?.delete_credential() {
            Ok(()) | Err(Failure::NoEntry) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Some keychains ask the user before they answer.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Error>> {
        let this = self.clone();
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || work(&this)).await;
            done.map_err(|_| Error::new(ErrorKind::Config, "the runtime has ended"))?.map_err(failed)
        })
    }
}

impl Store for Keychain {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
        let key = key.to_owned();
        self.blocking(move |this| this.read(&key))
    }

    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>> {
        let key = key.to_owned();
        self.blocking(move |this| this.write(&key, value.as_ref()))
    }
}

impl fmt::Debug for Keychain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keychain").field("service", &self.service).finish_non_exhaustive()
    }
}

/// The underlying error may contain a secret.
fn failed(failure: Failure) -> Error {
    let why = match failure {
        Failure::NoStorageAccess(_) => "is locked, or denies access to this program",
        Failure::TooLong(..) => "does not accept values of this size",
        Failure::NotSupportedByStore(_) => "is not available",
        _ => "failed",
    };
    Error::new(ErrorKind::Config, format!("the system keychain {why}"))
}
