//! Our schemas and our checker accept what the official schemas accept, and nothing else.

use couplet_types::ProtocolVersion;
use couplet_vocab::{
    check::Checker,
    schema,
    validate::{Format, Options, validate},
};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::{
    official::{self, Official},
    sample::{Dice, mutation, samples},
};

/// How many values are tried for each definition, and how many changes of each; `COUPLET_VOCAB_CHANGES` makes it more.
const VALUES: usize = 15;
const CHANGES: usize = 3;

#[test]
fn official_examples_are_valid() {
    for Official { version, examples, .. } in official::revisions() {
        for (name, value) in examples {
            let schema = schema::definition(version, &name).unwrap_or_else(|| panic!("{version} has no `{name}`"));
            assert!(jsonschema::is_valid(&schema, &value), "{version} {name}: {value}");
            assert_eq!(Checker::new(version).value(&name, &value), Some(vec![]), "{version} {name}: {value}");
            // And so does the command, whatever members it has.
            let options = Options::default().revision(version).definition(name.clone());
            let report = validate(value.to_string().as_bytes(), Format::Json, &options).unwrap();
            assert_eq!(report.problems, [], "{version} {name}: {value}");
        }
    }
}

#[test]
fn official_schemas_agree() {
    for Official { version, schema: mut official, examples, repairs } in official::revisions() {
        assert_eq!(numbers(&mut official), repairs, "{version}");
        let ours = schema::document(version);
        let place = if official.get("$defs").is_some() { "$defs" } else { "definitions" };
        assert_eq!(ours["$schema"], official["$schema"]);
        let (mut right, mut wrong) = (0, 0);
        let examples: Vec<Value> = examples.into_iter().map(|(_, value)| value).collect();
        for name in official[place].as_object().unwrap().keys() {
            let (r, w) = check(version, name, &official, &ours, &examples);
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

/// Every value that the official definition or ours makes, every example whatever it is of, and what is nearly one of
/// these: both schemas and the checker agree.
fn check(version: ProtocolVersion, name: &str, official: &Value, ours: &Value, examples: &[Value]) -> (usize, usize) {
    let place = if official.get("$defs").is_some() { "$defs" } else { "definitions" };
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
    let spoiled: Vec<Value> = examples.iter().map(|v| mutation(v, &mut dice)).collect();
    for value in values.iter().chain(&changed).chain(examples).chain(&spoiled) {
        let valid = theirs.is_valid(value);
        assert_eq!(mine.is_valid(value), valid, "{version} {name}: the schemas differ in {value}");
        let findings = checker.value(name, value).unwrap();
        assert_eq!(findings.is_empty(), valid, "{version} {name}: the checker says {findings:?} of {value}");
        if valid { right += 1 } else { wrong += 1 }
    }
    (right, wrong)
}

/// The source of the schemas has `string | number | boolean`, of which their generator makes integers: puts that right, and
/// counts how often.
fn numbers(schema: &mut Value) -> usize {
    match schema {
        Value::Object(members) => {
            let is_it = members.get("type") == Some(&json!(["string", "integer", "boolean"]));
            if is_it {
                members["type"] = json!(["string", "number", "boolean"]);
            }
            usize::from(is_it) + members.values_mut().map(numbers).sum::<usize>()
        }
        Value::Array(items) => items.iter_mut().map(numbers).sum(),
        _ => 0,
    }
}

fn validator(root: &Value, place: &str, name: &str) -> Validator {
    let mut schema = root.clone();
    schema["$ref"] = json!(format!("#/{place}/{name}"));
    // Formats are words about a text, in the later dialect; in the earlier one this is how both are read alike.
    jsonschema::options().should_validate_formats(false).build(&schema).unwrap()
}
