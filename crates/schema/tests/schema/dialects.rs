//! Dialects, references, and what a schema may hold besides.

use couplet_schema::Schema;

#[track_caller]
fn check(schema: &str, value: &str, fits: bool) {
    assert_eq!(Schema::new(schema).expect(schema).check(value).is_ok(), fits, "{schema} {value}");
}

#[track_caller]
fn refused(schema: &str, why: &str) {
    let error = Schema::new(schema).expect_err(schema).to_string();
    assert!(error.contains(why), "{error}");
}

#[test]
fn a_schema_is_of_2020_12_unless_it_says_otherwise() {
    let first = r#""type":"array","prefixItems":[{"type":"string"}]"#;
    check(&format!("{{{first}}}"), "[5]", false);
    // The older one does not know the keyword.
    check(&format!(r#"{{"$schema":"http://json-schema.org/draft-07/schema#",{first}}}"#), "[5]", true);
    let tuple = r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}"#;
    check(tuple, "[5]", false);
    for name in ["2020-12", "2019-09"] {
        check(&format!(r#"{{"$schema":"https://json-schema.org/draft/{name}/schema","type":"null"}}"#), "5", false);
    }
    for name in ["draft-06", "draft-04"] {
        check(&format!(r#"{{"$schema":"http://json-schema.org/{name}/schema#","type":"null"}}"#), "5", false);
    }
}

#[test]
fn another_dialect_is_refused_with_a_word_on_those_that_are_known() {
    refused(r#"{"$schema":"https://example.com/mine"}"#, "the dialect \"https://example.com/mine\" is not known");
    refused(r#"{"$schema":5}"#, "draft-07");
    refused(r#"{"properties":{"a":{"$schema":"https://example.com/mine"}}}"#, "is not known");
}

#[test]
fn references_stay_inside() {
    let list = r##"{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}},
        "additionalProperties":false}}}"##;
    check(list, r#"{"next":{"next":{}}}"#, true);
    check(list, r#"{"next":{"next":{"nest":1}}}"#, false);
    let named = r#"{"$id":"https://example.com/root","properties":{"a":{"$ref":"item"}},
        "$defs":{"i":{"$id":"item","type":"string"}}}"#;
    check(named, r#"{"a":5}"#, false);
    let anchor = r##"{"properties":{"a":{"$ref":"#here"}},"$defs":{"i":{"$anchor":"here","type":"string"}}}"##;
    check(anchor, r#"{"a":5}"#, false);
    let dynamic = r##"{"$dynamicAnchor":"tree","type":"object","additionalProperties":{"$dynamicRef":"#tree"}}"##;
    check(dynamic, r#"{"a":{"b":{}}}"#, true);
    check(dynamic, r#"{"a":{"b":5}}"#, false);
    for outside in ["http://127.0.0.1:9/a.json", "https://example.com/a", "file:///etc/passwd", "other.json#/a"] {
        refused(&format!(r#"{{"$ref":"{outside}"}}"#), "outside");
        refused(&format!(r#"{{"$defs":{{"unused":{{"$ref":"{outside}"}}}}}}"#), "outside");
    }
    refused(r##"{"$ref":"#/nowhere"}"##, "cannot be followed");
}

#[test]
fn what_is_no_schema_is_refused() {
    refused("{", "not JSON");
    refused("5", "the schema is not valid");
    refused(r#"{"type":"strin"}"#, "at `/type`");
    refused(r#"{"properties":{"a":{"minLength":-1}}}"#, "at `/properties/a/minLength`");
    refused(r#"{"pattern":"(?=a)"}"#, "the schema is not valid");
}

#[test]
fn unknown_keywords_and_formats_are_left_alone() {
    check(r#"{"x-order":["a"],"type":"string","format":"email"}"#, r#""no address""#, true);
}
