//! Clients that are generated from real servers, in each language.

use super::{Options, Report};
use crate::{Failure, ci, generate};

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    match generate::run(&[]) {
        Ok(()) => Ok(Report::found("clients of real servers are compiled and do a round trip")),
        Err(why) => match why.strip_prefix(ci::NOT_RUN) {
            Some(why) => Ok(Report::not_run(why)),
            None => Err(why),
        },
    }
}
