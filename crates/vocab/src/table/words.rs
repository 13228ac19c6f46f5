//! Descriptions of definitions and members: from the documentation of the Rust types, and for the rest from
//! `words.txt`.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use super::TABLE;

type Words = BTreeMap<(&'static str, Option<&'static str>), &'static str>;

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let mut words = Words::new();
    read(include_str!("words.txt"), &mut words);
    read(include_str!("types.txt"), &mut words);
    words
});

/// The description of a definition.
pub(super) fn definition(name: &str) -> Option<Cow<'static, str>> {
    if let Some(said) = WORDS.get(&(name, None)) {
        return Some(Cow::Borrowed(said));
    }
    let method = TABLE.methods.iter().find(|(_, definition)| **definition == name).map(|(method, _)| *method);
    let kind = if name.ends_with("Notification") { "notification" } else { "request" };
    method.map(|method| Cow::Owned(format!("The {kind} `{method}`."))).or_else(|| {
        let result = name.strip_suffix("Response")?;
        Some(Cow::Owned(format!("The response to a request, with a `{result}`.")))
    })
}

/// The description of a member; descriptions that hold for every definition are under `*`.
pub(super) fn member(definition: &str, name: &str) -> Option<&'static str> {
    WORDS.get(&(definition, Some(name))).or_else(|| WORDS.get(&("*", Some(name)))).copied()
}

/// Parses names and descriptions: `Name Alias : words`, and below `  member Type : words`.
fn read(text: &'static str, words: &mut Words) {
    let mut open: Vec<&'static str> = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let Some((left, said)) = line.split_once(" : ") else { continue };
        if let Some(member) = left.strip_prefix("  ") {
            let name = member.split(' ').next().unwrap_or_default().trim_end_matches('?');
            words.extend(open.iter().map(|definition| ((*definition, Some(name)), said)));
        } else {
            open = left.split(" = ").next().unwrap_or_default().split(' ').collect();
            words.extend(open.iter().map(|definition| ((*definition, None), said)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_have_their_say() {
        assert_eq!(member("Tool", "name"), Some("The programmatic name."));
        assert_eq!(definition("CallToolRequestParams").as_deref(), Some("Parameters of `tools/call`."));
        assert_eq!(definition("CallToolRequest").as_deref(), Some("The request `tools/call`."));
        assert!(member("Tool", "none").is_none());
    }

    #[test]
    fn nothing_is_without_words() {
        for it in TABLE.definitions.values() {
            assert!(definition(it.name).is_some(), "`{}` is not in `words.txt`", it.name);
            for m in it.members() {
                assert!(member(it.name, m.name).is_some(), "`{}.{}` is not in `words.txt`", it.name, m.name);
            }
        }
    }
}
