//! `couplet gateway grants`: the stored answers of gateways that run.

use std::fmt::Write;

use serde_json::Value;

use super::{
    running::{self, Control, Id},
    status::age,
};
use crate::{
    exit::Failure,
    output::{Output, text},
};

/// The arguments of `couplet gateway grants`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Revoke a grant: the next call needs an answer
    #[arg(long, value_name = "ID")]
    revoke: Option<Id>,
}

pub(super) fn run(args: &Args, output: &Output) -> Result<(), Failure> {
    if let Some(id) = args.revoke {
        running::of(id)?.revoke(id.number)?;
        output.note(&format!("revoked {id}"));
        return Ok(());
    }
    let grants = running::list("grants", Control::grants, output)?;
    if output.json {
        return output.print(&grants.iter().map(|(_, grant)| format!("{grant}\n")).collect::<String>());
    }
    if grants.is_empty() {
        output.note("there are no grants");
        return Ok(());
    }
    output.print(&page(&grants, output))
}

/// Formats grants. They are data of another process: everything in them is escaped.
fn page(grants: &[(Id, Value)], output: &Output) -> String {
    let head = ["ID", "ANSWER", "UNUSED", "PRINCIPAL", "PROFILE", "TARGET"].map(str::to_owned);
    let (head, rows) = text::columns(&head, &grants.iter().map(|(id, grant)| row(*id, grant)).collect::<Vec<_>>());
    let mut page = format!("{}\n", output.out.faint(head));
    for row in rows {
        let _ = writeln!(page, "{row}");
    }
    page
}

fn row(id: Id, grant: &Value) -> [String; 6] {
    let word = |key: &str| text::line(grant[key].as_str().unwrap_or("-"));
    [
        id.to_string(),
        word("answer"),
        age(&grant["unused"]),
        word("principal"),
        word("profile"),
        format!("{} {}/{}", word("kind"), word("server"), word("name")),
    ]
}
