//! Mistakes, and what is said about them.
//!
//! After a deliberate change of a message: `TRYBUILD=overwrite cargo test -p couplet --test macros ui`.

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/macros/ui/*.rs");
}
