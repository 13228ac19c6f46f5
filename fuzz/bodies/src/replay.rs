//! A target over its seeds and mutations of them, the same every time.

use std::{
    cell::Cell,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
};

use crate::{Mutator, envelope, lock, names, seeds, server};

/// One of the fuzz targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The envelope of a message.
    Envelope,
    /// A whole server.
    Server,
    /// Names of servers and tools.
    Names,
    /// A lock file.
    Lock,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Envelope, Self::Server, Self::Names, Self::Lock];

    /// The target of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }

    /// The name, as libFuzzer knows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::Server => "server",
            Self::Names => "names",
            Self::Lock => "lock",
        }
    }

    /// Inputs to begin with.
    pub fn seeds(self) -> Vec<Vec<u8>> {
        match self {
            Self::Envelope => seeds::messages(),
            Self::Server => seeds::sessions(),
            Self::Names => seeds::names(),
            Self::Lock => seeds::locks(),
        }
    }

    /// Runs the target on one input, and tells of every panic: also of one that the server caught.
    ///
    /// # Errors
    /// The input, and what was wrong.
    pub fn run(self, data: &[u8]) -> Result<(), Broken> {
        watch();
        PANIC.take();
        let body = match self {
            Self::Envelope => envelope,
            Self::Server => server,
            Self::Names => names,
            Self::Lock => lock,
        };
        let ended = catch_unwind(AssertUnwindSafe(|| body(data)));
        match (ended, PANIC.take()) {
            (Ok(()), None) => Ok(()),
            (_, what) => Err(Broken { target: self, input: data.to_vec(), what: what.unwrap_or_default() }),
        }
    }
}

/// An input for which a property does not hold.
pub struct Broken {
    /// The target.
    pub target: Target,
    /// The input.
    pub input: Vec<u8>,
    /// What was wrong.
    pub what: String,
}

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` on \"{}\": {}", self.target.name(), self.input.escape_ascii(), self.what)
    }
}

/// Runs a target over its seeds and as many mutations of them. Returns how many inputs there were.
///
/// # Errors
/// The first input for which a property does not hold.
pub fn replay(target: Target, mutations: u64) -> Result<u64, Broken> {
    let seeds = target.seeds();
    for seed in &seeds {
        target.run(seed)?;
    }
    let mut mutator = Mutator::new(1);
    for _ in 0..mutations {
        target.run(&mutator.mutate(&seeds))?;
    }
    Ok(seeds.len() as u64 + mutations)
}

thread_local! {
    static PANIC: Cell<Option<String>> = const { Cell::new(None) };
}

/// From now on the panics of this process are kept, the first of each run.
fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            let first = PANIC.take().unwrap_or_else(|| info.to_string());
            PANIC.set(Some(first));
            usual(info);
        }));
    });
}
