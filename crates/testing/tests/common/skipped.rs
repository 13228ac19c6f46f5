//! Tests that a machine cannot run are counted, not passed over. Several crates include this file with `#[path]`.

use std::{env, fs::OpenOptions, io::Write, thread};

/// Reports that the running test, or a part of it, was skipped: `cargo xtask ci` lists it at the end, from the file that
/// `COUPLET_SKIPPED` names.
#[expect(clippy::print_stderr, reason = "a test that does nothing says so")]
pub(crate) fn skipped(why: &str) {
    let thread = thread::current();
    let line = format!("{} {}: {}\n", env!("CARGO_PKG_NAME"), thread.name().unwrap_or("test"), why.trim());
    eprint!("skipped: {line}");
    if let Some(file) = env::var_os("COUPLET_SKIPPED") {
        let file = OpenOptions::new().create(true).append(true).open(file);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.expect("the file of skipped tests can be written");
    }
}
