//! Servers as a whole: one that nothing is wrong with, and one that was written with this library.

use couplet::prelude::*;
use couplet_lint::{Answer, Answers, Config, Surface, lint, text};
use couplet_testing::{Wire, block_on};
use couplet_types::{ProtocolVersion, RpcError};
use serde_json::{Value, json};

use crate::draft::Draft;

#[test]
fn a_clean_server_gives_no_finding() {
    assert_eq!(text(&lint(&Draft::clean().surface(), &Config::new())), "no findings\n");
    for &version in ProtocolVersion::ALL {
        let mut draft = Draft::clean();
        draft.revisions = vec![version];
        assert_eq!(text(&lint(&draft.surface(), &Config::new())), "no findings\n", "{version}");
    }
}

/// What a day is like.
#[derive(serde::Serialize, JsonSchema)]
struct Day {
    /// The highest temperature, in degrees.
    high: f64,
    /// What to expect.
    sky: String,
}

/// The forecast of the next days for a city, day by day.
#[tool(title = "Forecast", read_only, open_world)]
fn get_forecast(
    /// The city, in any language.
    city: String,
    /// How many days; three if left out.
    days: Option<u32>,
) -> Json<Day> {
    Json(Day { high: f64::from(days.unwrap_or(3)), sky: city })
}

/// Forgets everything that was kept about a city.
#[tool(title = "Forget a city", destructive, idempotent, open_world = false)]
fn forget_city(
    /// The city, as it was asked for.
    city: String,
) -> String {
    city
}

/// How many cities were asked for so far.
#[tool(title = "Count cities", read_only, open_world = false)]
fn count_cities() -> u32 {
    2
}

fn server() -> Server {
    Server::new("weather", "1.0.0")
        .instructions("Forecasts for any city of the world.")
        .tool(get_forecast)
        .tool(forget_city)
        .tool(count_cities)
}

async fn ask(version: ProtocolVersion) -> Answers {
    let mut wire = Wire::new(server().build(), version);
    let hello = answer(wire.open().await);
    let tools = answer(wire.request("tools/list", json!({})).await);
    let prompts = answer(wire.request("prompts/list", json!({})).await);
    Answers::new(version, hello).tools([tools]).prompts([prompts])
}

fn answer(mut message: Value) -> Answer {
    match message.get_mut("result").map(Value::take) {
        Some(result) => result.into(),
        None => serde_json::from_value::<RpcError>(message["error"].take()).unwrap().into(),
    }
}

#[test]
fn a_server_of_this_library_with_good_docs_gives_no_finding() {
    let answers: Vec<_> = ProtocolVersion::ALL.iter().copied().map(|version| block_on(ask(version))).collect();
    assert_eq!(text(&lint(&Surface::from_answers(answers), &Config::new())), "no findings\n");
}
