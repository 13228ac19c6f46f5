//! Skills of the Model Context Protocol (SEP-2640): instructions for a model, with the files that belong to them.
//!
//! A skill is a folder with a `SKILL.md`, which begins with a few fields in YAML. [`Skills`] is the extension of a
//! server that offers skills, from a folder or made in code; [`ClientSkills`] is the client's. A client lists skills
//! without reading any, and loads one when it is needed: what it reads is compared with what was listed, so what
//! somebody agreed to is what the model gets.
//!
//! This crate is written on the registries of `couplet-server` and `couplet-client` alone, as anybody's extension could
//! be. It must not know transports and revisions.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod client;
mod digest;
mod entry;
mod frontmatter;
#[cfg(feature = "server")]
mod server;
mod wire;
mod yaml;

#[cfg(feature = "client")]
pub use client::{ClientSkills, Differs, LoadSkills, LoadedSkill, Mismatch};
pub use entry::{Files, MOST_BYTES, MOST_FILES, SkillEntry, SkillFile};
pub use frontmatter::Frontmatter;
#[cfg(feature = "server")]
pub use server::{Skill, Skills};
pub use wire::{
    GetSkill, GetSkillParams, GetSkillResult, ListSkills, ListSkillsResult, ReadDirectory, ReadDirectoryParams,
    ReadDirectoryResult,
};
