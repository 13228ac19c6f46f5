//! The text of a lock file: sorted JSON that reads well in a review.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, Visitor},
};

use super::{
    Approval, Digest, Hints, Lock,
    lock::{Approved, ServerPins},
    node::Node,
    time,
};
use crate::names::{Kind, ServerId};

/// The version of the format.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FileText {
    version: u32,
    #[serde(deserialize_with = "unique")]
    servers: BTreeMap<ServerId, ServerText>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ServerText {
    #[serde(skip_serializing_if = "Option::is_none")]
    launch: Option<ItemText>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    baseline: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<ItemText>,
    #[serde(deserialize_with = "unique", skip_serializing_if = "BTreeMap::is_empty")]
    tools: BTreeMap<String, ItemText>,
    #[serde(deserialize_with = "unique", skip_serializing_if = "BTreeMap::is_empty")]
    prompts: BTreeMap<String, ItemText>,
    #[serde(deserialize_with = "unique", skip_serializing_if = "BTreeMap::is_empty")]
    templates: BTreeMap<String, ItemText>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ItemText {
    digest: Digest,
    approved: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    #[serde(default, skip_serializing_if = "Hints::is_empty")]
    hints: Hints,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<Node>,
}

impl Lock {
    /// Parses the text of a lock file.
    ///
    /// # Errors
    /// If the text is not a lock file of this version, has a key twice, or has a definition with another digest.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let wrong = |error: serde_json::Error| LockError(couplet_core::visible(&error.to_string()));
        let Version { version } = serde_json::from_str(text).map_err(wrong)?;
        if version != VERSION {
            return Err(LockError(format!("its version is {version}, and this program reads version {VERSION}")));
        }
        let file: FileText = serde_json::from_str(text).map_err(wrong)?;
        let mut lock = Self::default();
        for (id, text) in file.servers {
            let server = ServerPins::from_text(text).map_err(|error| LockError(format!("server `{id}`: {error}")))?;
            lock.servers.insert(id, server);
        }
        Ok(lock)
    }
}

impl ServerPins {
    fn from_text(text: ServerText) -> Result<Self, String> {
        let launch = text.launch.map(|launch| Ok::<_, String>((launch.digest, launch.approval()?))).transpose()?;
        let mut items = BTreeMap::new();
        let instructions = text.instructions.map(|item| (Kind::Instructions, (String::new(), item)));
        let of = |kind, items: BTreeMap<String, ItemText>| items.into_iter().map(move |item| (kind, item));
        let all = instructions.into_iter().chain(of(Kind::Tool, text.tools));
        for (kind, (raw, item)) in all.chain(of(Kind::Prompt, text.prompts)).chain(of(Kind::Template, text.templates)) {
            let approved =
                item.approved().map_err(|error| format!("{kind} `{}`: {error}", couplet_core::visible(&raw)))?;
            items.insert((kind, raw), approved);
        }
        Ok(Self { launch, baseline: text.baseline, items })
    }

    fn to_text(&self) -> ServerText {
        let launch = self.launch.as_ref().map(|(digest, approval)| ItemText::new(*digest, approval));
        let mut text = ServerText { launch, baseline: self.baseline, ..ServerText::default() };
        for ((kind, raw), approved) in &self.items {
            let mut item = ItemText::new(approved.digest, &approved.approval);
            (item.hints, item.definition) = (approved.hints, approved.definition.clone());
            match kind {
                Kind::Instructions => text.instructions = Some(item),
                Kind::Tool => drop(text.tools.insert(raw.clone(), item)),
                Kind::Prompt => drop(text.prompts.insert(raw.clone(), item)),
                // Resources are not pinned.
                Kind::Template | Kind::Resource => drop(text.templates.insert(raw.clone(), item)),
            }
        }
        text
    }
}

impl ItemText {
    fn new(digest: Digest, Approval { at, by, expires }: &Approval) -> Self {
        let (approved, expires) = (time::format(*at), expires.map(time::format));
        Self { digest, approved, by: by.clone(), expires, hints: Hints::default(), definition: None }
    }

    fn approval(&self) -> Result<Approval, String> {
        let parse = |text: &String| {
            let wrong = || format!("`{}` is not a time such as `2026-11-17T12:00:00Z`", couplet_core::visible(text));
            time::parse(text).ok_or_else(wrong)
        };
        let expires = self.expires.as_ref().map(parse).transpose()?;
        Ok(Approval { at: parse(&self.approved)?, by: self.by.clone(), expires })
    }

    fn approved(self) -> Result<Approved, String> {
        let approval = self.approval()?;
        if self.definition.as_ref().is_some_and(|definition| Digest::of(definition.text()) != self.digest) {
            return Err(
                "the definition does not have this digest; restore the file, or approve the server again".to_owned()
            );
        }
        Ok(Approved { digest: self.digest, hints: self.hints, approval, definition: self.definition })
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers = self.servers.iter().map(|(id, server)| (id.clone(), server.to_text())).collect();
        let text = serde_json::to_string_pretty(&FileText { version: VERSION, servers }).map_err(|_| fmt::Error)?;
        writeln!(f, "{text}")
    }
}

/// Deserializes a map and refuses a key that appears twice, as it does after a careless merge.
fn unique<'de, D, K, V>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de> + Ord + fmt::Display,
    V: Deserialize<'de>,
{
    struct Unique<K, V>(PhantomData<(K, V)>);

    impl<'de, K: Deserialize<'de> + Ord + fmt::Display, V: Deserialize<'de>> Visitor<'de> for Unique<K, V> {
        type Value = BTreeMap<K, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = BTreeMap::new();
            while let Some(key) = map.next_key::<K>()? {
                if members.contains_key(&key) {
                    return Err(de::Error::custom(format!("`{key}` appears twice")));
                }
                members.insert(key, map.next_value()?);
            }
            Ok(members)
        }
    }

    deserializer.deserialize_map(Unique(PhantomData))
}

/// A text that is not a lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockError(String);

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a lock file: {}", self.0)
    }
}

impl std::error::Error for LockError {}
