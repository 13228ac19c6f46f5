//! The rules of the draft for the members of a card.

use super::{CardRemote, SCHEMA, ServerCard};

impl ServerCard {
    /// Returns what is wrong with the card by the rules of the draft, each as a sentence; nothing if it is valid.
    pub fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut check = |is_good: bool, what: String| {
            if !is_good {
                found.push(what);
            }
        };
        check(self.schema == SCHEMA, format!("`$schema` must be `{SCHEMA}`, and is `{}`", self.schema));
        check(is_name(&self.name), format!("`name` must be like `com.example/weather`, and is `{}`", self.name));
        check(is_version(&self.version), format!("`version` must be one version, and is `{}`", self.version));
        check(has_length(&self.description), "`description` must have 1 to 100 characters".to_owned());
        check(self.title.as_deref().is_none_or(has_length), "`title` must have 1 to 100 characters".to_owned());
        check(self.website_url.as_deref().is_none_or(is_web), "`websiteUrl` must be a URL".to_owned());
        if let Some(repository) = &self.repository {
            check(is_web(&repository.url), "`repository.url` must be a URL".to_owned());
            let clean =
                |path: &str| !path.starts_with('/') && path.split('/').all(|step| !matches!(step, "" | "." | ".."));
            let folder = repository.subfolder.as_deref();
            check(folder.is_none_or(clean), "`repository.subfolder` must be a relative path".to_owned());
        }
        for (at, remote) in self.remotes.iter().enumerate() {
            remote.check(&mut |is_good, what| check(is_good, format!("`remotes[{at}].{what}")));
        }
        found
    }
}

impl CardRemote {
    fn check(&self, check: &mut dyn FnMut(bool, String)) {
        let Self { transport, url, variables, .. } = self;
        let is_known = matches!(transport.as_str(), "streamable-http" | "sse");
        check(is_known, format!("type` must be `streamable-http` or `sse`, and is `{transport}`"));
        let is_template = url.starts_with('{') && url.contains('}');
        let is_good = (is_web(url) || is_template) && !url.contains(char::is_whitespace);
        check(is_good, format!("url` must be a URL, and is `{url}`"));
        check(variables.as_ref().is_none_or(|all| all.is_object()), "variables` must be an object".to_owned());
        let are_objects = self.headers.iter().all(|header| header.is_object());
        check(are_objects, "headers` must be objects".to_owned());
    }
}

fn has_length(text: &str) -> bool {
    (1..=100).contains(&text.chars().count())
}

fn is_web(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
}

fn is_name(name: &str) -> bool {
    let part = |part: &str, more: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    name.len() <= 200 && name.split_once('/').is_some_and(|(space, own)| part(space, ".-") && part(own, "._-"))
}

/// Ranges are not versions.
fn is_version(version: &str) -> bool {
    let is_range =
        version.starts_with(['^', '~', '>', '<', '=']) || version.contains(['*', ' ']) || version.ends_with(".x");
    !version.is_empty() && version.len() <= 255 && !is_range
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn problems(change: impl FnOnce(&mut Value)) -> Vec<String> {
        let mut card = json!({
            "$schema": SCHEMA, "name": "com.example/weather", "version": "1.0.0", "description": "Forecasts.",
            "repository": { "url": "https://example.com/code", "source": "github", "subfolder": "servers/weather" },
            "remotes": [{ "type": "streamable-http", "url": "https://{tenant}.example.com/mcp" },
                        { "type": "sse", "url": "{base}/sse", "variables": { "base": {} } }],
        });
        change(&mut card);
        match serde_json::from_value::<ServerCard>(card) {
            Ok(card) => card.problems(),
            Err(error) => vec![error.to_string()],
        }
    }

    #[test]
    fn each_rule_has_a_card_that_breaks_it() {
        assert!(problems(|_| ()).is_empty());
        for (pointer, value, named) in [
            ("/$schema", json!("https://example.com/schema.json"), "$schema"),
            ("/name", json!("weather"), "name"),
            ("/name", json!("com.example/a/b"), "name"),
            ("/version", json!("^1.0"), "version"),
            ("/version", json!("1.x"), "version"),
            ("/description", json!(""), "description"),
            ("/description", json!("x".repeat(101)), "description"),
            ("/repository/url", json!("code"), "repository.url"),
            ("/repository/subfolder", json!("../up"), "subfolder"),
            ("/remotes/0/type", json!("stdio"), "remotes[0].type"),
            ("/remotes/0/url", json!("ftp://example.com"), "remotes[0].url"),
            ("/remotes/1/variables", json!([]), "remotes[1].variables"),
        ] {
            let found = problems(|card| *card.pointer_mut(pointer).expect("a member") = value.clone());
            assert!(found.len() == 1 && found[0].contains(named), "{pointer} {value}: {found:?}");
        }
        // What a card must not have, such as packages, is refused when it is parsed.
        assert!(problems(|card| card["packages"] = json!([]))[0].contains("packages"));
    }
}
