//! What was measured, by what it is about.

use std::{fs, io::Write, path::Path};

use serde_json::{Value, json};

use crate::Failure;

/// One measurement.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) suite: &'static str,
    /// What was asked, and over which transport.
    pub(super) case: String,
    /// Whose server, or whose client.
    pub(super) name: String,
    pub(super) values: Value,
}

/// All measurements of a run, which are also written to a file as they come.
pub(super) struct Results {
    pub(super) records: Vec<Record>,
    file: fs::File,
}

impl Results {
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        let file = fs::File::create(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self { records: Vec::new(), file })
    }

    /// Takes a measurement, or tells why there is none.
    pub(super) fn add(&mut self, suite: &'static str, case: &str, name: &str, outcome: Result<Value, Failure>) {
        let values = match outcome {
            Ok(values) => values,
            Err(why) => {
                println!("{suite} {case} {name}: no result: {why}");
                json!({ "error": why })
            }
        };
        let line = json!({ "suite": suite, "case": case, "name": name, "values": &values });
        let _ = writeln!(self.file, "{line}");
        let record = Record { suite, case: case.to_owned(), name: name.to_owned(), values };
        if record.values.get("error").is_none() {
            println!("{suite} {case} {name}: {}", brief(&record.values));
        }
        if record.values["errors"].as_u64().is_some_and(|errors| errors > 0) {
            println!("{suite} {case} {name}: wrong answers: {}", record.values["first_error"]);
        }
        self.records.push(record);
    }

    /// The cases of a suite, in the order in which they came.
    pub(super) fn cases(&self, suite: &str) -> Vec<&str> {
        distinct(self.records.iter().filter(|record| record.suite == suite).map(|record| record.case.as_str()))
    }

    /// The names that a case was measured for.
    pub(super) fn names(&self, suite: &str, case: &str) -> Vec<&str> {
        let of_case = |record: &&Record| record.suite == suite && record.case == case;
        distinct(self.records.iter().filter(of_case).map(|record| record.name.as_str()))
    }

    /// The middle and the ends of a value over the rounds.
    pub(super) fn value(&self, suite: &str, case: &str, name: &str, key: &str) -> Option<Spread> {
        let same = |record: &&Record| record.suite == suite && record.case == case && record.name == name;
        Spread::new(self.records.iter().filter(same).filter_map(|record| record.values[key].as_f64()).collect())
    }
}

fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// A value measured several times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) least: f64,
    pub(super) middle: f64,
    pub(super) most: f64,
}

impl Spread {
    pub(super) fn new(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let half = values.len() / 2;
        let middle = if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) };
        Some(Self { least, middle, most })
    }
}

/// The values that people look at while they wait.
fn brief(values: &Value) -> String {
    const SHOWN: [&str; 10] =
        ["rps", "p50_us", "cpu_us", "csw", "mb_s", "per_s", "kb_per_session", "ms", "stripped_mb", "cpu_s"];
    let shown = SHOWN.iter().filter_map(|key| Some(format!("{key} {:.1}", values[*key].as_f64()?)));
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_the_median() {
        let spread = |values: &[f64]| Spread::new(values.to_vec()).map(|s| (s.least, s.middle, s.most));
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some((1.0, 2.0, 3.0)));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]), Some((1.0, 2.5, 4.0)));
        assert_eq!(spread(&[]), None);
    }
}
