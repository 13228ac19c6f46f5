//! The methods of the extension, and what they say.

use couplet_types::{CacheScope, Meta, PaginatedParams, RawJson, Request, Resource, ResultType, SKILLS_EXTENSION};
use serde::{Deserialize, Deserializer, Serialize};

use crate::entry::SkillEntry;

/// `skills/list`: asks for the skills.
#[derive(Clone, Copy, Debug)]
pub struct ListSkills;

/// `skills/get`: asks for one skill by the address of its `SKILL.md`.
#[derive(Clone, Copy, Debug)]
pub struct GetSkill;

/// `resources/directory/read`: asks what is in a folder of a skill.
#[derive(Clone, Copy, Debug)]
pub struct ReadDirectory;

impl Request for ListSkills {
    const METHOD: &'static str = "skills/list";
    const EXTENSION: Option<&'static str> = Some(SKILLS_EXTENSION);
    type Params = PaginatedParams;
    type Result = ListSkillsResult;
}

impl Request for GetSkill {
    const METHOD: &'static str = "skills/get";
    const EXTENSION: Option<&'static str> = Some(SKILLS_EXTENSION);
    type Params = GetSkillParams;
    type Result = GetSkillResult;
}

impl Request for ReadDirectory {
    const METHOD: &'static str = "resources/directory/read";
    const EXTENSION: Option<&'static str> = Some(SKILLS_EXTENSION);
    type Params = ReadDirectoryParams;
    type Result = ReadDirectoryResult;
}

/// The answer to `skills/list`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListSkillsResult {
    /// The skills of this page. One that cannot be read is left out.
    #[serde(deserialize_with = "readable")]
    pub skills: Vec<SkillEntry>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// For how many milliseconds the answer may be reused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Who may share a stored copy of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// What kind of answer this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `skills/get`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GetSkillParams {
    /// The address of the skill's `SKILL.md`.
    pub uri: String,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetSkillParams {
    /// Asks for a skill.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), meta: None }
    }
}

/// The answer to `skills/get`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetSkillResult {
    /// The skill.
    pub skill: SkillEntry,
    /// For how many milliseconds the answer may be reused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Who may share a stored copy of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// What kind of answer this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `resources/directory/read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReadDirectoryParams {
    /// The address of the folder, without a slash at its end.
    pub uri: String,
    /// Where the page begins: the `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ReadDirectoryParams {
    /// Asks for the first page.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }
}

/// The answer to `resources/directory/read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadDirectoryResult {
    /// What is directly in the folder; folders have the MIME type `inode/directory`.
    pub resources: Vec<Resource>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What kind of answer this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

couplet_core::extension_messages!(
    ListSkillsResult,
    GetSkillParams,
    GetSkillResult,
    ReadDirectoryParams,
    ReadDirectoryResult
);

/// One entry that makes no sense must not hide the others.
fn readable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SkillEntry>, D::Error> {
    let read = |raw: RawJson| match raw.parse::<SkillEntry>() {
        Ok(entry) => Some(entry),
        Err(error) => {
            tracing::warn!(%error, "a skill in the list cannot be read");
            None
        }
    };
    Ok(Vec::<RawJson>::deserialize(deserializer)?.into_iter().filter_map(read).collect())
}
