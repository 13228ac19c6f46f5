//! Tools that the contract does not have: a sound, a list as structured content, a parameter in a header, failures.

use couplet::{prelude::*, server::media::Audio, types::RpcError};
use serde::Deserialize;

/// Returns the tick of a clock. Clients that know no sound are told of it in words.
#[tool(name = "get-tiny-sound", title = "Get Tiny Sound", read_only, open_world = false)]
pub(crate) fn get_tiny_sound() -> Audio {
    Audio::new(include_bytes!("../assets/tick.wav"), "audio/wav")
}

/// Returns prime numbers as structured content that is a list and not an object, where the revision allows that.
#[tool(name = "get-primes", title = "Get Primes", read_only, open_world = false)]
pub(crate) fn get_primes(
    /// How many
    #[schemars(range(min = 1, max = 1000))]
    #[default(10)]
    count: usize,
) -> Json<Vec<u32>> {
    let is_prime = |n: &u32| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    Json((2..).filter(is_prime).take(count).collect())
}

/// Greets a region. Over HTTP the region also stands in the header `Mcp-Param-Region`, by which a gateway can route.
#[tool(name = "greet-region", title = "Greet Region", read_only, open_world = false)]
pub(crate) fn greet_region(
    /// The region, such as `eu-north`
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
) -> String {
    format!("Hello, {region}!")
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Failure {
    Tool,
    Protocol,
    Panic,
}

/// Fails: as a tool, which the model is told; as a request, which the client is told; or by a panic, which ends the call and nothing else.
#[tool(name = "trigger-error", title = "Trigger Error", read_only, open_world = false)]
pub(crate) fn trigger_error(
    /// How to fail
    kind: Failure,
) -> Result<String, ToolError> {
    match kind {
        Failure::Tool => Err(ToolError::new("the tool failed, as you asked")),
        Failure::Protocol => Err(RpcError::invalid_params("the request failed, as you asked").into()),
        Failure::Panic => panic!("as you asked"),
    }
}
