use couplet::tool;

struct Calc;

impl Calc {
    #[tool]
    fn method(&self, a: f64) -> f64 {
        a
    }
}

impl Calc {
    #[tool]
    fn associated(a: f64) -> f64 {
        Self::twice(a)
    }

    fn twice(a: f64) -> f64 {
        2.0 * a
    }
}

#[tool]
fn reference(text: &str, list: &[u8], maybe: Option<&str>) -> usize {
    text.len()
}

#[tool]
fn generic<T>(a: T) -> f64 {
    1.0
}

#[tool]
unsafe fn is_unsafe() {}

#[tool]
extern "C" fn is_extern() {}

#[tool]
fn anonymous(a: impl Into<String>) {}

#[tool]
fn pattern((a, b): (f64, f64)) -> f64 {
    a + b
}

#[tool]
struct NotAFunction;

fn main() {
    let _: couplet::Server = couplet::Server::new("a", "1").tool(reference).tool(generic);
}
