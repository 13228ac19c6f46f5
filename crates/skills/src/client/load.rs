//! Loading a skill: what is read must be what was listed.

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

/// A skill whose instructions were read. Its other files are read when they are asked for.
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
    /// Where the instructions begin.
    body: usize,
    /// The first thing that was not as listed: from then on nothing is read.
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
            return Err(Mismatch { uri: entry.uri, differs: Differs::Frontmatter(field) }.into());
        }
        let body = text.len() - body.len();
        Ok(Self { client, entry, text, body, spoilt: Arc::default() })
    }

    /// The skill as it was listed.
    pub fn entry(&self) -> &SkillEntry {
        &self.entry
    }

    /// `SKILL.md`, all of it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What `SKILL.md` says after its fields.
    pub fn instructions(&self) -> &str {
        self.text.get(self.body..).unwrap_or_default()
    }

    /// Whether the files are compared with what was listed: a server need not list them.
    pub fn is_verified(&self) -> bool {
        matches!(self.entry.files, Files::Listed(_))
    }

    /// Reads a file by its address, or by its path below the skill's folder. Of a skill that lists its files, only those
    /// can be read, and they must be as listed. After one that is not, nothing is read any more.
    ///
    /// # Errors
    /// When the file is not one of the skill's, cannot be read, or is not as listed: see [`Mismatch::of`].
    pub async fn file(&self, path: &str) -> Result<Vec<u8>, Error> {
        if let Some(mismatch) = self.spoilt.get() {
            return Err(mismatch.clone().into());
        }
        let inside = path.starts_with(self.entry.folder());
        let uri = if inside { path.to_owned() } else { format!("{}/{path}", self.entry.folder()) };
        let known = if self.is_verified() { self.entry.file(&uri).is_some() } else { self.entry.contains(&uri) };
        if !known {
            return Err(Error::new(ErrorKind::Config, format!("the skill has no file `{path}`")));
        }
        let bytes = read(&self.client, &uri).await?;
        verify(&self.entry, &uri, &bytes).map_err(|mismatch| self.spoilt.get_or_init(|| mismatch).clone())?;
        Ok(bytes)
    }
}

/// A file that is not what was listed. The skill must not be used.
///
/// ```
/// use couplet_core::Error;
/// use couplet_skills::Mismatch;
///
/// fn report(error: &Error) {
///     if let Some(mismatch) = Mismatch::of(error) {
///         tracing::warn!("{} is not what was agreed to: {:?}", mismatch.uri, mismatch.differs);
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The address of the file.
    pub uri: String,
    /// In what it differs.
    pub differs: Differs,
}

/// In what a file differs from what was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Differs {
    /// It has another length.
    Size,
    /// It has other bytes.
    Digest,
    /// A field at its beginning is another one.
    Frontmatter(String),
}

impl Mismatch {
    /// The mismatch that an error is about, if it is about one.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uri = &self.uri;
        match &self.differs {
            Differs::Size => write!(f, "`{uri}` is not what was listed: its size differs"),
            Differs::Digest => write!(f, "`{uri}` is not what was listed: its digest differs"),
            Differs::Frontmatter(field) => {
                write!(f, "`{uri}` is not what was listed: its frontmatter differs in `{field}`")
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

/// The bytes of a file.
async fn read(client: &Client, uri: &str) -> Result<Vec<u8>, Error> {
    let mut result = client.read(uri).await?;
    let wrong = |what: &str| Error::new(ErrorKind::Protocol, format!("`{uri}` cannot be read: {what}"));
    let (Some(contents), true) = (result.contents.pop(), result.contents.is_empty()) else {
        return Err(wrong("a file has one content"));
    };
    match (contents.as_text(), contents.as_blob()) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (_, Some(blob)) => STANDARD.decode(blob).map_err(|e| wrong("it is not base64").with_source(e)),
        _ => Err(wrong("it has no content")),
    }
}

/// Compares a file with what was listed about it, if something was.
fn verify(entry: &SkillEntry, uri: &str, bytes: &[u8]) -> Result<(), Mismatch> {
    let Some(file) = entry.file(uri) else { return Ok(()) };
    let differs = if file.size != bytes.len() as u64 {
        Differs::Size
    } else if file.digest != digest::of(bytes) {
        Differs::Digest
    } else {
        return Ok(());
    };
    Err(Mismatch { uri: uri.to_owned(), differs })
}
