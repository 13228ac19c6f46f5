//! Pictures, sounds and files that came from a server.

use std::path::{Path, PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_core::{Error, ErrorKind};
use couplet_types::{ContentBlock, ResourceBody, ResourceContents, mime};

use crate::result::ToolResult;

/// Bytes that came from a server, and what they are said to be. Not to be trusted.
///
/// ```
/// # async fn example(client: couplet_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let chart = client.call("chart", ()).await?;
/// let saved = chart.image()?.save("chart").await?; // `chart.png`, if it is one
/// # drop(saved);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Media {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The media type, as the server says.
    pub mime_type: String,
}

impl Media {
    /// The bytes in a block: a picture, a sound, or an embedded resource. Other blocks have none.
    ///
    /// # Errors
    /// When the data is not base64.
    pub fn of_block(block: &ContentBlock) -> Result<Option<Self>, Error> {
        match block {
            ContentBlock::Image(image) => decoded(&image.data, &image.mime_type).map(Some),
            ContentBlock::Audio(audio) => decoded(&audio.data, &audio.mime_type).map(Some),
            ContentBlock::Resource(embedded) => Self::of_contents(&embedded.resource).map(Some),
            _ => Ok(None),
        }
    }

    /// The bytes of a resource, also where they are text.
    ///
    /// # Errors
    /// When the data is not base64.
    pub fn of_contents(contents: &ResourceContents) -> Result<Self, Error> {
        let mime_type = |plain: &str| contents.mime_type.clone().unwrap_or_else(|| plain.to_owned());
        match &contents.body {
            ResourceBody::Text(text) => {
                Ok(Self { bytes: text.clone().into_bytes(), mime_type: mime_type("text/plain") })
            }
            ResourceBody::Blob(data) => decoded(data, &mime_type("application/octet-stream")),
        }
    }

    /// Writes a new file. A name without an ending gets that of the media type.
    ///
    /// # Errors
    /// When there is such a file already, or it cannot be written.
    pub async fn save(&self, path: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let mut path = path.as_ref().to_owned();
        if let (None, Some(extension)) = (path.extension(), mime::extension(&self.mime_type)) {
            path.set_extension(extension);
        }
        let (bytes, target) = (self.bytes.clone(), path.clone());
        let written = tokio::task::spawn_blocking(move || {
            // What a server sends must not replace what is there.
            let mut file = std::fs::File::options().write(true).create_new(true).open(target)?;
            std::io::Write::write_all(&mut file, &bytes)
        });
        let failed = |e: std::io::Error| {
            Error::new(ErrorKind::Config, format!("`{}` cannot be written: {e}", path.display())).with_source(e)
        };
        written.await.map_err(std::io::Error::other).and_then(|done| done).map_err(failed)?;
        Ok(path)
    }
}

impl ToolResult {
    /// The first picture.
    ///
    /// # Errors
    /// When there is none, or it is not base64.
    pub fn image(&self) -> Result<Media, Error> {
        let is_image = |block: &&ContentBlock| matches!(block, ContentBlock::Image(_));
        self.first("picture", is_image)
    }

    /// The first sound.
    ///
    /// # Errors
    /// When there is none, or it is not base64.
    pub fn audio(&self) -> Result<Media, Error> {
        let is_audio = |block: &&ContentBlock| matches!(block, ContentBlock::Audio(_));
        self.first("sound", is_audio)
    }

    /// Every picture, sound and embedded resource, in order.
    ///
    /// # Errors
    /// When one is not base64.
    pub fn media(&self) -> Result<Vec<Media>, Error> {
        self.content().iter().filter_map(|block| Media::of_block(block).transpose()).collect()
    }

    fn first(&self, what: &str, wanted: impl Fn(&&ContentBlock) -> bool) -> Result<Media, Error> {
        let none = || Error::new(ErrorKind::Protocol, format!("the tool gave no {what}"));
        let block = self.content().iter().find(wanted).ok_or_else(none)?;
        Media::of_block(block)?.ok_or_else(none)
    }
}

fn decoded(data: &str, mime_type: &str) -> Result<Media, Error> {
    let bytes = STANDARD
        .decode(data)
        .map_err(|e| Error::new(ErrorKind::Protocol, "the data from the server is not base64").with_source(e))?;
    Ok(Media { bytes, mime_type: mime_type.to_owned() })
}
