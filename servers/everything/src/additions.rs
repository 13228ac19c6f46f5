//! Tools beyond the contract: audio, a list as structured content, a parameter in a header, nested arguments, errors.

use couplet::{prelude::*, server::media::Audio, types::RpcError};
use serde::Deserialize;

/// Returns the tick of a clock as audio. Clients of revisions without audio get text.
#[tool(name = "get-tiny-sound", title = "Get Tiny Sound", read_only, open_world = false)]
pub(crate) fn get_tiny_sound() -> Audio {
    Audio::new(include_bytes!("../assets/tick.wav"), "audio/wav")
}

/// Returns prime numbers as structured content that is a list, where the revision allows it.
#[tool(name = "get-primes", title = "Get Primes", read_only, open_world = false)]
pub(crate) fn get_primes(
    /// Number of primes
    #[schemars(range(min = 1, max = 1000))]
    #[default(10)]
    count: usize,
) -> Json<Vec<u32>> {
    let is_prime = |n: &u32| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    Json((2..).filter(is_prime).take(count).collect())
}

/// Greets a region. Over HTTP the region is also sent in the header `Mcp-Param-Region`, which gateways can route by.
#[tool(name = "greet-region", title = "Greet Region", read_only, open_world = false)]
pub(crate) fn greet_region(
    /// The region, such as `eu-north`
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
) -> String {
    format!("Hello, {region}!")
}

/// How to travel
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Vehicle {
    Bicycle,
    Ship,
    Train,
}

#[derive(Deserialize, JsonSchema)]
struct Stop {
    /// The city
    city: String,
    /// The nights to stay
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 30))]
    nights: u8,
}

fn one() -> u8 {
    1
}

#[derive(Deserialize, JsonSchema)]
struct Journey {
    /// The name of the traveller
    traveller: String,
    by: Vehicle,
    /// The stops, in their order
    #[schemars(length(min = 1, max = 10))]
    stops: Vec<Stop>,
}

/// Describes a journey in a sentence. Its argument is an object with a list of objects.
#[tool(name = "plan-journey", title = "Plan Journey", read_only, open_world = false)]
pub(crate) fn plan_journey(
    /// The journey
    journey: Journey,
) -> String {
    let by = match journey.by {
        Vehicle::Bicycle => "bicycle",
        Vehicle::Ship => "ship",
        Vehicle::Train => "train",
    };
    let stops: Vec<_> = journey.stops.iter().map(|stop| format!("{} for {}", stop.city, stop.nights)).collect();
    format!("{} goes by {by}: {}", journey.traveller, stops.join(", "))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Failure {
    Tool,
    Protocol,
    Panic,
}

/// Fails with a tool error (for the model), a protocol error (for the client), or a panic (which ends only this call).
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
