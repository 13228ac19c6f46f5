//! Hosts as they are in the world: every one of them, on three operating systems, in temporary folders.
#![allow(clippy::unwrap_used, reason = "a test reports by panicking")]

mod command;
mod concurrent;
mod doctor;
mod entries;
mod kept;
mod odd;
mod places;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use couplet_hosts::{Env, Host, Os, Scope};

const SYSTEMS: [Os; 3] = [Os::Linux, Os::MacOs, Os::Windows];

/// A home folder with a project in it, gone with the value.
struct Home {
    root: PathBuf,
}

impl Home {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("couplet-hosts-{}-{number}", std::process::id()));
        fs::create_dir_all(root.join("project")).unwrap();
        Self { root: fs::canonicalize(root).unwrap() }
    }

    fn env(&self, os: Os) -> Env {
        Env::new(os, &self.root, self.root.join("project")).with_exe("/opt/couplet").with("PATH", "/nowhere")
    }

    /// Writes a file and the folders that it needs.
    fn write(&self, path: &Path, text: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A program that can be found, though not run.
    fn program(&self, path: &str) -> PathBuf {
        let path = self.write(Path::new(path), "#!/bin/sh\n");
        make_executable(&path);
        path
    }

    /// A text with this folder as `~`.
    fn short(&self, text: &str) -> String {
        text.replace(&*self.root.to_string_lossy(), "~")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[cfg(not(unix))]
fn make_executable(_: &Path) {}

/// A file as this host has it.
fn file_of(host: &Host) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/files");
    let ends = ["json", "toml", "yaml"];
    let path = ends.iter().map(|end| folder.join(format!("{}.{end}", host.id()))).find(|path| path.exists());
    fs::read_to_string(path.unwrap_or_else(|| panic!("there is no file for {}", host.id()))).unwrap()
}

/// The scopes of a host that have a file of their own.
fn files(host: &Host) -> Vec<Scope> {
    host.scopes().filter(|scope| *scope != Scope::Local).collect()
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
