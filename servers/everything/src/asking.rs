//! Tools of the contract for roots, and for form elicitation with every kind of field.

use couplet::{
    prelude::*,
    types::{
        BooleanSchema, ContentBlock, ElicitAction, ElicitParams, ElicitResult, ElicitSchema, EnumSchema,
        MultiEnumSchema, NumberSchema, StringFormat, StringSchema,
    },
};
use serde_json::Value;

/// Lists the current MCP roots provided by the client. Demonstrates the roots protocol capability even though this server doesn't access files.
#[tool(
    name = "get-roots-list",
    title = "Get Roots List Tool",
    read_only,
    destructive = false,
    idempotent,
    open_world = false
)]
pub(crate) async fn get_roots_list(ctx: Ctx) -> Result<String, ToolError> {
    let roots = ctx.roots().await?;
    if roots.is_empty() {
        return Ok("The client supports roots but no roots are currently configured.\n\nThis could mean:\n\
                   1. The client hasn't provided any roots yet\n\
                   2. The client provided an empty roots list\n\
                   3. The roots configuration is still being loaded"
            .to_owned());
    }
    let line = |(at, root): (usize, &couplet::types::Root)| {
        format!("{}. {}\n   URI: {}", at + 1, root.name.as_deref().unwrap_or("Unnamed Root"), root.uri)
    };
    let lines: Vec<_> = roots.iter().enumerate().map(line).collect();
    Ok(format!(
        "Current MCP Roots ({} total):\n\n{}\n\nNote: This server demonstrates the roots protocol capability but doesn't \
         actually access files. The roots are provided by the MCP client and can be used by servers that need file \
         system access.",
        roots.len(),
        lines.join("\n\n")
    ))
}

/// Trigger a Request from the Server for User Elicitation
#[tool(
    name = "trigger-elicitation-request",
    title = "Trigger Elicitation Request Tool",
    destructive = false,
    open_world = false
)]
pub(crate) async fn trigger_elicitation_request(ctx: Ctx) -> Result<Vec<ContentBlock>, ToolError> {
    let question = ElicitParams::form("Please provide inputs for the following fields:", &form());
    let answer = ctx.elicit_with("form", question).await?;
    let mut content = match answer.action {
        ElicitAction::Accept => {
            let fields = [
                ("name", "Name"),
                ("check", "Agreed to terms"),
                ("email", "Email"),
                ("homepage", "Homepage"),
                ("birthdate", "Birthdate"),
                ("integer", "Favorite Integer"),
                ("number", "Favorite Number"),
            ];
            vec!["✅ User provided the requested information!".to_owned(), said(&answer, &fields)]
        }
        ElicitAction::Decline => vec!["❌ User declined to provide the requested information.".to_owned()],
        ElicitAction::Cancel => vec!["⚠️ User cancelled the elicitation dialog.".to_owned()],
    };
    content.push(format!("\nRaw result: {}", serde_json::to_string_pretty(&answer)?));
    Ok(content.into_iter().map(ContentBlock::text).collect())
}

/// Lists the answers, one line per named field.
pub(crate) fn said(answer: &ElicitResult, fields: &[(&str, &str)]) -> String {
    let line = |(key, name): &(&str, &str)| match answer.content.as_ref()?.get(key)?.parse().ok()? {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(format!("- {name}: {text}")),
        other => Some(format!("- {name}: {other}")),
    };
    format!("User inputs:\n{}", fields.iter().filter_map(line).collect::<Vec<_>>().join("\n"))
}

#[expect(clippy::approx_constant, reason = "the value of the contract")]
const FAVORITE: f64 = 3.14;

/// Builds a form with every kind of field. Kinds that a revision lacks are left out or simplified.
fn form() -> ElicitSchema {
    let text = |title: &str, description: &str| StringSchema::new().title(title).description(description);
    let friends = ["Monica", "Rachel", "Joey", "Chandler", "Ross", "Phoebe"];
    let instruments = ["Guitar", "Piano", "Violin", "Drums", "Bass"];
    let heroes = [("hero-1", "Superman"), ("hero-2", "Green Lantern"), ("hero-3", "Wonder Woman")];
    let fish = [("fish-1", "Tuna"), ("fish-2", "Salmon"), ("fish-3", "Trout")];
    let pets = ["Cats", "Dogs", "Birds", "Fish", "Reptiles"].map(str::to_owned).to_vec();
    let email = "Your email address (will be verified, and never shared with anyone else)";
    let integer = NumberSchema::integer()
        .title("Integer")
        .description("Your favorite integer (do not give us your phone number, pin, or other sensitive info)");
    let number =
        NumberSchema::new().title("Number in range 1-1000").description("Favorite number (there are no wrong answers)");
    let friend = EnumSchema::new(friends).title("Untitled Single Select Enum");
    let several = MultiEnumSchema::new(instruments).title("Untitled Multiple Select Enum").min_items(1).max_items(3);
    let hero = EnumSchema::titled(heroes).title("Titled Single Select Enum");
    let fishes = MultiEnumSchema::titled(fish).title("Titled Multiple Select Enum").min_items(1).max_items(3);
    let pet = EnumSchema::new(["pet-1", "pet-2", "pet-3", "pet-4", "pet-5"]).enum_names(pets);
    let first_line = text("String with default", "Favorite first line of a story");
    ElicitSchema::new()
        .required("name", text("String", "Your full, legal name"))
        .optional("check", BooleanSchema::new().title("Boolean").description("Agree to the terms and conditions"))
        .optional("firstLine", first_line.default_value("It was a dark and stormy night."))
        .optional("email", text("String with email format", email).format(StringFormat::Email))
        .optional("homepage", text("String with uri format", "Portfolio / personal website").format(StringFormat::Uri))
        .optional("birthdate", text("String with date format", "Your date of birth").format(StringFormat::Date))
        .optional("integer", integer.minimum(1.0).maximum(100.0).default_value(42.0))
        .optional("number", number.minimum(0.0).maximum(1000.0).default_value(FAVORITE))
        .optional("untitledSingleSelectEnum", friend.description("Choose your favorite friend").default_value("Monica"))
        .optional(
            "untitledMultipleSelectEnum",
            several.description("Choose your favorite instruments").default_value(vec!["Guitar".to_owned()]),
        )
        .optional("titledSingleSelectEnum", hero.description("Choose your favorite hero").default_value("hero-1"))
        .optional(
            "titledMultipleSelectEnum",
            fishes.description("Choose your favorite types of fish").default_value(vec!["fish-1".to_owned()]),
        )
        .optional(
            "legacyTitledEnum",
            pet.title("Legacy Titled Single Select Enum")
                .description("Choose your favorite type of pet")
                .default_value("pet-1"),
        )
}
