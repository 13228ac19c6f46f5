#[couplet_macros::test]
fn not_async() {}

#[couplet_macros::test]
async fn two(a: u8, b: u8) {}

#[couplet_macros::test(versions = 3)]
async fn key() {}

fn main() {}
