//! Loading and verification of skills.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_client::Client;
use couplet_core::{Error, ErrorKind};

use crate::{
    digest,
    entry::{Files, SkillEntry},
    frontmatter::Frontmatter,
};

/// A loaded skill: its `SKILL.md` was read and verified. Other files are read on demand.
///
/// ```
/// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
/// use couplet_skills::LoadSkills;
///
/// let entry = client.skill("skill://acme/refunds/SKILL.md").await?;
/// let skill = client.load_skill(&entry).await?;
/// tracing::info!("{}", skill.instructions());
/// let rules = skill.file("references/rules.md").await?;
/// # drop(rules);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct LoadedSkill {
    client: Client,
    entry: SkillEntry,
    text: String,
    /// The byte offset of the body.
    body: usize,
    /// The first mismatch: from then on every read fails.
    spoilt: Arc<OnceLock<Mismatch>>,
}

impl LoadedSkill {
    pub(super) async fn load(client: Client, entry: SkillEntry) -> Result<Self, Error> {
        let wrong = |what: String| Error::new(ErrorKind::Protocol, format!("the skill cannot be loaded: {what}"));
        entry.check().map_err(wrong)?;
        let bytes = read(&client, &entry.uri).await?;
        verify(&entry, &entry.uri, &bytes)?;
        let text = String::from_utf8(bytes).map_err(|_| wrong(format!("`{}` is not UTF-8", entry.uri)))?;
        let (fields, body) = Frontmatter::split(&text).map_err(|e| wrong(format!("`{}`: {e}", entry.uri)))?;
        if let Some(field) = entry.frontmatter.differs(&fields) {
            return Err(Mismatch { uri: entry.uri, kind: MismatchKind::Frontmatter(field) }.into());
        }
        let body = text.len() - body.len();
        Ok(Self { client, entry, text, body, spoilt: Arc::default() })
    }

    /// Returns the entry that the skill was loaded from.
    pub fn entry(&self) -> &SkillEntry {
        &self.entry
    }

    /// Returns the full text of `SKILL.md`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the instructions: the body of `SKILL.md` after the frontmatter.
    pub fn instructions(&self) -> &str {
        self.text.get(self.body..).unwrap_or_default()
    }

    /// Returns whether files are verified. `false` for a server that generates files on demand and lists no digests.
    pub fn is_verified(&self) -> bool {
        matches!(self.entry.files, Files::Listed(_))
    }

    /// Reads a file by its URI, or by its path below the skill's directory.
    ///
    /// If the entry lists files, only those can be read, and their size and digest must match. After a mismatch every
    /// further read fails.
    ///
    /// # Errors
    /// Fails if the file does not belong to the skill, cannot be read, or does not match its listed size or digest (see
    /// [`Mismatch::of`]).
    pub async fn file(&self, path: &str) -> Result<Vec<u8>, Error> {
        if let Some(mismatch) = self.spoilt.get() {
            return Err(mismatch.clone().into());
        }
        let inside = path.starts_with(self.entry.directory());
        let uri = if inside { path.to_owned() } else { format!("{}/{path}", self.entry.directory()) };
        let known = if self.is_verified() { self.entry.file(&uri).is_some() } else { self.entry.contains(&uri) };
        if !known {
            return Err(Error::new(ErrorKind::Config, format!("the skill has no file `{path}`")));
        }
        let bytes = read(&self.client, &uri).await?;
        verify(&self.entry, &uri, &bytes).map_err(|mismatch| self.spoilt.get_or_init(|| mismatch).clone())?;
        Ok(bytes)
    }
}

/// A file whose content differs from the list. The skill must not be used.
///
/// ```
/// use couplet_core::Error;
/// use couplet_skills::Mismatch;
///
/// fn report(error: &Error) {
///     if let Some(mismatch) = Mismatch::of(error) {
///         tracing::warn!("{} differs from the list: {:?}", mismatch.uri, mismatch.kind);
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The URI of the file.
    pub uri: String,
    /// The kind of the mismatch.
    pub kind: MismatchKind,
}

/// The kind of a [`Mismatch`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MismatchKind {
    /// The size differs.
    Size,
    /// The digest differs.
    Digest,
    /// A field of the frontmatter differs.
    Frontmatter(String),
}

impl Mismatch {
    /// Returns the mismatch that caused an error, if any.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uri = &self.uri;
        match &self.kind {
            MismatchKind::Size => write!(f, "`{uri}` does not match the list: its size differs"),
            MismatchKind::Digest => write!(f, "`{uri}` does not match the list: its digest differs"),
            MismatchKind::Frontmatter(field) => {
                write!(f, "`{uri}` does not match the list: its frontmatter differs in `{field}`")
            }
        }
    }
}

impl std::error::Error for Mismatch {}

impl From<Mismatch> for Error {
    fn from(mismatch: Mismatch) -> Self {
        Self::new(ErrorKind::Protocol, mismatch.to_string()).with_source(mismatch)
    }
}

/// Reads the content of a file.
async fn read(client: &Client, uri: &str) -> Result<Vec<u8>, Error> {
    let mut result = client.read(uri).await?;
    let wrong = |what: &str| Error::new(ErrorKind::Protocol, format!("`{uri}` cannot be read: {what}"));
    let (Some(contents), true) = (result.contents.pop(), result.contents.is_empty()) else {
        return Err(wrong("expected exactly one content"));
    };
    match (contents.as_text(), contents.as_blob()) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (_, Some(blob)) => STANDARD.decode(blob).map_err(|e| wrong("its blob is not base64").with_source(e)),
        _ => Err(wrong("it has neither text nor a blob")),
    }
}

/// Compares a file with its listed size and digest, if it is listed.
fn verify(entry: &SkillEntry, uri: &str, bytes: &[u8]) -> Result<(), Mismatch> {
    let Some(file) = entry.file(uri) else { return Ok(()) };
    let kind = if file.size != bytes.len() as u64 {
        MismatchKind::Size
    } else if file.digest != digest::of(bytes) {
        MismatchKind::Digest
    } else {
        return Ok(());
    };
    Err(Mismatch { uri: uri.to_owned(), kind })
}
