//! Relative paths that cannot leave a folder.

use std::{
    borrow::Cow,
    path::{Component, Path, PathBuf},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

/// A relative path that cannot leave its folder: it has no `..`, no root, no drive and no backslash. Symbolic links are not
/// resolved.
///
/// Use it where a client names a file: in the [`Path`](super::Path) of a template, or as a field of arguments.
///
/// ```
/// use couplet_server::{Server, extract::{Path, SubPath}, resource};
///
/// async fn read(Path(path): Path<SubPath>) -> Result<String, std::io::Error> {
///     std::fs::read_to_string(path.within("/srv/notes"))
/// }
///
/// let server: Server = Server::new("notes", "1.0.0").resource(resource("notes://{+path}", read));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubPath(PathBuf);

impl SubPath {
    /// Parses a path; `None` if it could leave its folder.
    pub fn parse(text: &str) -> Option<Self> {
        let path = Path::new(text);
        let inside = path.components().all(|c| matches!(c, Component::Normal(_)));
        (inside && !text.is_empty() && !text.contains(['\0', '\\', ':'])).then(|| Self(path.to_owned()))
    }

    /// Joins the path to a folder.
    pub fn within(&self, folder: impl AsRef<Path>) -> PathBuf {
        folder.as_ref().join(&self.0)
    }
}

impl AsRef<Path> for SubPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl<'de> Deserialize<'de> for SubPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("a path must stay inside of its folder"))
    }
}

impl JsonSchema for SubPath {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SubPath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}
