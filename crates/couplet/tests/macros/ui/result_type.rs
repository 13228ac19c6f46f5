use couplet::{Server, prompt, resource, tool};

struct Nothing;

#[tool]
fn plain() -> Nothing {
    Nothing
}

#[tool]
async fn in_a_result() -> Result<Nothing, std::fmt::Error> {
    Ok(Nothing)
}

#[resource("x://a")]
fn resource_without_result() {}

#[prompt]
fn number() -> f64 {
    1.0
}

fn main() {
    let _: Server =
        Server::new("a", "1").tool(plain).tool(in_a_result).resource(resource_without_result).prompt(number);
}
