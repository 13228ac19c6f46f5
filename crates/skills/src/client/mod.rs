//! The client side: listing and loading skills.

mod load;

use couplet_client::{Client, Extension, Pages};
use couplet_core::{BoxFuture, Error};
use couplet_types::{Resource, SKILLS_EXTENSION};

use crate::{
    entry::SkillEntry,
    sealed::Sealed,
    wire::{GetSkill, GetSkillParams, ListSkills, ReadDirectory, ReadDirectoryParams},
};

pub use load::{LoadedSkill, Mismatch, MismatchKind};

/// The skills extension of a client.
///
/// ```
/// # async fn example(server: std::sync::Arc<dyn couplet_core::Service>) -> Result<(), couplet_core::Error> {
/// use couplet_client::Client;
/// use couplet_skills::{ClientSkills, LoadSkills};
///
/// let client = Client::new("demo", "1.0.0").extension(ClientSkills::new()).connect(server).await?;
/// for skill in client.skills().await? {
///     tracing::info!("{}: {}", skill.frontmatter.name(), skill.frontmatter.description());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "register it with `ClientBuilder::extension`"]
#[non_exhaustive]
pub struct ClientSkills;

impl ClientSkills {
    /// Creates the extension.
    pub fn new() -> Self {
        Self
    }
}

impl From<ClientSkills> for Extension {
    fn from(_: ClientSkills) -> Self {
        Self::new(SKILLS_EXTENSION)
    }
}

/// Extension methods for skills on a [`Client`].
///
/// Register [`ClientSkills`] on the client first; the server must have the extension, too. This trait is sealed: it is
/// implemented for [`Client`] alone.
pub trait LoadSkills: Sealed {
    /// Lists all skills without reading their files, across all pages.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or answers with an error.
    fn skills(&self) -> BoxFuture<'static, Result<Vec<SkillEntry>, Error>>;

    /// Returns the pages of the list of skills.
    fn skill_pages(&self) -> Pages<SkillEntry>;

    /// Fetches the entry of one skill by the URI of its `SKILL.md`. The skill need not be listed.
    ///
    /// # Errors
    /// Fails if the server has no such skill or cannot be reached.
    fn skill(&self, uri: impl Into<String>) -> BoxFuture<'static, Result<SkillEntry, Error>>;

    /// Reads and verifies the `SKILL.md` of a skill.
    ///
    /// # Errors
    /// Fails if the entry is invalid ([`SkillEntry::check`]), the file cannot be read, or it differs from the list
    /// ([`Mismatch`]).
    fn load_skill(&self, entry: &SkillEntry) -> BoxFuture<'static, Result<LoadedSkill, Error>>;

    /// Returns the pages of a directory of a skill. Not every server supports this (`directoryRead`).
    fn skill_directory(&self, uri: impl Into<String>) -> Pages<Resource>;
}

impl Sealed for Client {}

impl LoadSkills for Client {
    fn skills(&self) -> BoxFuture<'static, Result<Vec<SkillEntry>, Error>> {
        Box::pin(self.skill_pages().all())
    }

    fn skill_pages(&self) -> Pages<SkillEntry> {
        Pages::new(self, |client, params| {
            let page = client.request::<ListSkills>(params);
            Box::pin(async move { page.await.map(|page| (page.skills, page.next_cursor)) })
        })
    }

    fn skill(&self, uri: impl Into<String>) -> BoxFuture<'static, Result<SkillEntry, Error>> {
        let asked = self.request::<GetSkill>(GetSkillParams::new(uri));
        Box::pin(async move { asked.await.map(|got| got.skill) })
    }

    fn load_skill(&self, entry: &SkillEntry) -> BoxFuture<'static, Result<LoadedSkill, Error>> {
        Box::pin(LoadedSkill::load(self.clone(), entry.clone()))
    }

    fn skill_directory(&self, uri: impl Into<String>) -> Pages<Resource> {
        let uri = uri.into();
        Pages::new(self, move |client, params| {
            let mut folder = ReadDirectoryParams::new(&uri);
            folder.cursor = params.cursor;
            let page = client.request::<ReadDirectory>(folder);
            Box::pin(async move { page.await.map(|page| (page.resources, page.next_cursor)) })
        })
    }
}
