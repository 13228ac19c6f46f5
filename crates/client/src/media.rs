//! Images, audio and files from a server.

use std::path::{Path, PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_core::{Error, ErrorKind};
use couplet_types::{ContentBlock, ResourceBody, ResourceContents, mime};

use crate::result::ToolResult;

/// Decoded binary content from a server, with the media type that the server claims. Not to be trusted.
///
/// ```
/// # async fn example(client: couplet_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let chart = client.call("chart", ()).await?.into_result()?;
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
    /// The media type that the server claims.
    pub mime_type: String,
}

impl Media {
    /// Decodes an image, audio or embedded resource block; `None` for other blocks.
    ///
    /// # Errors
    /// If the data is not base64.
    pub fn from_block(block: &ContentBlock) -> Result<Option<Self>, Error> {
        match block {
            ContentBlock::Image(image) => decoded(&image.data, &image.mime_type).map(Some),
            ContentBlock::Audio(audio) => decoded(&audio.data, &audio.mime_type).map(Some),
            ContentBlock::Resource(embedded) => Self::from_contents(&embedded.resource).map(Some),
            _ => Ok(None),
        }
    }

    /// Decodes the contents of a resource. Text becomes its bytes.
    ///
    /// # Errors
    /// If the data is not base64.
    pub fn from_contents(contents: &ResourceContents) -> Result<Self, Error> {
        let mime_type = |plain: &str| contents.mime_type.clone().unwrap_or_else(|| plain.to_owned());
        match &contents.body {
            ResourceBody::Text(text) => {
                Ok(Self { bytes: text.clone().into_bytes(), mime_type: mime_type("text/plain") })
            }
            ResourceBody::Blob(data) => decoded(data, &mime_type("application/octet-stream")),
        }
    }

    /// Writes the bytes to a new file, and returns its path. A path without an extension gets that of the media type.
    ///
    /// # Errors
    /// If the file exists already, or cannot be written.
    ///
    /// # Panics
    /// If it is called outside of a tokio runtime.
    pub async fn save(&self, path: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let mut path = path.as_ref().to_owned();
        if let (None, Some(extension)) = (path.extension(), mime::extension(&self.mime_type)) {
            path.set_extension(extension);
        }
        let (bytes, target) = (self.bytes.clone(), path.clone());
        let written = tokio::task::spawn_blocking(move || {
            // Content from a server must not replace an existing file.
            let mut file = std::fs::File::options().write(true).create_new(true).open(target)?;
            std::io::Write::write_all(&mut file, &bytes)
        });
        let failed = |e: std::io::Error| {
            Error::new(ErrorKind::Other, format!("`{}` cannot be written: {e}", path.display())).with_source(e)
        };
        written.await.map_err(std::io::Error::other).and_then(|done| done).map_err(failed)?;
        Ok(path)
    }
}

impl ToolResult {
    /// Decodes the first image.
    ///
    /// # Errors
    /// If there is none, or if it is not base64.
    pub fn image(&self) -> Result<Media, Error> {
        let is_image = |block: &&ContentBlock| matches!(block, ContentBlock::Image(_));
        self.first("image", is_image)
    }

    /// Decodes the first audio block.
    ///
    /// # Errors
    /// If there is none, or if it is not base64.
    pub fn audio(&self) -> Result<Media, Error> {
        let is_audio = |block: &&ContentBlock| matches!(block, ContentBlock::Audio(_));
        self.first("audio", is_audio)
    }

    /// Decodes every image, audio block and embedded resource, in order.
    ///
    /// # Errors
    /// If one is not base64.
    pub fn media(&self) -> Result<Vec<Media>, Error> {
        self.content().iter().filter_map(|block| Media::from_block(block).transpose()).collect()
    }

    fn first(&self, what: &str, wanted: impl Fn(&&ContentBlock) -> bool) -> Result<Media, Error> {
        let none = || Error::new(ErrorKind::Protocol, format!("the tool gave no {what}"));
        let block = self.content().iter().find(wanted).ok_or_else(none)?;
        Media::from_block(block)?.ok_or_else(none)
    }
}

fn decoded(data: &str, mime_type: &str) -> Result<Media, Error> {
    let bytes = STANDARD
        .decode(data)
        .map_err(|e| Error::new(ErrorKind::Protocol, "the data from the server is not base64").with_source(e))?;
    Ok(Media { bytes, mime_type: mime_type.to_owned() })
}
