use couplet::{Server, resource, tool};

struct Nothing;

#[tool]
async fn in_a_result() -> Result<Nothing, std::fmt::Error> {
    Ok(Nothing)
}

#[resource("x://a")]
fn no_result() {}

fn main() {
    let _: Server = Server::new("a", "1").tool(in_a_result).resource(no_result);
}
