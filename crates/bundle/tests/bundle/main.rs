//! Bundles and registry entries, as users make them.
#![allow(clippy::unwrap_used, reason = "a test reports by panicking")]

mod manifest;
mod pack;
mod publish;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use couplet_bundle::{Problem, Severity};

/// A folder, gone with the value.
struct Folder {
    root: PathBuf,
}

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("couplet-bundle-{}-{number}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        Self { root: fs::canonicalize(root).unwrap() }
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn path(&self) -> &Path {
        &self.root
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Problems, short: `E at: message`.
fn short(problems: &[Problem]) -> Vec<String> {
    let letter = |severity| if severity == Severity::Error { "E" } else { "W" };
    problems.iter().map(|p| format!("{} {}: {}", letter(p.severity), p.at, p.message)).collect()
}

/// Every problem says what to do, in the way that all of them do.
fn assert_told(problems: &[Problem]) {
    for problem in problems {
        assert!(!problem.fix.is_empty() && !problem.message.ends_with('.') && !problem.fix.ends_with('.'), "{problem}");
    }
}

/// Arguments as a command gets them.
fn parsed<A: clap::Args + clap::FromArgMatches>(args: &[&str]) -> A {
    #[derive(clap::Parser)]
    struct Only<A: clap::Args> {
        #[command(flatten)]
        args: A,
    }
    <Only<A> as clap::Parser>::try_parse_from(std::iter::once(&"test").chain(args))
        .unwrap_or_else(|e| panic!("{e}"))
        .args
}
