//! Clients that list skills and load them.

mod load;

use couplet_client::{Client, Extension, Pages};
use couplet_core::{BoxFuture, Error};
use couplet_types::{Resource, SKILLS_EXTENSION};

use crate::{
    entry::SkillEntry,
    wire::{GetSkill, GetSkillParams, ListSkills, ReadDirectory, ReadDirectoryParams},
};

pub use load::{Differs, LoadedSkill, Mismatch};

/// The extension of a client that knows skills.
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
pub struct ClientSkills;

impl ClientSkills {
    /// Lists and loads the skills of servers.
    pub fn new() -> Self {
        Self
    }
}

impl From<ClientSkills> for Extension {
    fn from(_: ClientSkills) -> Self {
        Self::new(SKILLS_EXTENSION)
    }
}

/// What a client can do with skills; the client needs [`ClientSkills`], and the server must have skills.
pub trait LoadSkills {
    /// All skills, without reading a file of any: every page of the list.
    fn skills(&self) -> BoxFuture<'static, Result<Vec<SkillEntry>, Error>>;

    /// The pages of the list of skills.
    fn skill_pages(&self) -> Pages<SkillEntry>;

    /// One skill by the address of its `SKILL.md`, which need not be in the list.
    fn skill(&self, uri: impl Into<String>) -> BoxFuture<'static, Result<SkillEntry, Error>>;

    /// Reads the `SKILL.md` of a skill. It must be what was listed: see [`Mismatch`].
    fn load_skill(&self, entry: &SkillEntry) -> BoxFuture<'static, Result<LoadedSkill, Error>>;

    /// The pages of what is in a folder of a skill, where the server says that it can be looked into.
    fn skill_folder(&self, uri: impl Into<String>) -> Pages<Resource>;
}

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

    fn skill_folder(&self, uri: impl Into<String>) -> Pages<Resource> {
        let uri = uri.into();
        Pages::new(self, move |client, params| {
            let mut folder = ReadDirectoryParams::new(&uri);
            folder.cursor = params.cursor;
            let page = client.request::<ReadDirectory>(folder);
            Box::pin(async move { page.await.map(|page| (page.resources, page.next_cursor)) })
        })
    }
}
