//! Skills of the Model Context Protocol (SEP-2640): instructions for a model, with the files that belong to them.
//!
//! A skill is a directory with a `SKILL.md`, which begins with YAML frontmatter. [`Skills`] is the extension of a
//! server that offers skills, from a directory or built in code. [`ClientSkills`] is the extension of a client: it
//! lists skills without reading their files, and loads a skill on demand. Loaded files are verified against the listed
//! sizes and digests, so that the model gets exactly what the user approved.
//!
//! This crate uses only the public extension registries of `couplet-server` and `couplet-client`, as a third-party
//! extension would. It must not know transports and revisions.

// A crate that only needs the types needs neither side.
#![cfg_attr(not(any(feature = "server", feature = "client")), allow(dead_code))]
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

/// Seals the extension trait: methods can be added to it without a breaking change.
#[cfg(feature = "client")]
mod sealed {
    pub trait Sealed {}
}

#[cfg(feature = "client")]
pub use client::{ClientSkills, LoadSkills, LoadedSkill, Mismatch, MismatchKind};
pub use entry::{Files, MAX_BYTES, MAX_FILES, SkillEntry, SkillFile};
pub use frontmatter::Frontmatter;
#[cfg(feature = "server")]
pub use server::{Skill, Skills, SkillsHandle};
pub use wire::{
    GetSkill, GetSkillParams, GetSkillResult, ListSkills, ListSkillsResult, ReadDirectory, ReadDirectoryParams,
    ReadDirectoryResult,
};
