//! Images and audio.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_types::{Annotations, AudioContent, ContentBlock, ImageContent, mime};

use super::{
    MAX_SIZE,
    read::{MediaError, name_of, whole},
};

macro_rules! media {
    ($(#[$doc:meta])* $name:ident, $content:ident, $kind:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            pub(crate) bytes: Vec<u8>,
            pub(crate) mime_type: String,
            annotations: Option<Annotations>,
        }

        impl $name {
            /// Creates it from bytes with a known MIME type.
            pub fn new(bytes: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
                Self { bytes: bytes.into(), mime_type: mime_type.into(), annotations: None }
            }

            /// Creates it from bytes, and sniffs the MIME type.
            ///
            /// # Errors
            #[doc = concat!("If they are not ", $what, " of a known type.")]
            pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self, MediaError> {
                Self::named(bytes.into(), "")
            }

            /// Reads a file of at most [`MAX_SIZE`] bytes.
            ///
            /// # Errors
            #[doc = concat!("If it cannot be read, is too large, or is not ", $what, ".")]
            pub async fn from_path(path: impl AsRef<Path>) -> Result<Self, MediaError> {
                Self::from_path_within(path, MAX_SIZE).await
            }

            /// Reads a file of at most `most` bytes.
            ///
            /// # Errors
            #[doc = concat!("If it cannot be read, is too large, or is not ", $what, ".")]
            pub async fn from_path_within(path: impl AsRef<Path>, most: u64) -> Result<Self, MediaError> {
                let path = path.as_ref();
                Self::named(whole(path, most).await?, &name_of(path))
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

            fn named(bytes: Vec<u8>, name: &str) -> Result<Self, MediaError> {
                let found = mime::of(&bytes, name);
                // The container is one for audio as well.
                let found = match (found, $kind) {
                    ("video/webm", "audio/") => "audio/webm",
                    ("video/mp4", "audio/") => "audio/mp4",
                    (found, _) => found,
                };
                if !found.starts_with($kind) {
                    let subject = if name.is_empty() { "the data".to_owned() } else { format!("`{name}`") };
                    let text = format!("{subject} is `{found}`, not {}; `new` takes a type that is known", $what);
                    return Err(MediaError::new(text));
                }
                Ok(Self::new(bytes, found))
            }
        }

        impl From<$name> for ContentBlock {
            fn from(media: $name) -> Self {
                let mut content = $content::new(STANDARD.encode(media.bytes), media.mime_type);
                content.annotations = media.annotations;
                content.into()
            }
        }
    };
}

media! {
    /// An image.
    ///
    /// ```
    /// use couplet_server::{Server, ToolError, media::{Image, MediaError}, tool};
    /// use couplet_types::ContentBlock;
    ///
    /// async fn chart() -> Result<Image, MediaError> {
    ///     Image::from_path("chart.png").await
    /// }
    ///
    /// fn pixel() -> Result<Vec<ContentBlock>, ToolError> {
    ///     let image = Image::from_bytes(*b"GIF89a\x01\0\x01\0\0\0\0;")?;
    ///     Ok(vec!["one pixel:".into(), image.into()])
    /// }
    ///
    /// let server: Server = Server::new("draw", "1.0.0").tool(tool("chart", chart)).tool(tool("pixel", pixel));
    /// ```
    Image, ImageContent, "image/", "a picture"
}

media! {
    /// An audio clip.
    ///
    /// ```
    /// use couplet_server::media::Audio;
    ///
    /// assert_eq!(Audio::from_bytes(*b"fLaC\0\0\0\x22")?.mime_type(), "audio/flac");
    /// assert!(Audio::from_bytes("words").is_err());
    /// # Ok::<(), couplet_server::media::MediaError>(())
    /// ```
    Audio, AudioContent, "audio/", "a sound"
}
