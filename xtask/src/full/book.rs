//! The guide as a book, built with mdBook.

use super::{Options, Report, tools};
use crate::{Failure, book, workspace::show};

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    let folder = book::write()?;
    let mut mdbook = match tools::MDBOOK.program() {
        Ok(program) => program,
        Err(why) => return Ok(Report::not_run(why)),
    };
    show(mdbook.arg("build").arg(&folder))?;
    Ok(Report::found("the guide is a book"))
}
