//! Logins in a keychain.

use std::sync::Arc;

use couplet_auth::{
    Secret,
    client::{Keychain, Store},
};
use keyring_core::{CredentialStore, Error, mock};

use crate::world::World;

fn chain() -> (Arc<CredentialStore>, Keychain) {
    let store: Arc<CredentialStore> = mock::Store::new().unwrap();
    (store.clone(), Keychain::over("couplet", store))
}

/// Whether there is something under a name.
fn has(store: &Arc<CredentialStore>, name: &str) -> bool {
    !matches!(store.build("couplet", name, None).unwrap().get_secret(), Err(Error::NoEntry))
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

/// That of this machine, if there is one.
#[tokio::test]
async fn the_keychain_of_the_system() {
    let name = format!("couplet test {}", std::process::id());
    let Ok(keychain) = Keychain::system(name) else { return eprintln!("skipped: there is no keychain here") };
    if keychain.save("a", Some(Secret::new("1"))).await.is_err() {
        return eprintln!("skipped: the keychain of this machine is locked");
    }
    let Some(kept) = keychain.load("a").await.unwrap() else {
        // Linux gives each thread a ring of keys of its own where nobody has logged in.
        return eprintln!("skipped: there is no session here that keys belong to");
    };
    assert_eq!(kept.reveal(), "1");
    keychain.save("a", None).await.unwrap();
    assert!(keychain.load("a").await.unwrap().is_none());
}
