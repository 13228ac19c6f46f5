use std::rc::Rc;

use couplet::tool;

#[tool]
async fn holds_an_rc() -> String {
    let rc = Rc::new(1);
    std::future::ready(()).await;
    rc.to_string()
}

fn main() {
    let _: couplet::Server = couplet::Server::new("a", "1").tool(holds_an_rc);
}
