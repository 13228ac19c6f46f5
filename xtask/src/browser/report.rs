//! What came of a run, as a table of scenarios and servers.

use super::stage::Outcome;
use crate::Failure;

/// A scenario with a server.
pub(super) struct Row {
    pub(super) scenario: &'static str,
    pub(super) server: &'static str,
    pub(super) outcome: Result<Outcome, Failure>,
    pub(super) seconds: f64,
}

impl Row {
    fn cell(&self) -> &'static str {
        match self.outcome {
            Ok(Outcome::Passed) => "ok",
            Ok(Outcome::Lacks(_)) => "lacks",
            Err(_) => "FAILED",
        }
    }

    /// A line while the run goes on.
    pub(super) fn line(&self) -> String {
        format!("{:>7}  {}: {} ({:.1} s)", self.cell(), self.server, self.scenario, self.seconds)
    }
}

/// The table, and below it what servers lack and what failed.
pub(super) fn table(rows: &[Row]) -> String {
    let servers = distinct(rows.iter().map(|row| row.server));
    let scenarios = distinct(rows.iter().map(|row| row.scenario));
    let width = scenarios.iter().map(|name| name.len()).max().unwrap_or_default();
    let head: String = servers.iter().map(|name| format!("  {name}")).collect();
    let mut lines = vec![format!("{:width$}{head}", "")];
    for scenario in scenarios {
        let cell = |server: &&str| {
            let row = rows.iter().find(|row| row.scenario == scenario && row.server == *server);
            format!("  {:<1$}", row.map_or("", Row::cell), server.len())
        };
        let cells: String = servers.iter().map(cell).collect();
        lines.push(format!("{scenario:width$}{cells}").trim_end().to_owned());
    }
    let lacks = rows.iter().filter_map(|row| match row.outcome {
        Ok(Outcome::Lacks(why)) => Some(format!("  {}: {}: {why}", row.server, row.scenario)),
        _ => None,
    });
    let lacks: Vec<_> = lacks.collect();
    lines.push(format!("lacks: {}", lacks.len()));
    lines.extend(lacks);
    lines.join("\n")
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    names.fold(Vec::new(), |mut all, name| {
        if !all.contains(&name) {
            all.push(name);
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_lacks_is_counted_with_its_reason() {
        let row = |scenario, server, outcome| Row { scenario, server, outcome, seconds: 0.0 };
        let rows = [
            row("a view", "one", Ok(Outcome::Passed)),
            row("a view", "two", Ok(Outcome::Lacks("no tool has a view"))),
            row("a task", "two", Err("no".to_owned())),
        ];
        let expected =
            "        one  two\na view  ok   lacks\na task       FAILED\nlacks: 1\n  two: a view: no tool has a view";
        assert_eq!(table(&rows), expected);
    }
}
