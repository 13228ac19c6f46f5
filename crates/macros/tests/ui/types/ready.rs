use couplet::{Server, server::extract::State, tool};

#[tool]
fn count(State(n): State<u64>) -> u64 {
    n
}

fn main() {
    let server: Server<u64> = Server::new("a", "1").tool(count);
    let _ = server.build();
}
