//! The entry of a skill in `skills/list`: its URI, its frontmatter and its files.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::{digest, frontmatter::Frontmatter};

/// The maximum number of files of a skill, including `SKILL.md`.
pub const MAX_FILES: usize = 512;

/// The maximum size of all files of a skill in bytes.
pub const MAX_BYTES: u64 = 16 << 20;

/// The file that every skill has.
pub(crate) const SKILL_MD: &str = "SKILL.md";

/// The entry of a skill in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillEntry {
    /// The URI of the skill's `SKILL.md`.
    pub uri: String,
    /// The frontmatter of that file.
    pub frontmatter: Frontmatter,
    /// The files of the skill.
    #[serde(rename = "resources")]
    pub files: Files,
}

/// The files of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Files {
    /// The complete list, including `SKILL.md`.
    Listed(Vec<SkillFile>),
    /// Generated when they are read: there are no sizes and digests to verify.
    Dynamic,
}

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillFile {
    /// The URI of the file.
    pub uri: String,
    /// The SHA-256 digest of its content: `sha256:` and 64 lower-case hexadecimal digits.
    pub digest: String,
    /// The size in bytes.
    pub size: u64,
}

impl SkillEntry {
    /// Returns the URI of the skill's directory, without a trailing slash.
    pub fn directory(&self) -> &str {
        self.uri.strip_suffix(SKILL_MD).unwrap_or(&self.uri).trim_end_matches('/')
    }

    /// Returns the listed file with this URI.
    pub fn file(&self, uri: &str) -> Option<&SkillFile> {
        match &self.files {
            Files::Listed(files) => files.iter().find(|file| file.uri == uri),
            Files::Dynamic => None,
        }
    }

    /// Whether a URI is below the skill's directory.
    pub(crate) fn contains(&self, uri: &str) -> bool {
        let below = uri.strip_prefix(self.directory()).and_then(|rest| rest.strip_prefix('/'));
        // Percent-encoded dots must not lead out of the directory either.
        let step = |part: &str| matches!(part.to_ascii_lowercase().replace("%2e", ".").as_str(), "" | "." | "..");
        below.is_some_and(|path| !path.contains(['?', '#', '\\']) && !path.split('/').any(step))
    }

    /// Validates an entry from an untrusted server.
    ///
    /// It checks the frontmatter, that the directory has the skill's name, that all files are below it and have
    /// well-formed digests, and the limits [`MAX_FILES`] and [`MAX_BYTES`].
    ///
    /// # Errors
    /// Fails with a description of the first problem.
    pub fn check(&self) -> Result<(), String> {
        self.frontmatter.check()?;
        let folder = self.uri.strip_suffix(SKILL_MD).and_then(|folder| folder.strip_suffix('/'));
        let folder = folder.ok_or_else(|| format!("`{}` must end with `/{SKILL_MD}`", self.uri))?;
        let last = folder.rsplit_once('/').map(|(_, name)| name);
        if last != Some(self.frontmatter.name()) {
            return Err(format!(
                "the directory of `{}` must have the skill's name, `{}`",
                self.uri,
                self.frontmatter.name()
            ));
        }
        match &self.files {
            Files::Listed(files) => self.check_files(files),
            Files::Dynamic => Ok(()),
        }
    }

    fn check_files(&self, files: &[SkillFile]) -> Result<(), String> {
        if files.len() > MAX_FILES {
            return Err(format!("`{}` has more than {MAX_FILES} files", self.uri));
        }
        let bytes = files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
        if bytes > MAX_BYTES {
            return Err(format!("`{}` has more than {MAX_BYTES} bytes", self.uri));
        }
        let mut seen = std::collections::BTreeSet::new();
        for SkillFile { uri, digest, .. } in files {
            if !self.contains(uri) {
                return Err(format!("`{uri}` is not in the directory of `{}`", self.uri));
            }
            if !digest::is_one(digest) {
                return Err(format!("the digest of `{uri}` must be `sha256:` and 64 lower-case hexadecimal digits"));
            }
            if !seen.insert(uri) {
                return Err(format!("`{uri}` is listed twice"));
            }
        }
        if seen.contains(&self.uri) {
            Ok(())
        } else {
            Err(format!("`{}` does not list its own `{SKILL_MD}`", self.uri))
        }
    }
}

/// The value for files that are generated on demand.
const DYNAMIC: &str = "dynamic";

impl Serialize for Files {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Listed(files) => files.serialize(serializer),
            Self::Dynamic => serializer.serialize_str(DYNAMIC),
        }
    }
}

impl<'de> Deserialize<'de> for Files {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(word) if word == DYNAMIC => Ok(Self::Dynamic),
            list @ Value::Array(_) => Vec::deserialize(list).map(Self::Listed).map_err(de::Error::custom),
            _ => Err(de::Error::custom("`resources` must be a list or `\"dynamic\"`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(change: impl FnOnce(&mut Value)) -> Result<(), String> {
        let file = |uri: &str| json!({ "uri": uri, "digest": digest::of(b""), "size": 0 });
        let mut entry = json!({
            "uri": "skill://acme/pdf/SKILL.md",
            "frontmatter": { "name": "pdf", "description": "d" },
            "resources": [file("skill://acme/pdf/SKILL.md"), file("skill://acme/pdf/a/b.md")],
        });
        change(&mut entry);
        serde_json::from_value::<SkillEntry>(entry).map_err(|e| e.to_string())?.check()
    }

    #[test]
    fn what_is_listed_is_checked() {
        assert_eq!(entry(|_| ()), Ok(()));
        assert_eq!(entry(|e| e["resources"] = json!("dynamic")), Ok(()));
        assert_eq!(entry(|e| e["resources"][1]["size"] = json!(MAX_BYTES)), Ok(()));
        for (member, wrong) in [
            ("/uri", json!("skill://acme/pdf/README.md")),
            ("/uri", json!("skill://acme/doc/SKILL.md")),
            ("/frontmatter/name", json!("PDF")),
            ("/frontmatter/description", json!("")),
            ("/resources", json!("later")),
            ("/resources", json!([])),
            ("/resources/1/uri", json!("skill://acme/pdf/SKILL.md")),
            ("/resources/1/uri", json!("skill://acme/other/a.md")),
            ("/resources/1/uri", json!("skill://acme/pdf/../other/a.md")),
            ("/resources/1/uri", json!("skill://acme/pdf/%2E%2e/other/a.md")),
            ("/resources/1/digest", json!("sha256:1")),
            ("/resources/1/size", json!(-1)),
            ("/resources/1/size", json!(MAX_BYTES + 1)),
        ] {
            let error = entry(|e| *e.pointer_mut(member).expect("a member") = wrong.clone());
            assert!(error.is_err(), "{member} {wrong}");
        }
        let many = |e: &mut Value| {
            let first = e["resources"][0].clone();
            let more = (0..MAX_FILES)
                .map(|n| json!({ "uri": format!("skill://acme/pdf/{n}"), "digest": digest::of(b""), "size": 0 }));
            e["resources"] = std::iter::once(first).chain(more).collect();
        };
        assert!(entry(many).is_err_and(|e| e.contains("512 files")));
    }
}
