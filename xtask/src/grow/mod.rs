//! `cargo xtask grow`: a new revision and a new method cannot be forgotten anywhere.
//!
//! In a copy of the workspace, a revision (or a method) is added in the first place that its recipe in CONTRIBUTING.md
//! names. The compiler and the tests must then lead to every other place of the recipe; once all of them are edited,
//! everything must pass, so no place is missing in the recipe.

mod copy;
mod edits;

use std::fs;

use crate::{Failure, workspace};
use copy::Copy;
use edits::{Edit, METHOD, REVISION};

/// Something that the specification may add.
struct Addition {
    /// The heading of the recipe in CONTRIBUTING.md.
    heading: &'static str,
    /// The edits, each for one place of the recipe.
    edits: &'static [Edit],
    /// The cargo commands that must fail as long as a place is not edited.
    checks: &'static [&'static [&'static str]],
}

/// The libraries that match methods, or have a row per revision.
const LIBRARIES: &[&str] = &["check", "--keep-going", "-p=couplet-core", "-p=couplet-server", "-p=couplet-proxy"];

const ADDITIONS: [Addition; 2] = [
    Addition {
        heading: "### A revision",
        edits: REVISION,
        checks: &[
            LIBRARIES,
            &["test", "-p=couplet-types", "--lib", "--test=types", "--no-fail-fast", "--", "every_revision"],
            &["test", "-p=couplet-vocab", "--lib", "--test=vocab", "--no-fail-fast", "--", "all_", "every_revision"],
            &["test", "-p=couplet-macros", "--lib", "all_revisions"],
        ],
    },
    Addition {
        heading: "### A method",
        edits: METHOD,
        checks: &[
            LIBRARIES,
            &["test", "-p=couplet-types", "-p=couplet-vocab", "--lib", "--no-fail-fast", "--", "method::", "all_"],
            &["test", "-p=couplet-client", "--lib", "each_request"],
        ],
    },
];

/// Tries both additions, or those whose heading contains a word.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let recipes = fs::read_to_string(workspace::root().join("CONTRIBUTING.md")).map_err(|e| e.to_string())?;
    let copy = Copy::new()?;
    for addition in ADDITIONS {
        if !words.is_empty() && !words.iter().any(|word| addition.heading.contains(word)) {
            continue;
        }
        println!("{}", addition.heading.trim_start_matches("### "));
        copy.reset()?;
        addition.try_in(&copy, &places(&recipes, addition.heading))?;
    }
    copy.reset()
}

impl Addition {
    fn try_in(&self, copy: &Copy, recipe: &[&str]) -> Result<(), Failure> {
        let known = |place: &str| self.edits.iter().any(|edit| edit.place == place);
        if let Some(place) = recipe.iter().find(|place| !known(place)) {
            return Err(format!("`xtask/src/grow/edits.rs` has no edit for `{place}`, which CONTRIBUTING.md names"));
        }
        if let Some(edit) = self.edits.iter().find(|edit| !recipe.contains(&edit.place)) {
            return Err(format!("CONTRIBUTING.md does not name `{}` under `{}`", edit.place, self.heading));
        }
        let (first, mut left) = recipe.split_first().map(|(first, rest)| (*first, rest.to_vec())).unwrap_or_default();
        self.edit(copy, first)?;
        loop {
            let complaints = copy.complaints(self.checks)?;
            let (named, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(|place| complaints.contains(*place));
            left = rest;
            match (complaints.is_empty(), named.is_empty()) {
                (true, _) => break,
                (false, true) => return Err(format!("this names no place of the recipe that is left:\n{complaints}")),
                (false, false) => named.into_iter().try_for_each(|place| self.edit(copy, place))?,
            }
        }
        match left.first() {
            None => Ok(()),
            Some(place) => Err(format!("`{place}` can be forgotten: everything passes without it")),
        }
    }

    fn edit(&self, copy: &Copy, place: &str) -> Result<(), Failure> {
        println!("  {place}");
        self.edits.iter().filter(|edit| edit.place == place).try_for_each(|edit| copy.apply(edit))
    }
}

/// The places of a recipe: the first path of each bullet under a heading.
fn places<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = text.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.strip_prefix("- `")?.split('`').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_is_a_list_of_paths() {
        let text = "### A\n\n- `a/b.rs`: x.\n  More `c`.\n- `d.txt`: y.\n\nAnd `e`.\n\n### B\n- `f`: z.\n";
        assert_eq!(places(text, "### A"), ["a/b.rs", "d.txt"]);
        assert_eq!(places(text, "### B"), ["f"]);
        assert!(places(text, "### C").is_empty());
    }
}
