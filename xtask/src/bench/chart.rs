//! The results as a picture: CPU time per small call, 16 in flight, on a scale of powers of ten.

use super::{results::Results, tables::number};

const WIDTH: f64 = 860.0;
const LABELS: f64 = 150.0;
const NUMBERS: f64 = 90.0;
const ROW: f64 = 20.0;
const TITLE: f64 = 36.0;

/// The cases that are shown, and their titles.
const PANELS: [(&str, &str); 3] = [
    ("stdio-2025 echo, 16 in flight", "stdio, 2025-11-25"),
    ("http-2025 echo, 16 in flight", "HTTP with a session, 2025-11-25"),
    ("http-2026 echo, 16 in flight", "HTTP, 2026-07-28"),
];

/// The picture, or nothing where nothing of it was measured.
pub(super) fn render(results: &Results) -> Option<String> {
    let mut body = String::new();
    let mut y = 46.0;
    for (case, title) in PANELS {
        let rows = rows(results, case);
        if !rows.is_empty() {
            body += &panel(&rows, title, y);
            y += TITLE + ROW * rows.len() as f64;
        }
    }
    if body.is_empty() {
        return None;
    }
    let height = y + 14.0;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <title>CPU time per small tools/call</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"12\" y=\"24\" font-size=\"15\" font-weight=\"600\">CPU time of the server per small tools/call, \
         16 in flight</text>\n\
         <text x=\"12\" y=\"42\">in µs; less is better; each line is ten times the one before</text>\n{body}</svg>\n"
    ))
}

/// Names and values, the least first.
fn rows<'a>(results: &'a Results, case: &str) -> Vec<(&'a str, f64)> {
    let names = results.names("echo", case).into_iter();
    let mut rows: Vec<_> =
        names.filter_map(|name| Some((name, results.best("echo", case, name, "cpu_us")?.least))).collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    rows
}

fn panel(rows: &[(&str, f64)], title: &str, top: f64) -> String {
    let mut out = format!("<text x=\"12\" y=\"{}\" font-weight=\"600\">{title}</text>\n", top + 24.0);
    let bottom = top + TITLE + ROW * rows.len() as f64;
    for power in 0..5 {
        let x = LABELS + length(10_f64.powi(power));
        out += &format!("<path d=\"M{x:.1} {:.1}V{bottom:.1}\" stroke=\"#ddd\"/>\n", top + TITLE - 4.0);
    }
    for (at, (name, value)) in rows.iter().enumerate() {
        let y = top + TITLE + ROW * at as f64;
        let color = match *name {
            "couplet" => "#c2410c",
            name if name.starts_with("bare") => "#9ca3af",
            _ => "#3b6ea5",
        };
        let (long, base) = (length(*value), y + 12.0);
        out += &format!(
            "<text x=\"{:.1}\" y=\"{base}\" text-anchor=\"end\">{name}</text>\
             <rect x=\"{LABELS}\" y=\"{y}\" width=\"{long:.1}\" height=\"15\" fill=\"{color}\"/>\
             <text x=\"{:.1}\" y=\"{base}\">{}</text>\n",
            LABELS - 8.0,
            LABELS + long + 6.0,
            number(*value)
        );
    }
    out
}

/// One microsecond is a length of nothing, ten milliseconds the whole width.
fn length(microseconds: f64) -> f64 {
    let most = WIDTH - LABELS - NUMBERS;
    (microseconds.max(1.0).log10() / 4.0 * most).clamp(2.0, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_by_powers_of_ten() {
        let most = WIDTH - LABELS - NUMBERS;
        for (value, share) in [(10.0, 0.25), (100.0, 0.5), (10_000.0, 1.0), (1e9, 1.0)] {
            assert!((length(value) - share * most).abs() < 0.01, "{value}");
        }
        assert!(length(0.1) < 3.0);
    }
}
