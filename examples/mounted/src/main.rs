//! Mounted servers: each is written separately, and clients see one server.

use couplet::{ProtocolVersion, client::Filter, core::Change, prelude::*};
use serde_json::json;

/// What the weather is like.
#[tool]
fn today(city: String) -> String {
    format!("rain in {city}")
}

/// The sky above.
#[resource("sky://now", subscribable)]
fn sky() -> &'static str {
    "grey"
}

/// Finds a way.
#[tool]
fn route(from: String, to: String) -> String {
    format!("{from} to {to}: by tram")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    for &version in ProtocolVersion::ALL {
        let weather = Server::new("weather", "1.0.0").tool(today).resource(sky).build();
        let city = Server::new("city", "1.0.0")
            .tool(tool("mayor", || "Ada"))
            .mount("weather", weather.clone())
            .mount("traffic", Server::new("traffic", "1.0.0").tool(route))
            .build();
        let client = Client::new("demo", "1.0.0").versions([version]).connect(city).await?;
        let names: Vec<_> = client.tools().await?.into_iter().map(|t| t.name).collect();
        assert_eq!(names, ["mayor", "weather_today", "traffic_route"]);
        assert_eq!(
            client.call("weather_today", json!({ "city": "Oslo" })).await?.into_result()?.text(),
            "rain in Oslo"
        );
        assert_eq!(client.read("sky://weather/now").await?.all_text(), "grey");

        let mut changes = client.listen(Filter::new().tools().resource("sky://weather/now")).await?;
        weather.updated("sky://now");
        assert_eq!(changes.next().await, Some(Change::Updated("sky://weather/now".into())));
        weather.add_tool(tool("tomorrow", || "sun"))?;
        assert_eq!(changes.next().await, Some(Change::Tools));
        assert_eq!(client.call("weather_tomorrow", ()).await?.into_result()?.text(), "sun");
        println!("{version}: {names:?}, then one more");
        client.close().await?;
    }
    Ok(())
}
