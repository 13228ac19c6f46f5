//! Completion of arguments of prompts and resource templates, which may depend on earlier arguments.

use couplet::{
    prelude::*,
    server::extract::{Completing, Path},
    types::CompletionReference,
};

/// Completes a city, of the given country if there is one.
fn cities(typed: Completing) -> Vec<String> {
    let all = [("Norway", "Oslo"), ("Norway", "Bergen"), ("Japan", "Osaka"), ("Japan", "Kyoto")];
    let country = typed.arguments.get("country");
    let is_there = |(land, _): &(&str, &str)| country.is_none_or(|country| country == land);
    let fits = |(_, city): &(&str, &str)| city.to_lowercase().starts_with(&typed.value.to_lowercase());
    all.into_iter().filter(is_there).filter(fits).map(|(_, city)| city.to_owned()).collect()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let trip = prompt("trip", |Args(trip): Args<Trip>| format!("Plan a trip to {}, {}.", trip.city, trip.country))
        .complete("city", cities)
        .complete_from("country", ["Japan", "Norway"]);
    let map =
        resource("map://{city}", |Path(city): Path<String>| format!("The map of {city}.")).complete("city", cities);
    let server = Server::new("travel", "1.0.0").prompt(trip).resource(map).build();
    let client = Client::new("desk", "1.0.0").connect(server).await?;

    let trip = || CompletionReference::prompt("trip");
    assert_eq!(client.complete(trip(), "country", "N").await?.values, ["Norway"]);
    assert_eq!(client.complete(trip(), "city", "os").await?.values, ["Oslo", "Osaka"]);
    let known = client.complete(trip(), "city", "os").context([("country", "Japan")]).await?;
    println!("{:?}", known.values);
    assert_eq!(known.values, ["Osaka"]);
    assert_eq!(client.complete(CompletionReference::resource("map://{city}"), "city", "K").await?.values, ["Kyoto"]);
    Ok(())
}

#[derive(serde::Deserialize, JsonSchema)]
struct Trip {
    country: String,
    city: String,
}
