//! The documentation as docs.rs builds it: every item behind a feature carries the badge that names the feature.

use std::{collections::BTreeSet, fs};

use super::{Options, Report, published};
use crate::{
    Failure,
    workspace::{self, command, root, show},
};

const FACADE: &str = "couplet";

/// Features that have no item of their own, and why.
const WITHOUT_ITEMS: &[(&str, &str)] = &[
    ("couplet/auth-keychain", BELOW),
    ("couplet/chrono", SCHEMAS),
    ("couplet/full", "a group of the other features"),
    ("couplet/inspector", BELOW),
    ("couplet/jiff", SCHEMAS),
    ("couplet/redis-cluster", BELOW),
    ("couplet/redis-sentinel", BELOW),
    ("couplet/redis-tls", BELOW),
    ("couplet/metrics", BELOW),
    ("couplet/replicas", BELOW),
    ("couplet/reqwest", BELOW),
    ("couplet/system-roots", BELOW),
    ("couplet/tasks-sqlite", BELOW),
    ("couplet/url", SCHEMAS),
    ("couplet/uuid", SCHEMAS),
    ("couplet-gateway/keyring", "secrets of a configuration; no item is added"),
    ("couplet-redis/cluster", "URLs; no item is added"),
    ("couplet-redis/sentinel", "URLs; no item is added"),
    ("couplet-client/validate", "results are checked against their output schema; no item is added"),
];

const BELOW: &str = "the items are those of a feature of the crate below, with its badge there";
const SCHEMAS: &str = "implementations of `JsonSchema` in `schemars`";

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    let mut packages = published::libraries()?;
    packages.retain(|package| package.features.iter().any(|f| f != "default"));
    let folder = workspace::target()?.join("full/bootstrap");
    let mut doc = command("cargo");
    // What docs.rs has from a nightly compiler.
    doc.env("RUSTC_BOOTSTRAP", "1").env("RUSTDOCFLAGS", "--cfg docsrs").env("CARGO_TARGET_DIR", &folder);
    show(doc.args(["doc", "--quiet", "--no-deps", "--all-features"]).args(published::flags(&packages)))?;

    let page = folder.join("doc").join(FACADE).join("index.html");
    let page = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    let source = root().join("crates/couplet/src/lib.rs");
    let gated = gated(&fs::read_to_string(&source).map_err(|e| format!("{}: {e}", source.display()))?);
    let mut missing: Vec<String> = gated
        .iter()
        .filter(|item| !item.has_badge(&page))
        .map(|item| format!("`{}` has no badge", item.name))
        .collect();
    let mut features = 0;
    for package in &packages {
        let badges = badges(&folder.join("doc").join(package.name.replace('-', "_")));
        for feature in package.features.iter().filter(|f| *f != "default") {
            features += 1;
            let name = format!("{}/{feature}", package.name);
            match (badges.contains(feature.as_str()), WITHOUT_ITEMS.iter().any(|(known, _)| *known == name)) {
                (false, false) => missing.push(format!("`{name}` is on no badge")),
                (true, true) => missing.push(format!("`{name}` has items: remove it from `WITHOUT_ITEMS`")),
                _ => {}
            }
        }
    }
    if gated.is_empty() {
        missing.push(format!("no item of `{FACADE}` is behind a feature"));
    }
    if missing.is_empty() {
        Ok(Report::found(format!("{} items of `{FACADE}` and {features} features have their badges", gated.len())))
    } else {
        Err(missing.join("\n"))
    }
}

/// The features that the badges below a folder name.
fn badges(folder: &std::path::Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(badges(&path));
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let page = fs::read_to_string(&path).unwrap_or_default();
            found.extend(page.split(BADGE).skip(1).flat_map(quoted));
        }
    }
    found
}

const BADGE: &str = "Available on ";

/// The names of features in the text of a badge, which ends before the first tag or quote.
fn quoted(badge: &str) -> Vec<String> {
    let text = badge.replace("<code>", "`").replace("</code>", "`").replace("<strong>", "").replace("</strong>", "");
    let text = text.split(['"', '<', '\n']).next().unwrap_or_default();
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A name that the facade exports behind features.
#[derive(Debug, PartialEq, Eq)]
struct Item {
    name: String,
    features: Vec<String>,
}

impl Item {
    /// Whether a list on the page of the crate has the name with all of its features.
    fn has_badge(&self, page: &str) -> bool {
        let (reexport, title) = (format!("id=\"reexport.{}\"", self.name), format!("{FACADE}::{}\"", self.name));
        let rows = page.split("<dt").skip(1).map(|row| row.split("</dt>").next().unwrap_or(row));
        let mut rows = rows.filter(|row| row.contains(&reexport) || row.contains(&title));
        rows.any(|row| {
            let named: Vec<String> = row.split(BADGE).skip(1).flat_map(quoted).collect();
            self.features.iter().all(|feature| named.contains(feature))
        })
    }
}

/// The exports of a crate's root behind `#[cfg(…)]`, without those that are hidden.
fn gated(source: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut features = Vec::new();
    let mut hidden = false;
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("#[cfg(") {
            features = line.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        } else if line.starts_with("#[doc(hidden)]") {
            hidden = true;
        } else if let Some(first) = line.strip_prefix("pub use ") {
            let mut statement = first.to_owned();
            while !statement.contains(';') {
                let Some(more) = lines.next() else { break };
                statement.push_str(more);
            }
            if !features.is_empty() && !hidden {
                let item = |name: &str| Item { name: name.to_owned(), features: features.clone() };
                items.extend(names(&statement).into_iter().map(item));
            }
            (features, hidden) = (Vec::new(), false);
        } else if !line.starts_with("//") && !line.starts_with("#[") {
            (features, hidden) = (Vec::new(), false);
        }
    }
    items
}

/// What `a as b;`, `a::b;` and `a::{b, c};` export.
fn names(statement: &str) -> Vec<&str> {
    let paths = statement.trim_end().trim_end_matches(';');
    let paths = paths.rsplit_once('{').map_or(paths, |(_, inside)| inside.trim_end_matches('}'));
    paths.split(',').filter_map(|path| path.trim().rsplit([' ', ':']).next()).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gated_exports_are_read() {
        let source = "pub use a as open;\n#[cfg(any(feature = \"x\", feature = \"y-z\"))]\npub use b as both;\n\
                      #[cfg(feature = \"x\")]\npub use c::{One, two};\n/// Told.\n#[cfg(feature = \"x\")]\n#[doc(hidden)]\n\
                      pub use {d, e};\n#[cfg(feature = \"x\")]\nmod private;\npub use f::Open;\n";
        let found: Vec<_> = gated(source).into_iter().map(|item| (item.name, item.features.join(" "))).collect();
        let expected = [("both", "x y-z"), ("One", "x"), ("two", "x")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_badge_names_all_features_of_the_item() {
        let page = "<dt id=\"reexport.both\"><code>pub use b as both;</code><span class=\"stab portability\" \
                    title=\"Available on crate features `x` or `y-z` only\"><code>x</code></span></dt>\
                    <dt><a href=\"struct.One.html\" title=\"struct couplet::One\">One</a></dt><dd>Of `x`.</dd>";
        let item = |name: &str, features: &[&str]| Item {
            name: name.to_owned(),
            features: features.iter().map(|f| (*f).to_owned()).collect(),
        };
        assert!(item("both", &["x", "y-z"]).has_badge(page));
        assert!(!item("both", &["x", "w"]).has_badge(page));
        assert!(!item("One", &["x"]).has_badge(page) && !item("Two", &["x"]).has_badge(page));
        assert_eq!(quoted("<strong>crate feature <code>client</code></strong> only.</div>`x`"), ["client"]);
    }
}
