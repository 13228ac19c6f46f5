//! Calls of several rounds. In a session each question is a request to the client. In 2026-07-28 there are none: the
//! function is dropped at a question, and runs again from the top when the answer is there. It is written once.

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

/// Books a trip that does not exist, in three rounds: where to, then for how long and for how many at once, then the consent.
#[tool(name = "book-trip", title = "Book Trip", open_world = false)]
async fn book_trip(ctx: Ctx) -> Result<String, ToolError> {
    // Made once, however often this function runs.
    let booking: u16 = ctx.step("booking", || async { number() }).await?;
    let Destination { city } = ctx.elicit("destination", "Let us book a trip.").await?.accepted()?;
    let days = ctx.elicit::<Days>("days", format!("How long do you stay in {city}?"));
    let travellers = ctx.elicit::<Travellers>("travellers", format!("Who goes to {city}?"));
    // Two questions in one round.
    let (days, travellers) = tokio::join!(days, travellers);
    let (Days { days }, Travellers { travellers }) = (days?.accepted()?, travellers?.accepted()?);
    let trip = format!("{days} days in {city} for {travellers}");
    let Consent { yes } = ctx.elicit("consent", format!("Booking {booking}: {trip}?")).await?.accepted()?;
    Ok(if yes { format!("Booked under {booking}: {trip}.") } else { format!("Booking {booking} is forgotten.") })
}

fn number() -> u16 {
    let mut bytes = [0; 2];
    // Any number will do.
    let _ = getrandom::fill(&mut bytes);
    u16::from_le_bytes(bytes)
}

/// A text that is read only with the consent of the user, who is asked while it is read.
#[resource("demo://resource/guarded/{name}", name = "Guarded Resource", mime_type = "text/plain")]
async fn guarded(name: String, ctx: Ctx) -> Result<ReadResourceResult, ToolError> {
    let Consent { yes } = ctx.elicit("consent", format!("May `{name}` be read?")).await?.accepted()?;
    if !yes {
        return Err(ToolError::new("the user does not want that"));
    }
    let contents = ResourceContents::text(format!("demo://resource/guarded/{name}"), format!("The secret of {name}."));
    // Consent is for this once.
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
