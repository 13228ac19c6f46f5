//! `#[couplet::test]`.

use std::{env::current_exe, process::Command};

use testing::types::ProtocolVersion;

/// What the tests of this module run with, instead of `couplet_testing`.
mod testing {
    pub(crate) use couplet::types;

    pub(crate) fn block_on<F: Future>(test: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
    }
}

#[couplet_macros::test(crate = "crate::revisions::testing")]
async fn each(version: ProtocolVersion) -> couplet::Result<()> {
    let name = std::thread::current().name().unwrap_or_default().replace('_', "-");
    assert!(name.ends_with(&format!("::v{version}")), "{name}");
    Ok(())
}

#[couplet_macros::test(crate = "crate::revisions::testing")]
#[should_panic(expected = "as it should")]
async fn panics(_: ProtocolVersion) {
    panic!("as it should");
}

#[couplet_macros::test(crate = "crate::revisions::testing")]
async fn once() -> couplet::Result<()> {
    tokio::task::yield_now().await;
    Ok(())
}

#[test]
fn each_revision_has_a_test() {
    let list = Command::new(current_exe().unwrap()).arg("--list").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let tests = |of: &str| list.lines().filter_map(|l| l.strip_prefix(of)?.strip_suffix(": test")).collect::<Vec<_>>();
    let name = |version: &ProtocolVersion| format!("v{}", version.as_str().replace('-', "_"));
    let revisions: Vec<String> = ProtocolVersion::ALL.iter().map(name).collect();
    assert_eq!(tests("revisions::each::"), revisions);
    assert_eq!(tests("revisions::panics::"), revisions);
    assert_eq!(tests("revisions::once"), [""]);
}
