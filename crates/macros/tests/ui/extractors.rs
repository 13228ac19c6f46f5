use couplet::{
    prompt, resource,
    schemars::JsonSchema,
    serde::Deserialize,
    server::extract::{Args, Path, State},
    tool,
};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "couplet::serde")]
#[schemars(crate = "couplet::schemars")]
struct Numbers {
    a: f64,
}

#[tool]
fn args_and_argument(Args(n): Args<Numbers>, b: f64) -> f64 {
    n.a + b
}

#[tool]
fn two_args(Args(n): Args<Numbers>, Args(m): Args<Numbers>) -> f64 {
    n.a + m.a
}

#[tool]
fn path(Path(n): Path<f64>) -> f64 {
    n
}

#[resource("x://a")]
fn args(Args(n): Args<Numbers>) -> f64 {
    n.a
}

#[prompt]
fn default(#[default(1)] State(n): State<u8>) -> String {
    n.to_string()
}

fn main() {}
