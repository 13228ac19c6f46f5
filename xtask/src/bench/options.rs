//! What the command line asks for.

use crate::Failure;

/// The suites, in the order in which they run.
pub(super) const SUITES: [&str; 9] = ["echo", "list", "big", "sessions", "cold", "client", "flat", "size", "build"];

/// What to measure, and for how long.
#[derive(Debug)]
pub(super) struct Options {
    /// The names or kits of subjects; all if there are none.
    pub(super) only: Vec<String>,
    pub(super) suites: Vec<String>,
    pub(super) rounds: usize,
    /// A short look, whose numbers say little.
    pub(super) quick: bool,
    /// Goes on with the results of the last run: more rounds, or suites that were not run.
    pub(super) more: bool,
    /// Puts the results into `bench/README.md`.
    pub(super) write: bool,
    /// Compares instruction counts, instead of measuring time.
    pub(super) check: bool,
    /// Records instruction counts, instead of measuring time.
    pub(super) record: bool,
}

impl Options {
    pub(super) fn new(arguments: &[String]) -> Result<Self, Failure> {
        let mut options = Self {
            only: Vec::new(),
            suites: SUITES.map(str::to_owned).to_vec(),
            rounds: 0,
            quick: false,
            more: false,
            write: false,
            check: false,
            record: false,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("`{argument}` needs a value"));
            match argument.as_str() {
                "--quick" => options.quick = true,
                "--more" => options.more = true,
                "--write" => options.write = true,
                "--check" => options.check = true,
                "--record" => options.record = true,
                "--only" => options.only = list(value()?),
                "--suite" => options.suites = list(value()?),
                "--rounds" => options.rounds = value()?.parse().map_err(|_| "`--rounds` wants a number")?,
                other => return Err(format!("there is no option `{other}`; see bench/README.md")),
            }
        }
        if let Some(unknown) = options.suites.iter().find(|suite| !SUITES.contains(&suite.as_str())) {
            return Err(format!("there is no suite `{unknown}`; there are {}", SUITES.join(", ")));
        }
        if options.rounds == 0 {
            options.rounds = if options.quick { 1 } else { 5 };
        }
        Ok(options)
    }

    pub(super) fn wants(&self, name: &str, kit: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name || only == kit)
    }

    pub(super) fn has(&self, suite: &str) -> bool {
        self.suites.iter().any(|wanted| wanted == suite)
    }
}

/// The names between commas.
pub(super) fn list(text: &str) -> Vec<String> {
    text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let read = |text: &str| Options::new(&list(&text.replace(' ', ",")));
        let options = read("--only rmcp --quick --suite echo").unwrap();
        assert!(options.wants("rmcp-json", "rmcp") && !options.wants("bare", "bare"));
        assert!(options.has("echo") && !options.has("list") && options.rounds == 1);
        assert_eq!(read("--rounds 3").unwrap().rounds, 3);
        for wrong in ["--rounds many", "--rounds", "--suite nothing", "--fast"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
