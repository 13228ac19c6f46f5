//! The text of clients, beside the files of `expected`; `UPDATE_GOLDEN=1` rewrites them.

use std::path::Path;

use couplet_generate::{Generator, Language};
use couplet_testing::assert_golden;

use super::{definitions, hostile};

/// Compares a text with a file, or replaces the file.
#[track_caller]
fn check(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generate/expected");
    assert_golden(folder.join(name), text);
}

#[test]
fn clients_are_as_expected() {
    for (name, definitions) in [("kitchen", definitions("kitchen")), ("hostile", hostile::several())] {
        let generator = Generator::with_name(&definitions, name);
        let rust = generator.code(Language::Rust) + &generator.tests(Language::Rust, name);
        check(&format!("{name}.rs"), &rust);
        for language in [Language::TypeScript, Language::Python] {
            check(&format!("{name}.{}", language.extension()), &generator.code(language));
            let tests = language.tests_file(name).expect("tests are a file");
            check(&tests, &generator.tests(language, name));
        }
    }
}

#[test]
fn the_order_of_definitions_does_not_matter() {
    let definitions = definitions("kitchen");
    let mut reversed = definitions.clone();
    reversed.tools.reverse();
    reversed.prompts.reverse();
    reversed.templates.reverse();
    for language in Language::ALL {
        assert_eq!(Generator::new(&definitions).code(language), Generator::new(&reversed).code(language));
    }
}

#[test]
fn a_client_is_named_after_its_server() {
    let generator = Generator::new(&definitions("kitchen"));
    assert_eq!(generator.module(), "kitchen_sink_client");
    assert!(generator.code(Language::Rust).contains("pub struct KitchenSinkClient {"));
    assert_eq!(generator.functions(), 7 + 2 + 2);
}
