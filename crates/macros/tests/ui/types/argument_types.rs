use couplet::{Server, resource, tool};

#[derive(couplet::schemars::JsonSchema)]
#[schemars(crate = "couplet::schemars")]
struct NoDeserialize;

#[derive(couplet::serde::Deserialize)]
#[serde(crate = "couplet::serde")]
struct NoSchema;

#[tool]
async fn add(_a: f64, _b: NoDeserialize, _c: NoSchema) -> f64 {
    1.0
}

#[resource("x://{_b}/{_c}")]
fn variables(_b: NoDeserialize, _c: NoSchema) -> f64 {
    1.0
}

fn main() {
    let _: Server = Server::new("a", "1").tool(add).resource(variables);
}
