//! Servers that hosts on this machine have configured, by name.

use super::Place;
use crate::exit::Failure;

/// Somebody who knows servers by name.
pub(crate) trait Known: Sync {
    /// All of them. A host whose configuration cannot be read is left out, with a word about it.
    fn servers(&self) -> Result<Vec<Configured>, Failure>;
}

/// A server that a host has configured.
#[derive(Clone, Debug)]
pub(crate) struct Configured {
    /// The name that it has there.
    pub(crate) name: String,
    /// The host, as it is written before the name: `cursor:weather`.
    pub(crate) host: String,
    pub(crate) place: Place,
}

/// Who knows servers here.
pub(crate) fn known() -> &'static dyn Known {
    &Nobody
}

/// No host is looked at yet.
struct Nobody;

impl Known for Nobody {
    fn servers(&self) -> Result<Vec<Configured>, Failure> {
        Ok(Vec::new())
    }
}
