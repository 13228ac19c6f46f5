//! Skills: instructions for a model, with files. The client lists them and loads one when needed; the content must match
//! the listing.

use couplet::{
    prelude::*,
    skills::{ClientSkills, LoadSkills, Mismatch, Skill, Skills},
};

fn skills(rules: &str) -> Skills {
    // Skills are usually directories: `Skills::from_directory("skills").await?`.
    Skills::new().skill(
        Skill::new("refunds", "How to refund an order.", "Look up the order, then apply references/rules.md.\n")
            .file("references/rules.md", rules)
            .field("license", "MIT"),
    )
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let server = Server::new("shop", "1.0.0").extension(skills("Within 30 days.")).build();
    let client = Client::new("agent", "1.0.0").extension(ClientSkills::new()).connect(server).await?;

    // Only names and descriptions: enough for a model to choose.
    let entry = client.skills().await?.remove(0);
    println!("{}: {}", entry.frontmatter.name(), entry.frontmatter.description());

    let skill = client.load_skill(&entry).await?;
    assert!(skill.instructions().contains("Look up the order"));
    assert_eq!(skill.file("references/rules.md").await?, b"Within 30 days.");

    // A file that changed after it was listed is detected.
    let changed = Server::new("shop", "1.0.0").extension(skills("Never.")).build();
    let client = Client::new("agent", "1.0.0").extension(ClientSkills::new()).connect(changed).await?;
    let skill = client.load_skill(&entry).await?;
    let error = skill.file("references/rules.md").await.expect_err("it is another file");
    println!("{error}");
    assert_eq!(Mismatch::of(&error).map(|m| m.uri.as_str()), Some("skill://refunds/references/rules.md"));
    Ok(())
}
