//! A skill: instructions for a model, with a file.

use couplet::skills::{Skill, Skills};

const TOUR: &str = "\
1. Read `references/features.md`, which lists what this server has.
2. Call `echo` and `get-caller`, and tell the user which protocol revision is in use.
3. Ask the user what they want to see: elicitation, tasks, views, subscriptions or resources.
4. Call the tools in the list for it, one by one, and report the results.
";

pub(crate) fn skills() -> Skills {
    let tour = Skill::new("tour", "Shows a user around the everything server, feature by feature.", TOUR)
        .file("references/features.md", include_str!("../docs/features.md"))
        .field("license", "MIT OR Apache-2.0");
    Skills::new().skill(tour)
}
