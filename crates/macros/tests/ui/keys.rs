use couplet::{prompt, resource, tool};

#[tool(titel = "Add", readonly)]
fn add(a: f64) -> f64 {
    a
}

#[tool(name = "a", name = "b", read_only = false, destructive = 1)]
fn twice() {}

#[tool(read_only = false)]
fn flag() {}

#[tool(destructive = 1)]
fn switch() {}

#[tool(scopes = "files:read")]
fn scopes() {}

#[tool(blocking)]
async fn waits() {}

#[tool(timeout)]
fn limited() {}

#[tool(no_timeout)]
fn unlimited() {}

#[resource("x://a", scope = ["a"], unlist)]
fn near() -> u32 {
    1
}

#[resource("x://a", complete_from(n = ["1"]))]
fn completed() -> u32 {
    1
}

#[prompt(scopes = [])]
fn no_scopes() -> String {
    String::new()
}

#[prompt(argument = [])]
fn arguments() -> String {
    String::new()
}

#[resource("x://a", uri = "x://b")]
fn uri() -> u32 {
    1
}

#[prompt(mime_type = "text/plain")]
fn mime() -> String {
    String::new()
}

fn main() {}
