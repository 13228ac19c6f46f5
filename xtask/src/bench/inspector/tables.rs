//! The figures as tables.

use super::{Figures, drive::TASKS, peers::Peer};

/// The median of some numbers.
pub(super) fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// All rounds of an inspector.
pub(super) type Rounds = Vec<(Peer, Vec<Figures>)>;

/// Both tables, as Markdown.
pub(super) fn render(rounds: &Rounds) -> String {
    format!("{}\n{}\n{}", costs(rounds), efforts(rounds), visible(rounds))
}

fn costs(rounds: &Rounds) -> String {
    let mut out =
        "| | first paint ms | CPU ms then | memory MB then | CPU ms after 20 calls | memory MB after 20 calls |\n\
                   |---|---:|---:|---:|---:|---:|\n"
            .to_owned();
    let of = |figures: &[Figures]| {
        let middle = |value: fn(&Figures) -> f64| median(figures.iter().map(value));
        [
            middle(|f| f.paint_ms),
            middle(|f| f.paint_cpu_ms),
            middle(|f| f.paint_mb),
            middle(|f| f.calls_cpu_ms),
            middle(|f| f.calls_mb),
        ]
    };
    for (peer, figures) in rounds {
        let cells = of(figures).map(|value| format!("{value:.0}")).join(" | ");
        out += &format!("| {} | {cells} |\n", peer.name());
    }
    if let [(_, ours), (_, others)] = rounds.as_slice() {
        let (ours, others) = (of(ours), of(others));
        let ratios: Vec<_> = ours.iter().zip(others).map(|(ours, other)| format!("{:.1}", other / ours)).collect();
        out += &format!("| ratio | {} |\n", ratios.join(" | "));
    }
    out
}

fn efforts(rounds: &Rounds) -> String {
    let names: Vec<_> = rounds.iter().map(|(peer, _)| format!("{}: clicks | typed | s |", peer.name())).collect();
    let mut out = format!("| | {}\n|---|{}\n", names.join(" "), "---:|---:|---:|".repeat(rounds.len()));
    for (at, task) in TASKS.iter().enumerate() {
        out += &format!("| {task} |");
        for (_, figures) in rounds {
            let seconds = median(figures.iter().filter_map(|f| f.efforts.get(at)).map(|effort| effort.seconds));
            let effort = figures.first().and_then(|f| f.efforts.get(at)).copied().unwrap_or_default();
            out += &format!(" {} | {} | {seconds:.2} |", effort.clicks, effort.keys);
        }
        out.push('\n');
    }
    out
}

fn visible(rounds: &Rounds) -> String {
    let mut out = "| visible at 1280x800, at most | tools | messages | texts |\n|---|---:|---:|---:|\n".to_owned();
    for (peer, figures) in rounds {
        if let Some(seen) = figures.first().map(|figures| figures.visible) {
            out += &format!("| {} | {} | {} | {} |\n", peer.name(), seen.tools, seen.messages, seen.texts);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_shown() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        let figures = |paint_ms| Figures { paint_ms, ..Figures::default() };
        let rounds = vec![
            (Peer::Couplet, vec![figures(1.0), figures(30.0), figures(20.0)]),
            (Peer::Official, vec![figures(200.0)]),
        ];
        let table = render(&rounds);
        assert!(table.contains("| `couplet inspect` | 20 |") && table.contains("| ratio | 10.0 |"), "{table}");
    }
}
