//! Our schemas and our checker accept what the official schemas accept, and nothing else.

use std::{fs, path::Path};

use couplet_types::ProtocolVersion;
use couplet_vocab::{check::Checker, schema};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::sample::{Dice, mutation, samples};

/// How many values are tried for each definition, and how many changes of each; `COUPLET_VOCAB_CHANGES` makes it more.
const VALUES: usize = 15;
const CHANGES: usize = 3;

#[test]
fn official_schemas_agree() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["../../../shared/spec/schema", "../../../../shared/spec/schema"].map(|f| here.join(f));
    let folder = folders.iter().find(|f| f.is_dir()).unwrap_or(&folders[0]);
    for version in ProtocolVersion::ALL {
        let file = folder.join(version.as_str()).join("schema.json");
        let Ok(text) = fs::read_to_string(&file) else {
            #[expect(clippy::print_stderr, reason = "a test that did nothing should say so")]
            {
                eprintln!("skipped {version}: {} is not there", file.display());
            }
            continue;
        };
        let official: Value = serde_json::from_str(&text).unwrap();
        let ours = schema::document(version);
        let place = if official.get("$defs").is_some() { "$defs" } else { "definitions" };
        assert_eq!(ours["$schema"], official["$schema"]);
        let (mut right, mut wrong) = (0, 0);
        for name in official[place].as_object().unwrap().keys() {
            let (r, w) = check(version, name, place, &official, &ours);
            right += r;
            wrong += w;
        }
        #[expect(clippy::print_stderr, reason = "the count tells that something was compared")]
        {
            eprintln!("{version}: {right} valid and {wrong} invalid values, of which all agree on all");
        }
        assert!(right > 500 && wrong > 500, "{version}: {right} and {wrong}");
    }
}

/// Every value that the official definition or ours makes, and what is nearly one: both schemas and the checker agree.
fn check(version: ProtocolVersion, name: &str, place: &str, official: &Value, ours: &Value) -> (usize, usize) {
    assert!(ours[place].get(name).is_some(), "{version} has no `{name}`");
    let theirs = validator(official, place, name);
    let mine = validator(ours, place, name);
    let checker = Checker::new(version);
    let mut values = samples(&official[place][name], official);
    values.extend(samples(&ours[place][name], ours));
    let step = values.len().div_ceil(VALUES);
    let values: Vec<Value> = values.into_iter().step_by(step).collect();
    let mut dice = Dice::new(name.len() as u64);
    let changes = std::env::var("COUPLET_VOCAB_CHANGES").ok().and_then(|n| n.parse().ok()).unwrap_or(CHANGES);
    let changed: Vec<Value> =
        values.iter().flat_map(|v| std::iter::repeat_n(v, changes)).map(|v| mutation(v, &mut dice)).collect();
    let (mut right, mut wrong) = (0, 0);
    for value in values.into_iter().chain(changed) {
        let valid = theirs.is_valid(&value);
        assert_eq!(mine.is_valid(&value), valid, "{version} {name}: the schemas differ in {value}");
        let findings = checker.value(name, &value).unwrap();
        assert_eq!(findings.is_empty(), valid, "{version} {name}: the checker says {findings:?} of {value}");
        if valid { right += 1 } else { wrong += 1 }
    }
    (right, wrong)
}

fn validator(root: &Value, place: &str, name: &str) -> Validator {
    let mut schema = root.clone();
    schema["$ref"] = json!(format!("#/{place}/{name}"));
    // Formats are words about a text, in the later dialect; in the earlier one this is how both are read alike.
    jsonschema::options().should_validate_formats(false).build(&schema).unwrap()
}
