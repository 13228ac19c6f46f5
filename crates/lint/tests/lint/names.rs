//! What tools are called.

use serde_json::json;

use crate::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("name-missing", |d| d.tool()["name"] = json!(""), |d| d.tool()["name"] = json!("x")),
    case(
        "name-characters",
        |d| d.tool()["name"] = json!("get forecast"),
        |d| d.tool()["name"] = json!("Get-Forecast_2"),
    ),
    case("name-dots", |d| d.tool()["name"] = json!("forecast.get"), |d| d.tool()["name"] = json!("forecast-get")),
    case("name-length", |d| d.tool()["name"] = json!("a".repeat(65)), |d| d.tool()["name"] = json!("a".repeat(50))),
    // `mcp__`, 7 letters and `__` make 14; 50 are left.
    case(
        "name-with-prefix",
        |d| d.tool()["name"] = json!("a".repeat(51)),
        |d| d.tool()["name"] = json!("a".repeat(50)),
    ),
    case(
        "name-shortened-alike",
        |d| {
            d.another(&format!("{}_one_{}", "a".repeat(18), "b".repeat(30)));
            d.another(&format!("{}_two_{}", "a".repeat(18), "b".repeat(30)));
        },
        |d| {
            d.another(&format!("{}_one_{}", "a".repeat(18), "b".repeat(30)));
            d.another(&format!("{}_two_{}", "a".repeat(18), "c".repeat(30)));
        },
    )
    .also(&["name-with-prefix"]),
    case("name-start", |d| d.tool()["name"] = json!("2_days"), |d| d.tool()["name"] = json!("_2_days")),
    case("name-duplicate", |d| d.another("get_forecast"), |d| d.another("get_forecasts")),
    case("name-alike", |d| d.another("getForecast"), |d| d.another("get_forecast_of")),
    case("name-alike", |d| d.another("get_f0recast"), |d| d.another("get_fourcast")),
    case("name-alike", |d| d.another("get_forec\u{430}st"), |d| d.another("get_forecast_2"))
        .also(&["name-characters", "text-homoglyph"]),
    case("name-generic", |d| d.tool()["name"] = json!("get"), |d| d.tool()["name"] = json!("get_it")),
    case("name-reserved", |d| d.tool()["name"] = json!("constructor"), |d| d.tool()["name"] = json!("construct")),
    case("server-name-missing", |d| d.info["name"] = json!(" "), |d| d.info["name"] = json!("w")),
];
