//! The demo server on a free port, for a test.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use crate::kit::couplet;

/// A running `couplet demo`, which ends with the value.
pub(crate) struct Demo {
    child: Child,
    pub(crate) url: String,
}

impl Demo {
    pub(crate) fn start() -> Self {
        let mut child = couplet()
            .args(["demo", "--http", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let url = first.trim().strip_prefix("Serving at ").unwrap_or_else(|| panic!("{first}")).to_owned();
        Self { child, url }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
