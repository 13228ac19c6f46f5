//! Clients in Rust as they are generated, compiled with all lints, and their tests.

#![deny(warnings)]

#[path = "expected/hostile.rs"]
mod hostile;
#[path = "expected/kitchen.rs"]
mod kitchen;

use kitchen::{CookInput2, CookInput2Note, CookInput2Type, ListOutput, Recipe, Tree};
use serde_json::json;

#[test]
fn required_members_are_parameters() {
    let recipe = Recipe { name: "soup".to_owned() };
    let note = CookInput2Note::new("hot");
    let cook = CookInput2::new(recipe, CookInput2Type::Value2x, note, json!(null));
    let expected = json!({ "recipe": { "name": "soup" }, "type": "2x", "note": { "text": "hot" }, "unknown": null });
    assert_eq!(serde_json::to_value(&cook).unwrap(), expected);
}

#[test]
fn constants_tell_variants_apart() {
    let text = r#"{"recipes":[{"name":"tea","steps":[{"kind":"wait","minutes":3.5},{"kind":"all","steps":[]}]}]}"#;
    let list: ListOutput = serde_json::from_str(text).unwrap();
    let [kitchen::Step::Wait(wait), kitchen::Step::All(_)] = list.recipes[0].steps.as_slice() else {
        panic!("{list:?}");
    };
    assert_eq!(wait.minutes, 3.5);
    assert_eq!(serde_json::to_string(&list).unwrap(), text);
    assert!(serde_json::from_str::<kitchen::Step>(r#"{"kind":"cool"}"#).is_err());
}

#[test]
fn types_contain_themselves() {
    let text = r#"{"left":{"right":null},"right":{"right":null,"leaf":"x"}}"#;
    let tree: Tree = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&tree).unwrap(), text);
}
