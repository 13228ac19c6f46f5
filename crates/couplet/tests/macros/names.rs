//! Two things of one name.

use std::panic::catch_unwind;

use couplet::{Server, prompt, resource, tool};

#[tool]
fn add(a: f64) -> f64 {
    a
}

#[resource("calc://pi")]
fn pi() -> &'static str {
    "3"
}

#[prompt]
fn explain() -> &'static str {
    "Explain."
}

#[test]
fn two_of_one_name_panic_and_both_places_are_named() {
    for (what, name, build) in [
        ("tool", "add", (|| drop(Server::new("a", "1").tool(add).tool(add).build())) as fn()),
        ("resource", "calc://pi", || drop(Server::new("a", "1").resource(pi).resource(pi).build())),
        ("prompt", "explain", || drop(Server::new("a", "1").prompt(explain).prompt(explain).build())),
    ] {
        let panic = catch_unwind(build).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.starts_with(&format!("there are two {what}s called `{name}`: ")), "{message}");
        assert_eq!(message.matches(file!()).count(), 2, "{message}");
    }
}
