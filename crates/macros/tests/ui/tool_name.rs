use couplet::tool;

#[tool(name = "add numbers")]
fn add(a: f64) -> f64 {
    a
}

#[tool]
fn größe() -> u8 {
    1
}

fn main() {
    let _: couplet::Server = couplet::Server::new("a", "1").tool(add).tool(größe);
}
