//! Methods of the extension, with their parameters and results.

use couplet_types::{CacheScope, Meta, PaginatedParams, RawJson, Request, Resource, ResultType, SKILLS_EXTENSION};
use serde::{Deserialize, Deserializer, Serialize};

use crate::entry::SkillEntry;

/// `skills/list`: lists the skills of a server.
#[derive(Clone, Copy, Debug)]
pub struct ListSkills;

/// `skills/get`: returns the entry of one skill by the URI of its `SKILL.md`.
#[derive(Clone, Copy, Debug)]
pub struct GetSkill;

/// `resources/directory/read`: lists a directory of a skill.
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

/// The result of `skills/list`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListSkillsResult {
    /// The skills of this page. Entries that cannot be parsed are skipped.
    #[serde(deserialize_with = "readable")]
    pub skills: Vec<SkillEntry>,
    /// The cursor of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The time for which the result may be cached, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The scope of the cache: shared between users, or private to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `resultType` member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The `_meta` member.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `skills/get`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GetSkillParams {
    /// The URI of the skill's `SKILL.md`.
    pub uri: String,
    /// The `_meta` member.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetSkillParams {
    /// Creates the parameters.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), meta: None }
    }
}

/// The result of `skills/get`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetSkillResult {
    /// The skill.
    pub skill: SkillEntry,
    /// The time for which the result may be cached, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The scope of the cache: shared between users, or private to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `resultType` member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The `_meta` member.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `resources/directory/read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReadDirectoryParams {
    /// The URI of the directory, without a trailing slash.
    pub uri: String,
    /// The cursor of the page: `next_cursor` of the previous one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The `_meta` member.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ReadDirectoryParams {
    /// Creates the parameters for the first page.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }
}

/// The result of `resources/directory/read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadDirectoryResult {
    /// The direct entries; directories have the MIME type `inode/directory`.
    pub resources: Vec<Resource>,
    /// The cursor of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The `resultType` member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The `_meta` member.
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

/// Skips entries that cannot be parsed, so that they do not hide the others.
fn readable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SkillEntry>, D::Error> {
    let read = |raw: RawJson| match raw.parse::<SkillEntry>() {
        Ok(entry) => Some(entry),
        Err(error) => {
            tracing::warn!(%error, "an entry of the list of skills cannot be parsed; it is skipped");
            None
        }
    };
    Ok(Vec::<RawJson>::deserialize(deserializer)?.into_iter().filter_map(read).collect())
}
