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

#[resource("x://a", uri = "x://b")]
fn uri() -> u32 {
    1
}

#[prompt(mime_type = "text/plain")]
fn mime() -> String {
    String::new()
}

fn main() {}
