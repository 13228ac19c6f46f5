use couplet::{Server, server::extract::State, tool};

#[tool]
fn count(State(n): State<u64>) -> u64 {
    n
}

struct NotAnExtractor;

#[tool]
fn other(#[extract] _it: NotAnExtractor) {}

fn main() {
    let _: Server<()> = Server::new("a", "1").tool(count).with_state(());
    let _: Server<()> = Server::new("a", "1").tool(other).with_state(());
}
