//! Multi-round-trip requests. In a session, each elicitation is a request to the client. In 2026-07-28 the handler is
//! dropped at an elicitation, and runs again from the top when the client retries with the answer. It is written once.

use couplet::{
    prelude::*,
    types::{CacheScope, PromptMessage, ReadResourceResult, ResourceContents},
};
use serde::Deserialize;

use crate::App;

pub(crate) fn register(server: Server<App>) -> Server<App> {
    server.tool(book_trip).resource(guarded).prompt(tailored_prompt)
}

#[derive(Deserialize, JsonSchema)]
struct Destination {
    /// Where to?
    city: String,
}

#[derive(Deserialize, JsonSchema)]
struct Days {
    /// For how many days?
    #[schemars(range(min = 1, max = 30))]
    days: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Travellers {
    /// How many go?
    #[schemars(range(min = 1, max = 9))]
    travellers: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Consent {
    /// Is that all right?
    yes: bool,
}

/// Books an imaginary trip in three rounds: the city, then the days and travellers at once, then consent.
#[tool(name = "book-trip", title = "Book Trip", open_world = false)]
async fn book_trip(ctx: Ctx) -> Result<String, ToolError> {
    // Runs once, however often this handler runs.
    let booking: u16 = ctx.step("booking", || async { number() }).await?;
    let Destination { city } = ctx.elicit("destination", "Let us book a trip.").await?.accepted()?;
    let days = ctx.elicit::<Days>("days", format!("How long do you stay in {city}?"));
    let travellers = ctx.elicit::<Travellers>("travellers", format!("Who goes to {city}?"));
    // Two elicitations in one round.
    let (days, travellers) = tokio::join!(days, travellers);
    let (Days { days }, Travellers { travellers }) = (days?.accepted()?, travellers?.accepted()?);
    let trip = format!("{days} days in {city} for {travellers}");
    let Consent { yes } = ctx.elicit("consent", format!("Booking {booking}: {trip}?")).await?.accepted()?;
    Ok(if yes { format!("Booked under {booking}: {trip}.") } else { format!("Booking {booking} is cancelled.") })
}

fn number() -> u16 {
    let mut bytes = [0; 2];
    // Any number will do, also 0 on failure.
    let _ = getrandom::fill(&mut bytes);
    u16::from_le_bytes(bytes)
}

/// A text that needs the user's consent, which is elicited during the read.
#[resource("demo://resource/guarded/{name}", name = "Guarded Resource", mime_type = "text/plain")]
async fn guarded(name: String, ctx: Ctx) -> Result<ReadResourceResult, ToolError> {
    let Consent { yes } = ctx.elicit("consent", format!("May `{name}` be read?")).await?.accepted()?;
    if !yes {
        return Err(ToolError::new("the user declined"));
    }
    let contents = ResourceContents::text(format!("demo://resource/guarded/{name}"), format!("The secret of {name}."));
    // Consent is for one read.
    Ok(ReadResourceResult::new(vec![contents.mime_type("text/plain")]).ttl_ms(0).cache_scope(CacheScope::Private))
}

#[derive(Deserialize, JsonSchema)]
struct Tone {
    /// In which tone?
    tone: String,
}

/// A prompt that asks the user for the tone before it is written
#[prompt(name = "tailored-prompt", title = "Tailored Prompt")]
async fn tailored_prompt(
    /// What to write about
    topic: String,
    ctx: Ctx,
) -> Result<Vec<PromptMessage>, ToolError> {
    let Tone { tone } = ctx.elicit("tone", format!("How shall it sound, about {topic}?")).await?.accepted()?;
    Ok(vec![PromptMessage::user(format!("Write about {topic}. Be {tone}."))])
}
