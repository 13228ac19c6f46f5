//! Logins in a keychain.

use std::{any::Any, cell::RefCell, collections::HashMap, sync::Arc};

use couplet_auth::{
    Secret,
    client::{Keychain, Store},
};
use keyring_core::{
    Credential, CredentialStore, Entry, Error,
    api::{CredentialApi, CredentialStoreApi},
    mock,
};

use crate::world::World;

fn chain() -> (Arc<CredentialStore>, Keychain) {
    let store: Arc<CredentialStore> = mock::Store::new().unwrap();
    (store.clone(), Keychain::with_store("couplet", store))
}

/// Whether there is something under a name.
fn has(store: &Arc<CredentialStore>, name: &str) -> bool {
    !matches!(store.build("couplet", name, None).unwrap().get_secret(), Err(Error::NoEntry))
}

#[tokio::test]
async fn a_keychain_fulfils_the_contract() {
    let (_, keychain) = chain();
    couplet_testing::contract::login_store(&keychain, &keychain.clone()).await;
}

#[tokio::test]
async fn line_432_logins_of_any_length_are_kept() {
    let (store, keychain) = chain();
    for length in [0, 1, 1999, 2000, 2001, 9000, 4000, 3] {
        let text = "é".repeat(length);
        keychain.save("a", Some(Secret::new(&*text))).await.unwrap();
        assert_eq!(keychain.load("a").await.unwrap().unwrap().reveal(), text, "{length}");
        // No keychain has to take more than it can, and nothing of what was there before is left.
        let pieces = text.len().div_ceil(2000).max(1);
        assert!((0..12).all(|n| has(&store, &format!("a #{n}")) == (1..pieces).contains(&n)), "{length}");
    }
    keychain.save("a", Some(Secret::new("x".repeat(9000)))).await.unwrap();
    keychain.save("a", None).await.unwrap();
    assert!(keychain.load("a").await.unwrap().is_none());
    assert!(!has(&store, "a") && (0..12).all(|n| !has(&store, &format!("a #{n}"))));
}

#[tokio::test]
async fn half_a_login_is_none() {
    let (store, keychain) = chain();
    keychain.save("a", Some(Secret::new("x".repeat(5000)))).await.unwrap();
    store.build("couplet", "a #2", None).unwrap().delete_credential().unwrap();
    assert!(keychain.load("a").await.unwrap().is_none());
    for odd in ["", "x", "99999 x", "-1 x", "1 \u{80}"] {
        let bytes: Vec<u8> = odd.chars().map(|c| c as u8).collect();
        store.build("couplet", "a", None).unwrap().set_secret(&bytes).unwrap();
        assert!(keychain.load("a").await.unwrap().is_none(), "{odd}");
    }
    keychain.save("a", Some(Secret::new("again"))).await.unwrap();
    assert_eq!(keychain.load("a").await.unwrap().unwrap().reveal(), "again");
}

#[tokio::test]
async fn a_login_in_a_keychain_outlives_the_client() {
    let (world, (_, keychain)) = (World::new(), chain());
    for _ in 0..2 {
        assert_eq!(world.once(&world.person().store(keychain.clone())).await.unwrap(), 200);
    }
    assert_eq!(world.inner().pages.len(), 1);
}

/// A keychain in which each thread finds only what it stored itself, as that of Linux is without a login session.
#[derive(Debug)]
struct OfThreads;

#[derive(Debug)]
struct OfThread(String);

thread_local! {
    static KEPT: RefCell<HashMap<String, Vec<u8>>> = RefCell::default();
}

impl CredentialStoreApi for OfThreads {
    fn vendor(&self) -> String {
        "test".to_owned()
    }

    fn id(&self) -> String {
        "test".to_owned()
    }

    fn build(&self, _: &str, user: &str, _: Option<&HashMap<&str, &str>>) -> Result<Entry, Error> {
        Ok(Entry::new_with_credential(Arc::new(OfThread(user.to_owned()))))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl CredentialApi for OfThread {
    fn set_secret(&self, secret: &[u8]) -> Result<(), Error> {
        KEPT.with_borrow_mut(|kept| kept.insert(self.0.clone(), secret.to_vec()));
        Ok(())
    }

    fn get_secret(&self) -> Result<Vec<u8>, Error> {
        KEPT.with_borrow(|kept| kept.get(&self.0).cloned()).ok_or(Error::NoEntry)
    }

    fn delete_credential(&self) -> Result<(), Error> {
        KEPT.with_borrow_mut(|kept| kept.remove(&self.0)).map(|_| ()).ok_or(Error::NoEntry)
    }

    fn get_credential(&self) -> Result<Option<Arc<Credential>>, Error> {
        Ok(None)
    }

    fn get_specifiers(&self) -> Option<(String, String)> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[test]
fn a_keychain_that_keeps_nothing_is_said_to() {
    let (store, keychain) = chain();
    keychain.check().unwrap();
    assert!(!has(&store, &format!("check of process {}", std::process::id())));

    let error = Keychain::with_store("couplet", Arc::new(OfThreads)).check().unwrap_err().to_string();
    assert!(error.contains("no login session") && error.contains("in a file instead"), "{error}");
    assert!(KEPT.with_borrow(HashMap::is_empty));
}

/// That of this machine works, or says why it does not.
#[tokio::test]
async fn the_keychain_of_the_system() {
    let keychain = match Keychain::system(format!("couplet test {}", std::process::id())) {
        Ok(keychain) => keychain,
        Err(error) => return assert!(error.to_string().starts_with("the keychain of the system"), "{error}"),
    };
    keychain.save("a", Some(Secret::new("1"))).await.unwrap();
    assert_eq!(keychain.load("a").await.unwrap().unwrap().reveal(), "1");
    keychain.save("a", None).await.unwrap();
    assert!(keychain.load("a").await.unwrap().is_none());
}
