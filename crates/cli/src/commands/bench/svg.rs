//! The results as an SVG chart: load on the x axis, latency on the y axis, a line per percentile.

use std::fmt::Write;

use super::{measured::Measured, plot::Scale, table::time};

const LINES: [(&str, f64, &str); 4] =
    [("p50", 0.5, "#2a78d6"), ("p90", 0.9, "#1baf7a"), ("p99", 0.99, "#eda100"), ("p99.9", 0.999, "#e34948")];
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 620.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 340.0;

pub(super) fn picture(rows: &[Measured], title: &str) -> String {
    let scale = Scale::of(rows);
    let most = rows.iter().map(|row| row.pace.value()).fold(1.0, f64::max);
    let x = |row: &Measured| LEFT + (RIGHT - LEFT) * row.pace.value() / most;
    let y = |seconds: f64| BOTTOM - (BOTTOM - TOP) * scale.place(seconds);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\" fill=\"#333\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{}</text>\n",
        escaped(title)
    );
    for step in scale.steps() {
        let (at, label) = (y(step), time(std::time::Duration::from_secs_f64(step)));
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{RIGHT}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 8.0,
            at + 4.0,
        );
    }
    for row in rows {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x(row),
            BOTTOM + 20.0,
            row.pace
        );
    }
    for (name, share, colour) in LINES {
        let points: Vec<_> = rows.iter().filter_map(|row| Some((x(row), y(row.at(share)?.as_secs_f64())))).collect();
        let text: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            text.join(" ")
        );
        for (x, y) in &points {
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        if let Some((x, y)) = points.last() {
            let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>", x + 8.0, y + 4.0);
        }
    }
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\" fill=\"#777\">latency percentiles by load</text>\n</svg>",
        HEIGHT - 16.0
    );
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::commands::bench::measured::Pace;

    #[test]
    fn a_line_for_each_percentile_and_nothing_unescaped() {
        let rows =
            [1.0, 2.0].map(|rate| Measured::of(Pace::Rate(rate), Duration::from_secs(1), &[Duration::from_millis(3)]));
        let svg = picture(&rows, "<script> & co");
        assert_eq!(svg.matches("<polyline").count(), 4);
        assert!(svg.contains("&lt;script&gt; &amp; co") && !svg.contains("NaN"), "{svg}");
        assert!(!picture(&[], "nothing").contains("NaN"));
    }
}
