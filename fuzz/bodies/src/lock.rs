//! Lock files and definitions.

use couplet_core::{JsonText, visible};
use couplet_host::{
    names::{Kind, ServerId},
    pins::{Approval, Digest, Lock, Pin, Seen, Select},
};

/// Parses the input as a lock file, and approves it as a definition.
///
/// # Panics
/// When a lock is another one after it was written, when an approved definition is not approved, or when a difference could
/// act on a terminal.
pub fn lock(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lock = Lock::default();
    if let Ok(parsed) = Lock::parse(text) {
        assert_same(&parsed);
        lock = parsed;
    }
    let Ok(definition) = JsonText::new(data.to_vec()) else { return };
    let Ok(seen) = Seen::new(Kind::Tool, "fuzz", &definition) else { return };
    let (server, launch, seen) = (ServerId::from_key("files"), Digest::of("launch"), [seen]);
    let diff = lock.diff(&server, &launch, &seen, 0).to_string();
    assert!(diff.lines().all(|line| visible(line) == line), "{diff:?}");
    lock.approve(&server, &launch, &seen, Select::Server, &Approval::default());
    assert_eq!(lock.state(&server, Kind::Tool, "fuzz", &seen[0].fingerprint, 0), Pin::Approved);
    assert_same(&lock);
}

fn assert_same(lock: &Lock) {
    let text = lock.to_string();
    let again = Lock::parse(&text).expect("a lock that was written is parsed");
    assert_eq!(*lock, again);
    assert_eq!(text, again.to_string());
}
