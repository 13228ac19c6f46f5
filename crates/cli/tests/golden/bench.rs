//! `couplet bench`: what was measured is different each time, so numbers are masked.

use std::fs;

use crate::{
    bridge::Served,
    kit::{Folder, golden, mill, run},
};

#[test]
fn open_and_closed_loops() {
    let mill = &*mill();
    check(
        "bench",
        &[
            &["bench", mill, "grind", "--rate", "50,100", "--seconds", "0.2"],
            &["bench", mill, "--in-flight", "1,4", "--seconds", "0.1", "-c", "2"],
            &["bench", mill, "--ping", "--rate", "50", "--seconds", "0.1"],
            &["bench", mill, "grind", "ms=1", "--in-flight", "2", "--seconds", "0.1", "--json"],
        ],
    );
}

#[test]
fn failures_are_counted_and_told() {
    let mill = &*mill();
    check(
        "bench-failures",
        &[
            &["bench", mill, "jam", "--rate", "100", "--seconds", "0.2"],
            &["bench", mill, "burn", "--in-flight", "1", "--seconds", "60"],
            &["bench", mill, "burn", "--in-flight", "1,2", "--seconds", "60", "--json"],
            &["bench", mill, "ask", "--rate", "1"],
            &["bench", mill, "grin", "--rate", "1"],
            &["bench", mill, "grind", "ms=x", "--rate", "1"],
            &["bench", mill, "--rate", "1", "--in-flight", "1"],
            &["bench", mill, "--rate", "0"],
            &["bench", mill, "--seconds", "0"],
            &["bench", mill, "--svg", "/there/is/no/such/folder/x.svg"],
            &["bench", "there-is-no-such-program"],
        ],
    );
}

#[test]
fn every_revision_and_every_transport() {
    let mill = mill();
    let served = Served::start(&["run", &mill, "--http", "127.0.0.1:0"]);
    for target in [mill.as_str(), &served.url] {
        for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
            if target != mill && revision == "2024-11-05" {
                continue; // It has another transport.
            }
            let more = ["--rate", "50", "--seconds", "0.1", "--revision", revision];
            for what in [&["grind"][..], &["--ping"], &[]] {
                let text = run(&[&["bench", target], what, &more].concat());
                assert!(text.contains(revision) && text.ends_with("[exit 0]\n"), "{text}");
            }
        }
    }
}

#[test]
fn what_is_possible_is_found_out() {
    let text = run(&["bench", &mill(), "--seconds", "0.1"]);
    let rows = text.lines().filter(|line| line.ends_with(" 0") && line.contains("/s ")).count();
    assert!(rows == 5 && text.contains("capacity: about ") && text.ends_with("[exit 0]\n"), "{text}");
}

#[test]
fn a_picture() {
    let (mill, folder) = (mill(), Folder::new("bench"));
    let file = folder.file("x.svg");
    let text = run(&["bench", &mill, "--rate", "50,100", "--seconds", "0.1", "--svg", &file]);
    let svg = fs::read_to_string(&file).unwrap();
    assert!(text.ends_with("[exit 0]\n") && svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{text}\n{svg}");
    assert!(svg.contains(">50/s<") && svg.contains(">100/s<") && svg.contains(">p99.9<"), "{svg}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_prints_what_there_is() {
    use crate::terminal::Terminal;
    let mill = mill();
    let mut terminal = Terminal::start(&["bench", &mill, "grind", "--rate", "100,200", "--seconds", "600"]);
    terminal.wait_for("100/s for 600 s …");
    terminal.press("\u{3}");
    let text = terminal.end();
    // One that was just asked, or about to be, is told, too.
    let lines: Vec<_> = text.lines().filter(|line| !line.contains("latencies include the ")).collect();
    golden("terminal-bench", &masked(&(lines.join("\n") + "\n")));
}

#[track_caller]
fn check(name: &str, commands: &[&[&str]]) {
    let text: Vec<String> = commands.iter().map(|args| masked(&run(args))).collect();
    golden(name, &text.join("\n"));
}

/// Without figures: `N` for a number, `T` for a time, and a plot only as far as there is something in it.
fn masked(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        lines.push(match line {
            line if line.starts_with("$ ") || line.starts_with("[exit") || line.contains(" · ") => line.to_owned(),
            line if line.ends_with('…') => line.replace("! ", ""),
            line if line.starts_with("{\"ask") => json(line),
            line => match line.split_once('│') {
                Some((label, plot)) => format!("{label}│{}", if plot.contains('●') { " ●" } else { "" }),
                None => figures(line),
            },
        });
    }
    lines.join("\n") + "\n"
}

/// Masks the numbers of a line, but for what was asked.
fn figures(line: &str) -> String {
    let is_number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || ",.N".contains(c));
    let mut out: Vec<&str> = Vec::new();
    for (at, word) in line.split_whitespace().enumerate() {
        let is_asked = at == 0 && (word.contains("/s") || line.contains(" at once"));
        match (word, word.strip_suffix("/s")) {
            (word, _) if is_asked || word == "0" => out.push(word),
            ("µs" | "ms" | "s", _) if out.last() == Some(&"N") => {
                out.pop();
                // How many steps a scale has depends on the times.
                if out.len() < 2 || out.iter().any(|word| *word != "T") {
                    out.push("T");
                }
            }
            (_, Some(rate)) if is_number(rate) => out.push("N/s"),
            (word, _) => out.push(if is_number(word) { "N" } else { word }),
        }
    }
    out.join(" ")
}

/// Masks the numbers of the measurements.
fn json(line: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
    for run in value["runs"].as_array_mut().unwrap() {
        for failure in run["failures"].as_array_mut().unwrap() {
            failure["count"] = "N".into();
        }
        for (name, value) in run.as_object_mut().unwrap() {
            let is_asked = ["rate", "inFlight"].contains(&name.as_str());
            if !is_asked && value.as_f64().is_some_and(|number| number > 0.0) {
                *value = "N".into();
            }
        }
    }
    value.to_string()
}
