//! Skills over the wire and in a client, in every revision.
#![allow(clippy::unwrap_used, reason = "a test reports by panicking")]

mod client;
mod folder;
mod live;
mod server;

use couplet_skills::{Skill, Skills};

/// Two skills, one with folders.
fn skills() -> Skills {
    let pdf = Skill::new("pdf", "Fills in \"forms\": all of them", "Read the form first.\n")
        .file("references/FORMS.md", "# Forms\n")
        .file("references/deep/er.json", "{}")
        .file("logo.png", [0x89, b'P', b'N', b'G', 0xff])
        .field("license", "MIT")
        .field("metadata", serde_json::json!({ "version": 1.5, "tags": ["a", "b: c"] }));
    Skills::new().skill(pdf).skill(Skill::new("plain", "Says hello", "Hello.").under("acme/words"))
}
