//! What was measured, by what it is about.

use std::{fs, io::Write, path::Path};

use serde_json::{Value, json};

use crate::Failure;

/// One measurement.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) suite: String,
    /// What was asked, and over which transport.
    pub(super) case: String,
    /// Whose server, or whose client.
    pub(super) name: String,
    pub(super) values: Value,
}

impl Record {
    /// A line of the file.
    fn read(line: &str) -> Option<Self> {
        let mut line: Value = serde_json::from_str(line).ok()?;
        let text = |key: &str| line[key].as_str().map(str::to_owned);
        let (suite, case, name) = (text("suite")?, text("case")?, text("name")?);
        Some(Self { suite, case, name, values: line["values"].take() })
    }
}

/// All measurements of a run, which are also written to a file as they come.
pub(super) struct Results {
    pub(super) records: Vec<Record>,
    file: fs::File,
}

impl Results {
    /// A run from its beginning, or one that goes on with what was measured `before`.
    pub(super) fn new(path: &Path, before: bool) -> Result<Self, Failure> {
        let text = if before { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
        let records = text.lines().filter_map(Record::read).collect();
        let wrong = |e| format!("{}: {e}", path.display());
        let mut file = fs::File::create(path).map_err(wrong)?;
        file.write_all(text.as_bytes()).map_err(wrong)?;
        Ok(Self { records, file })
    }

    /// Takes a measurement, or tells why there is none.
    pub(super) fn add(&mut self, suite: &str, case: &str, name: &str, outcome: Result<Value, Failure>) {
        let values = match outcome {
            Ok(values) => values,
            Err(why) => {
                println!("{suite} {case} {name}: no result: {why}");
                json!({ "error": why })
            }
        };
        let line = json!({ "suite": suite, "case": case, "name": name, "values": &values });
        let _ = writeln!(self.file, "{line}");
        let record = Record { suite: suite.to_owned(), case: case.to_owned(), name: name.to_owned(), values };
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

    /// How many rounds there were.
    pub(super) fn rounds(&self) -> usize {
        let same = |a: &Record, b: &Record| a.suite == b.suite && a.case == b.case && a.name == b.name;
        let count = |record: &Record| self.records.iter().filter(|other| same(record, other)).count();
        self.records.first().map_or(0, count)
    }

    /// The round in which a value was least: neighbours of the machine only ever add to it.
    pub(super) fn best(&self, suite: &str, case: &str, name: &str, key: &str) -> Option<Best<'_>> {
        let same = |record: &&Record| record.suite == suite && record.case == case && record.name == name;
        let value = |record: &'_ Record| record.values[key].as_f64();
        let measured = || self.records.iter().filter(same).filter(|record| value(record).is_some());
        let order = |a: &&Record, b: &&Record| f64::total_cmp(&value(a).unwrap_or(0.0), &value(b).unwrap_or(0.0));
        let record = measured().min_by(|a, b| order(a, b))?;
        let most = measured().filter_map(value).fold(f64::MIN, f64::max);
        Some(Best { least: value(record)?, most, values: &record.values })
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

/// The best of several rounds: its value, that of the worst one, and everything else that was measured in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best<'a> {
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) values: &'a Value,
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
    fn the_best_round_is_shown_as_a_whole() {
        let record = |line: Value| Record::read(&line.to_string()).unwrap();
        let line = |name: &str, cpu: f64, rps: u32| {
            record(json!({ "suite": "s", "case": "c", "name": name, "values": { "cpu": cpu, "rps": rps } }))
        };
        let path = std::env::temp_dir().join(format!("couplet-results-{}", std::process::id()));
        let mut results = Results::new(&path, false).unwrap();
        results.records = vec![line("a", 3.0, 30), line("b", 0.5, 1), line("a", 1.0, 10), line("a", 2.0, 20)];
        let best = results.best("s", "c", "a", "cpu").unwrap();
        assert_eq!((best.least, best.most, best.values["rps"].as_u64()), (1.0, 3.0, Some(10)));
        assert_eq!(results.rounds(), 3);
        assert!(results.best("s", "c", "nobody", "cpu").is_none());
        results.add("s", "c", "a", Ok(json!({ "cpu": 0.1 })));
        assert_eq!(Results::new(&path, true).unwrap().best("s", "c", "a", "cpu").unwrap().least, 0.1);
        assert!(Results::new(&path, false).unwrap().records.is_empty());
        std::fs::remove_file(path).unwrap();
    }
}
