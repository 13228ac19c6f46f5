//! The threads of commands that serve.

use std::num::NonZero;

use tokio::runtime::{Builder, Runtime};

use crate::{
    command::{cannot_start, finish},
    exit::Failure,
};

/// The largest number of threads: more than the largest machine has processors is a mistake.
const MOST: u64 = 1024;

/// The number of threads that serve.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct ThreadArgs {
    /// Number of threads that serve: one handles some ten thousand calls per
    /// second
    #[arg(long, help_heading = "HTTP", value_name = "COUNT", default_value = "1", value_parser = count)]
    threads: NonZero<u16>,
}

fn count(text: &str) -> Result<NonZero<u16>, String> {
    let number = text.parse::<u64>().ok().filter(|number| *number <= MOST);
    let number = number.and_then(|number| NonZero::new(u16::try_from(number).unwrap_or(u16::MAX)));
    number.ok_or_else(|| format!("expected a number from 1 to {MOST}"))
}

impl ThreadArgs {
    /// Runs a future that handles signals and its own graceful shutdown.
    pub(crate) fn run_to_end<T>(self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        finish(self.runtime()?, work)
    }

    fn runtime(self) -> Result<Runtime, Failure> {
        let mut builder = match self.threads.get() {
            1 => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        };
        builder.worker_threads(self.threads.get().into()).enable_all().build().map_err(|error| cannot_start(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_workers_as_threads() {
        for (text, expected) in [("1", 1), ("3", 3)] {
            let threads = count(text).expect("it is a number of threads");
            let Ok(runtime) = (ThreadArgs { threads }).runtime() else { panic!("it starts") };
            assert_eq!(runtime.metrics().num_workers(), expected);
        }
    }
}
