//! The figures as tables.

use super::{
    Figures,
    drive::{Effort, TASKS},
    peers::Peer,
};

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
    type Row = fn(&Figures) -> [f64; 5];
    let alone: Row = |f| [f.paint_ms, f.at_paint.cpu_ms, f.at_paint.mb, f.after_calls.cpu_ms, f.after_calls.mb];
    let with_page: Row = |f| {
        let [paint, after] = [f.at_paint, f.after_calls].map(|c| [c.cpu_ms + c.page_cpu_ms, c.mb + c.page_mb]);
        [f.paint_ms, paint[0], paint[1], after[0], after[1]]
    };
    for (suffix, row) in [("", alone), (", with its page", with_page)] {
        let of = |figures: &[Figures]| [0, 1, 2, 3, 4].map(|at| median(figures.iter().map(|one| row(one)[at])));
        for (peer, figures) in rounds {
            let cells = of(figures).map(|value| format!("{value:.0}")).join(" | ");
            out += &format!("| {}{suffix} | {cells} |\n", peer.name());
        }
        if let [(_, ours), (_, others)] = rounds.as_slice() {
            let (ours, others) = (of(ours), of(others));
            let ratios: Vec<_> = ours.iter().zip(others).map(|(ours, other)| format!("{:.1}", other / ours)).collect();
            out += &format!("| ratio{suffix} | {} |\n", ratios.join(" | "));
        }
    }
    out
}

fn efforts(rounds: &Rounds) -> String {
    let names: Vec<_> = rounds.iter().map(|(peer, _)| format!("{}: clicks | typed | s |", peer.name())).collect();
    let mut out = format!("| | {}\n|---|{}\n", names.join(" "), "---:|---:|---:|".repeat(rounds.len()));
    let all = rounds.iter().map(|(_, figures)| TASKS.iter().enumerate().map(|(at, _)| effort(figures, at)).collect());
    let all: Vec<Vec<Effort>> = all.collect();
    let cells = |one: Effort| format!(" {} | {} | {:.2} |", one.clicks, one.keys, one.seconds);
    for (at, task) in TASKS.iter().enumerate() {
        out += &format!("| {task} |{}\n", all.iter().map(|peer| cells(peer[at])).collect::<String>());
    }
    let sum = |peer: &Vec<Effort>| peer.iter().copied().reduce(Effort::and).unwrap_or_default();
    out += &format!("| all five |{}\n", all.iter().map(|peer| cells(sum(peer))).collect::<String>());
    out
}

/// The effort for a task: the moves are those of each round, the seconds are the median.
fn effort(figures: &[Figures], task: usize) -> Effort {
    let mut rounds = figures.iter().filter_map(|one| one.efforts.get(task)).copied();
    let seconds = median(rounds.clone().map(|effort| effort.seconds));
    Effort { seconds, ..rounds.next().unwrap_or_default() }
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
    use super::{super::Cost, *};

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

    #[test]
    fn the_page_and_all_tasks_are_added() {
        let effort = |clicks| Effort { clicks, keys: 1, seconds: 0.5 };
        let cost = Cost { cpu_ms: 10.0, mb: 20.0, page_cpu_ms: 100.0, page_mb: 200.0 };
        let figures =
            Figures { at_paint: cost, after_calls: cost, efforts: [1, 2, 3, 4, 5].map(effort).into(), ..Figures::default() };
        let table = render(&vec![(Peer::Couplet, vec![figures])]);
        for row in ["| `couplet inspect` | 0 | 10 | 20 | 10 | 20 |", "with its page | 0 | 110 | 220 | 110 | 220 |"] {
            assert!(table.contains(row), "{table}");
        }
        assert!(table.contains("| all five | 15 | 5 | 2.50 |"), "{table}");
    }
}
