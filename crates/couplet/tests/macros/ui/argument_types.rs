use couplet::{Server, prompt, resource, tool};

struct Nothing;

#[derive(couplet::serde::Deserialize)]
#[serde(crate = "couplet::serde")]
struct NoSchema;

#[tool]
fn no_derives(a: f64, b: Nothing) -> f64 {
    a
}

#[tool]
async fn no_schema(b: NoSchema) -> f64 {
    1.0
}

#[resource("x://{b}")]
fn variable(b: Nothing) -> f64 {
    1.0
}

#[prompt]
fn argument(b: NoSchema) -> String {
    String::new()
}

fn main() {
    let _: Server =
        Server::new("a", "1").tool(no_derives).tool(no_schema).resource(variable).prompt(argument);
}
