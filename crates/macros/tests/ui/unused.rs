#![deny(dead_code, unused)]

use couplet::{prompt, resource, tool};

#[tool]
fn never_registered(a: f64) -> f64 {
    a
}

#[resource("x://{a}")]
async fn never_registered_either(a: f64) -> f64 {
    a
}

#[prompt]
fn registered(_unused: u8) -> String {
    String::new()
}

fn main() {
    let _: couplet::Server = couplet::Server::new("a", "1").prompt(registered);
}
