//! Files of any kind.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_types::{Annotations, ContentBlock, EmbeddedResource, Resource, ResourceContents, mime};

use super::{
    MAX_SIZE,
    read::{HEAD, MediaError, begin, name_of, whole},
};

/// A file inside of a result: text if it is UTF-8, bytes otherwise.
///
/// ```
/// use couplet_server::media::File;
/// use couplet_types::ContentBlock;
///
/// let file = File::from_bytes("notes.md", "# Today");
/// assert_eq!(file.mime_type(), "text/markdown");
/// let ContentBlock::Resource(embedded) = file.uri("notes://today").into() else { panic!() };
/// assert_eq!(embedded.resource.as_text(), Some("# Today"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    uri: Option<String>,
    name: String,
    bytes: Vec<u8>,
    mime_type: String,
    annotations: Option<Annotations>,
}

impl File {
    /// Creates a file from bytes and a name, and sniffs the MIME type.
    pub fn from_bytes(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let (name, bytes) = (name.into(), bytes.into());
        let mime_type = mime::of(&bytes, &name).to_owned();
        Self { uri: None, name, bytes, mime_type, annotations: None }
    }

    /// Reads a file of at most [`MAX_SIZE`] bytes.
    ///
    /// # Errors
    /// If it cannot be read, or is too large.
    pub async fn from_path(path: impl AsRef<Path>) -> Result<Self, MediaError> {
        Self::from_path_within(path, MAX_SIZE).await
    }

    /// Reads a file of at most `most` bytes.
    ///
    /// # Errors
    /// If it cannot be read, or is too large.
    pub async fn from_path_within(path: impl AsRef<Path>, most: u64) -> Result<Self, MediaError> {
        let path = path.as_ref();
        Ok(Self::from_bytes(name_of(path), whole(path, most).await?))
    }

    /// Creates a link to a resource of the server that has this file's content, with type and size. Only the beginning of
    /// the file is read, for its type.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn link(path: impl AsRef<Path>, uri: impl Into<String>) -> Result<Resource, MediaError> {
        let (path, name) = (path.as_ref(), name_of(path.as_ref()));
        let (size, head) = begin(path, HEAD).await?;
        Ok(Resource::new(uri, &name).mime_type(mime::of(whole_characters(&head), &name)).size(size))
    }

    /// Sets the URI. By default it is a `file:` URI of the name alone, which does not reveal the folder.
    #[must_use]
    pub fn uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = Some(uri.into());
        self
    }

    /// Sets the MIME type, instead of the sniffed one.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = mime_type.into();
        self
    }

    /// Sets the annotations: audience and priority.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Returns the MIME type.
    pub fn mime_type(&self) -> &str {
        &self.mime_type
    }

    /// Converts into resource contents, with a default URI.
    pub(crate) fn contents(self, or: Option<&str>) -> ResourceContents {
        let own = || format!("file:///{}", escaped(&self.name));
        let uri = self.uri.clone().or_else(|| or.map(str::to_owned)).unwrap_or_else(own);
        let text = match mime::is_textual(&self.mime_type) {
            true => String::from_utf8(self.bytes).map_err(|e| e.into_bytes()),
            false => Err(self.bytes),
        };
        let contents = match text {
            Ok(text) => ResourceContents::text(uri, text),
            Err(bytes) => ResourceContents::blob(uri, STANDARD.encode(bytes)),
        };
        contents.mime_type(self.mime_type)
    }
}

impl From<File> for ContentBlock {
    fn from(mut file: File) -> Self {
        let annotations = file.annotations.take();
        let mut embedded = EmbeddedResource::new(file.contents(None));
        embedded.annotations = annotations;
        embedded.into()
    }
}

/// The beginning of a text may end within a character.
fn whole_characters(head: &[u8]) -> &[u8] {
    match std::str::from_utf8(head) {
        Err(error) if error.error_len().is_none() => &head[..error.valid_up_to()],
        _ => head,
    }
}

/// A name as a part of a URI.
fn escaped(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
