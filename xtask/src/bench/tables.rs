//! The results as tables: the best round of each, how far the rounds are apart, and how they compare.

use super::results::{Best, Results};

/// A column: where its values are, and what stands above it.
type Column = (&'static str, &'static str);

/// A suite: its heading, its columns, and which of them is compared.
struct Layout {
    suite: &'static str,
    title: &'static str,
    columns: &'static [Column],
    compared: &'static str,
}

const CPU: Column = ("cpu_us", "CPU µs");

const LAYOUTS: [Layout; 9] = [
    Layout {
        suite: "echo",
        title: "A small `tools/call`",
        columns: &[
            CPU,
            ("rps", "requests/s"),
            ("p50_us", "median µs"),
            ("p99_us", "99 % µs"),
            ("csw", "context switches"),
        ],
        compared: "cpu_us",
    },
    Layout {
        suite: "list",
        title: "`tools/list` of 103 tools",
        columns: &[CPU, ("rps", "requests/s"), ("p50_us", "median µs")],
        compared: "cpu_us",
    },
    Layout {
        suite: "big",
        title: "Large results and arguments",
        columns: &[CPU, ("mb_s", "MB/s"), ("p50_us", "median µs")],
        compared: "cpu_us",
    },
    Layout {
        suite: "sessions",
        title: "Sessions",
        columns: &[CPU, ("per_s", "handshakes/s"), ("kb_per_session", "KB per session"), ("sessions", "sessions")],
        compared: "cpu_us",
    },
    Layout {
        suite: "cold",
        title: "Start",
        columns: &[("ms", "ms"), ("cpu_ms", "CPU ms"), ("rss_kb", "resident KB")],
        compared: "ms",
    },
    Layout {
        suite: "client",
        title: "Clients, calling the same bare server",
        columns: &[CPU, ("per_cpu_s", "calls per CPU second"), ("rps", "calls/s")],
        compared: "cpu_us",
    },
    Layout {
        suite: "flat",
        title: "With many tools, with many sessions",
        columns: &[CPU, ("rps", "requests/s")],
        compared: "cpu_us",
    },
    Layout {
        suite: "size",
        title: "Size",
        columns: &[("stripped_mb", "stripped MB"), ("crates", "crates")],
        compared: "stripped_mb",
    },
    Layout {
        suite: "build",
        title: "To build from nothing, without optimizations unless it says so",
        columns: &[("cpu_s", "CPU s"), ("wall_s", "s")],
        compared: "cpu_s",
    },
];

/// All tables, as Markdown.
pub(super) fn render(results: &Results) -> String {
    let mut out = String::new();
    for layout in &LAYOUTS {
        let cases = results.cases(layout.suite);
        if cases.is_empty() {
            continue;
        }
        out += &format!("\n### {}\n", layout.title);
        for case in cases {
            out += &table(results, layout, case);
        }
    }
    out
}

fn table(results: &Results, layout: &Layout, case: &str) -> String {
    let heads: Vec<&str> = layout.columns.iter().map(|(_, head)| *head).collect();
    let compared = layout.columns.iter().find(|(key, _)| *key == layout.compared).map_or("", |(_, head)| head);
    let mut out = format!("\n{case}:\n\n| | {} | spread of {compared} | × bare | × rmcp |\n", heads.join(" | "));
    out += &format!("|---|{}\n", "---:|".repeat(heads.len() + 3));
    let best = |name: &str| results.best(layout.suite, case, name, layout.compared);
    let mut names = results.names(layout.suite, case);
    let order = |name: &&str| best(name).map_or(f64::INFINITY, |best| best.least);
    names.sort_by(|a, b| order(a).total_cmp(&order(b)));
    for name in names {
        let own = best(name);
        let cell = |key: &str| own.and_then(|own| own.values[key].as_f64()).map_or("–".to_owned(), number);
        let cells: Vec<String> = layout.columns.iter().map(|(key, _)| cell(key)).collect();
        let spread = own.map_or("–".to_owned(), |own| format!("{}–{}", number(own.least), number(own.most)));
        let ratio = |other: &str| ratio(own, best(other));
        // Ours stands out.
        let shown = if name.starts_with("couplet") { format!("**{name}**") } else { name.to_owned() };
        out += &format!("| {shown} | {} | {spread} | {} | {} |\n", cells.join(" | "), ratio("bare"), ratio("rmcp"));
    }
    out
}

fn ratio(own: Option<Best<'_>>, other: Option<Best<'_>>) -> String {
    match (own, other) {
        (Some(own), Some(other)) if other.least > 0.0 => format!("{:.2}", own.least / other.least),
        _ => "–".to_owned(),
    }
}

/// Three digits that matter, and commas between thousands; what is counted has no fraction.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        size if size.fract() == 0.0 && size < 1000.0 => format!("{value}"),
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => {
            let digits = format!("{value:.0}");
            let mut out = String::new();
            for (at, digit) in digits.chars().enumerate() {
                if at > 0 && (digits.len() - at).is_multiple_of(3) {
                    out.push(',');
                }
                out.push(digit);
            }
            out
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, expected) in [
            (36.0, "36"),
            (1.234, "1.23"),
            (12.34, "12.3"),
            (123.4, "123"),
            (1234.0, "1,234"),
            (1_234_567.0, "1,234,567"),
        ] {
            assert_eq!(number(value), expected);
        }
    }
}
