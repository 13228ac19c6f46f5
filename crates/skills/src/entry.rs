//! A skill as it is listed: where it is, what it says about itself, and which files it has.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::{digest, frontmatter::Frontmatter};

/// How many files a skill may have, `SKILL.md` included.
pub const MOST_FILES: usize = 512;

/// How many bytes they may have together.
pub const MOST_BYTES: u64 = 16 << 20;

/// The file that every skill has.
pub(crate) const SKILL_MD: &str = "SKILL.md";

/// A skill as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillEntry {
    /// The address of its `SKILL.md`.
    pub uri: String,
    /// The fields at the beginning of that file.
    pub frontmatter: Frontmatter,
    /// Its files.
    #[serde(rename = "resources")]
    pub files: Files,
}

/// The files of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Files {
    /// All of them, `SKILL.md` included.
    Listed(Vec<SkillFile>),
    /// They are made when they are read, and nothing can be said about them before.
    Dynamic,
}

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillFile {
    /// Its address.
    pub uri: String,
    /// The SHA-256 of its bytes: `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// How many bytes it has.
    pub size: u64,
}

impl SkillEntry {
    /// The address of the skill's folder, without a slash at its end.
    pub fn folder(&self) -> &str {
        self.uri.strip_suffix(SKILL_MD).unwrap_or(&self.uri).trim_end_matches('/')
    }

    /// The file with an address, if it is listed.
    pub fn file(&self, uri: &str) -> Option<&SkillFile> {
        match &self.files {
            Files::Listed(files) => files.iter().find(|file| file.uri == uri),
            Files::Dynamic => None,
        }
    }

    /// Whether an address is one below the skill's folder.
    pub(crate) fn contains(&self, uri: &str) -> bool {
        let below = uri.strip_prefix(self.folder()).and_then(|rest| rest.strip_prefix('/'));
        // What is decoded later must not lead out of the folder either.
        let step = |part: &str| matches!(part.to_ascii_lowercase().replace("%2e", ".").as_str(), "" | "." | "..");
        below.is_some_and(|path| !path.contains(['?', '#', '\\']) && !path.split('/').any(step))
    }

    /// Checks what a server lists: nothing of it can be trusted.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.frontmatter.check()?;
        let folder = self.uri.strip_suffix(SKILL_MD).and_then(|folder| folder.strip_suffix('/'));
        let folder = folder.ok_or_else(|| format!("`{}` does not end with `/{SKILL_MD}`", self.uri))?;
        let last = folder.rsplit_once('/').map(|(_, name)| name);
        if last != Some(self.frontmatter.name()) {
            return Err(format!("the folder of `{}` is not called `{}`", self.uri, self.frontmatter.name()));
        }
        match &self.files {
            Files::Listed(files) => self.check_files(files),
            Files::Dynamic => Ok(()),
        }
    }

    fn check_files(&self, files: &[SkillFile]) -> Result<(), String> {
        if files.len() > MOST_FILES {
            return Err(format!("`{}` has more than {MOST_FILES} files", self.uri));
        }
        let bytes = files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
        if bytes > MOST_BYTES {
            return Err(format!("`{}` has more than {MOST_BYTES} bytes", self.uri));
        }
        let mut seen = std::collections::BTreeSet::new();
        for SkillFile { uri, digest, .. } in files {
            if !self.contains(uri) {
                return Err(format!("`{uri}` is not in the folder of `{}`", self.uri));
            }
            if !digest::is_one(digest) {
                return Err(format!("the digest of `{uri}` is not one"));
            }
            if !seen.insert(uri) {
                return Err(format!("`{uri}` is listed twice"));
            }
        }
        if seen.contains(&self.uri) { Ok(()) } else { Err(format!("`{}` does not list itself", self.uri)) }
    }
}

/// The word that stands for files which are not known before.
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
            _ => Err(de::Error::custom("`resources` is neither a list nor `dynamic`")),
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
        assert_eq!(entry(|e| e["resources"][1]["size"] = json!(MOST_BYTES)), Ok(()));
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
            ("/resources/1/size", json!(MOST_BYTES + 1)),
        ] {
            let error = entry(|e| *e.pointer_mut(member).expect("a member") = wrong.clone());
            assert!(error.is_err(), "{member} {wrong}");
        }
        let many = |e: &mut Value| {
            let first = e["resources"][0].clone();
            let more = (0..MOST_FILES)
                .map(|n| json!({ "uri": format!("skill://acme/pdf/{n}"), "digest": digest::of(b""), "size": 0 }));
            e["resources"] = std::iter::once(first).chain(more).collect();
        };
        assert!(entry(many).is_err_and(|e| e.contains("512 files")));
    }
}
