//! The table of the comparison.

use std::fs;

use super::{Row, inputs::Input};
use crate::{Failure, bench::report::replace, workspace::root};

const MARKS: [&str; 2] =
    ["<!-- comparison: written by `cargo xtask openapi compare --write` -->", "<!-- end of comparison -->"];

const HEAD: &str = "| document | operations | program | tools | left out | invalid | CPU s | MiB |\n\
                    |---|---:|---|---:|---:|---:|---:|---:|\n";

/// Formats one row.
pub(super) fn row(input: &Input, row: &Row) -> String {
    let Input { name, operations, .. } = input;
    let start = format!("| {name} | {operations} | {} |", row.peer);
    let measured = match &row.outcome {
        Ok(measured) => measured,
        Err(why) => return format!("{start} {why} | | | | |"),
    };
    let left_out = operations.saturating_sub(measured.tools);
    let invalid = row.invalid.as_ref().map_or_else(|_| "not linted".to_owned(), usize::to_string);
    format!("{start} {} | {left_out} | {invalid} | {:.2} | {} |", measured.tools, measured.cpu, measured.memory >> 20)
}

/// Formats the table. The names of a document are in its first row only.
pub(super) fn whole(found: &[(Input, Vec<Row>)]) -> String {
    let mut table = HEAD.to_owned();
    for (input, rows) in found {
        for (at, one) in rows.iter().enumerate() {
            let line = row(input, one);
            let cells: Vec<&str> = line.splitn(4, " | ").collect();
            match cells[..] {
                [.., peer, rest] if at > 0 => table.push_str(&format!("| | | {peer} | {rest}")),
                _ => table.push_str(&line),
            }
            table.push('\n');
        }
    }
    table
}

/// Writes the table into the document.
pub(super) fn write(table: &str) -> Result<(), Failure> {
    let path = root().join("docs/openapi.md");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let text = replace(&text, table, MARKS).ok_or_else(|| format!("{} has no place for the table", path.display()))?;
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{super::measure::Measured, *};

    #[test]
    fn rows_have_all_columns() {
        let input = Input { name: "Pets", operations: 20, original: "a".into(), json: "b".into() };
        let measured = Measured { tools: 19, cpu: 0.5, memory: 20 << 20 };
        let rows = vec![
            Row { peer: "one".to_owned(), outcome: Ok(measured), invalid: Ok(2) },
            Row { peer: "two".to_owned(), outcome: Err("not read".to_owned()), invalid: Err(String::new()) },
            Row { peer: "three".to_owned(), outcome: Ok(measured), invalid: Err("lint: no".to_owned()) },
        ];
        let expected = format!(
            "{HEAD}| Pets | 20 | one | 19 | 1 | 2 | 0.50 | 20 |\n| | | two | not read | | | | |\n\
             | | | three | 19 | 1 | not linted | 0.50 | 20 |\n"
        );
        assert_eq!(whole(&[(input, rows)]), expected);
    }

    #[test]
    fn the_document_has_a_place() {
        let text = fs::read_to_string(root().join("docs/openapi.md")).unwrap();
        assert!(replace(&text, "x", MARKS).is_some());
    }
}
