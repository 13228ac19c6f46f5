//! `couplet openapi` with a client that is not ours: every style, body and security scheme, and a pet store.

use std::path::Path;

use super::documents::PETSTORE;
use crate::{
    Failure, interop,
    workspace::{self, command},
};

/// Runs `interop/openapi/client.py` with the Python SDK; returns the reason if that cannot be had.
pub(super) fn run(documents: &Path) -> Result<Result<(), String>, Failure> {
    let python = match interop::python("python")? {
        Ok(python) => python,
        Err(why) => return Ok(Err(why)),
    };
    workspace::cargo(["build", "--quiet", "--package", "couplet-cli", "--all-features"])?;
    let couplet = workspace::target()?.join("debug/couplet");
    let mut client = command(&python.to_string_lossy());
    client.arg("interop/openapi/client.py").arg(couplet).arg(documents.join(PETSTORE));
    workspace::show(&mut client).map(Ok)
}
