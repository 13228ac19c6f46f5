use couplet::resource;

#[resource("calc://square/{n}")]
fn nobody_takes_it() -> String {
    String::new()
}

#[resource("calc://square")]
fn not_in_the_template(n: f64) -> String {
    n.to_string()
}

#[resource("calc://square/{n")]
fn never_closed(n: f64) -> String {
    n.to_string()
}

#[resource("calc://square/{=n}")]
fn bad_operator(n: f64) -> String {
    n.to_string()
}

#[resource("square/{n}")]
fn no_scheme(n: f64) -> String {
    n.to_string()
}

#[resource]
fn no_uri() -> String {
    String::new()
}

#[resource("calc://square/{n}", complete(m = numbers))]
fn completes_nothing(n: f64) -> String {
    n.to_string()
}

fn main() {
    let _: couplet::Server = couplet::Server::new("a", "1").resource(nobody_takes_it);
}
