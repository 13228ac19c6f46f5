//! The guide and the manual as a book, built with mdBook without warnings and broken links.

use super::{Options, Report, tools};
use crate::{Failure, book};

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    let folder = book::write()?;
    let mdbook = match tools::MDBOOK.program() {
        Ok(program) => program,
        Err(why) => return Ok(Report::not_run(why)),
    };
    book::build(mdbook, &folder)?;
    Ok(Report::found("the guide and the manual are a book"))
}
