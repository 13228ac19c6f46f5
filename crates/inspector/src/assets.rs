//! The files of the page: one row each.

use crate::page::File;

/// A row of the table: the name, and the content from the folder `page`.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(File::new($name, include_bytes!(concat!("../page/", $name)))),*]
    };
}

/// The files, by name.
pub(crate) const FILES: &[File] = files!["index.html"];

/// The files of the page that views of apps run in, which is served at an origin of its own.
pub(crate) const SANDBOX: &[File] = files!["sandbox.html"];
