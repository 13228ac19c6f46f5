//! Logins in the keychain of the system.

use std::{fmt, sync::Arc};

use couplet_core::{BoxFuture, Error, ErrorKind};
use keyring_core::{CredentialStore, Entry, Error as Failure};
use zeroize::Zeroizing;

use super::Store;
use crate::Secret;

/// Keeps logins in the keychain of the system: that of macOS, the credentials of Windows, the keys that the kernel of
/// Linux keeps for a user (until the machine is restarted, or they were not used for some days).
///
/// Any other keychain for which there is a store of the `keyring` family does as well, such as the Secret Service of a
/// Linux desktop:
///
/// ```
/// # fn main() -> Result<(), couplet_core::Error> {
/// use couplet_auth::client::{Keychain, OAuth};
///
/// # let store = keyring_core::mock::Store::new().unwrap();
/// // let store = zbus_secret_service_keyring_store::Store::new()?;
/// let oauth = OAuth::new("Notes").store(Keychain::over("com.example.notes", store));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Keychain {
    service: Arc<str>,
    store: Arc<CredentialStore>,
}

type Text = Zeroizing<Vec<u8>>;

/// Some keychains take no more than this under one name, and tokens are longer.
const PIECE: usize = 2000;
/// More pieces than any login has.
const MOST: usize = 500;

impl Keychain {
    /// The keychain of this system; what is kept there bears this name.
    ///
    /// Without a login session, as in a container or a service, Linux gives each thread a keyring of its own, which
    /// would lose every login; that is found out here, by storing something and removing it.
    ///
    /// # Errors
    /// When there is none, or when it does not keep what is stored.
    pub fn system(service: impl Into<String>) -> Result<Self, Error> {
        #[cfg(target_os = "macos")]
        let store = apple_native_keyring_store::keychain::Store::new();
        #[cfg(windows)]
        let store = windows_native_keyring_store::Store::new();
        #[cfg(target_os = "linux")]
        let store = linux_keyutils_keyring_store::Store::new();
        #[cfg(not(any(target_os = "macos", target_os = "linux", windows)))]
        let store: Result<Arc<keyring_core::mock::Store>, Failure> =
            Err(Failure::NotSupportedByStore("there is none for this system".to_owned()));
        let keychain = store.map(|store| Self::over(service, store)).map_err(failed)?;
        keychain.check()?;
        Ok(keychain)
    }

    /// Checks that what one thread stores is found by another, and removes it.
    ///
    /// # Errors
    /// When it is not found, or the keychain fails.
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
                "the keychain of the system does not keep what is stored, because there is no login session here; \
                 store logins in a file instead",
            )),
        }
    }

    /// A keychain that the program has chosen.
    pub fn over(service: impl Into<String>, store: Arc<CredentialStore>) -> Self {
        Self { service: service.into().into(), store }
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

    /// How many pieces there are, and the first one.
    fn first(&self, key: &str) -> Result<Option<(usize, Text)>, Failure> {
        let Some(bytes) = self.get(key, 0)? else { return Ok(None) };
        let end = bytes.iter().position(|byte| *byte == b' ');
        let count = end.and_then(|end| str::from_utf8(&bytes[..end]).ok()?.parse().ok()).filter(|n| *n <= MOST);
        Ok(count.zip(end).map(|(count, end)| (count, Zeroizing::new(bytes[end + 1..].to_vec()))))
    }

    fn read(&self, key: &str) -> Result<Option<Secret>, Failure> {
        let Some((count, mut all)) = self.first(key)? else { return Ok(None) };
        for piece in 1..count {
            // Half a login is none.
            let Some(more) = self.get(key, piece)? else { return Ok(None) };
            all.extend_from_slice(&more);
        }
        Ok(str::from_utf8(&all).ok().map(Secret::new))
    }

    /// The first piece says how many there are, so it is written last, and removed first.
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

    /// Some keychains ask a person before they answer.
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

/// What goes wrong may hold what was to be kept.
fn failed(failure: Failure) -> Error {
    let why = match failure {
        Failure::NoStorageAccess(_) => "is locked, or not for this program",
        Failure::TooLong(..) => "does not take so much",
        Failure::NotSupportedByStore(_) => "is not there",
        _ => "fails",
    };
    Error::new(ErrorKind::Config, format!("the keychain of the system {why}"))
}
