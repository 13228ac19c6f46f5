//! Skills, one of them with directories.

use couplet::{
    prelude::*,
    skills::{Skill, Skills},
};

pub(crate) fn register(server: Server) -> Server {
    let forms = Skill::new("pdf-processing", "Extract, fill, and assemble PDF documents", "Read the form first.\n")
        .file("references/FORMS.md", "# Forms\n\nA form has fields.\n")
        .file("scripts/fill.py", "print('filled')\n")
        .field("license", "MIT")
        .field("metadata", serde_json::json!({ "version": "1.0", "tags": ["pdf", "forms"] }));
    let review =
        Skill::new("code-review", "Review a change", "Read the change, then say what is wrong.\n").under("acme");
    server.extension(Skills::new().skill(forms).skill(review))
}
