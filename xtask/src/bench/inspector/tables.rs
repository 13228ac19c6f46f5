//! The figures as tables.

use super::{
    Cost, Costs, Figures,
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

/// What counts in a group of rows: of our inspector, which has no `npx`, and of another one.
type Pick = fn(Costs) -> Cost;

const GROUPS: [(&str, Pick, Pick); 3] = [
    ("", |costs| costs.all, |costs| costs.all),
    (", without `npx`", |costs| costs.all, |costs| costs.below),
    (", with its page", with_page, with_page),
];

fn with_page(costs: Costs) -> Cost {
    Cost { cpu_ms: costs.all.cpu_ms + costs.page.cpu_ms, mb: costs.all.mb + costs.page.mb }
}

fn costs(rounds: &Rounds) -> String {
    let mut out =
        "| | first paint ms | CPU ms then | memory MB then | CPU ms after 20 calls | memory MB after 20 calls |\n\
                   |---|---:|---:|---:|---:|---:|\n"
            .to_owned();
    for (at, (suffix, ours, others)) in GROUPS.into_iter().enumerate() {
        let rows: Vec<_> = rounds
            .iter()
            .map(|(peer, figures)| (*peer, row(figures, if peer.is_ours() { ours } else { others })))
            .collect();
        // Ours is the same with and without it.
        for (peer, cells) in rows.iter().filter(|(peer, _)| at != 1 || !peer.is_ours()) {
            out += &format!("| {}{suffix} | {} |\n", peer.name(), cells.map(|value| format!("{value:.0}")).join(" | "));
        }
        if let [(_, ours), (_, others)] = rows.as_slice() {
            let ratios: Vec<_> = ours.iter().zip(others).map(|(ours, other)| format!("{:.1}", other / ours)).collect();
            out += &format!("| ratio{suffix} | {} |\n", ratios.join(" | "));
        }
    }
    out
}

/// The medians of a row.
fn row(figures: &[Figures], pick: Pick) -> [f64; 5] {
    let numbers = |one: &Figures| {
        let [paint, after] = [one.at_paint, one.after_calls].map(pick);
        [one.paint_ms, paint.cpu_ms, paint.mb, after.cpu_ms, after.mb]
    };
    [0, 1, 2, 3, 4].map(|at| median(figures.iter().map(|one| numbers(one)[at])))
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

    #[test]
    fn the_page_and_all_tasks_are_added() {
        let effort = |clicks| Effort { clicks, keys: 1, seconds: 0.5 };
        let cost = |cpu_ms, mb| Cost { cpu_ms, mb };
        let costs = Costs { all: cost(10.0, 20.0), below: cost(1.0, 2.0), page: cost(100.0, 200.0) };
        let figures = Figures {
            at_paint: costs,
            after_calls: costs,
            efforts: [1, 2, 3, 4, 5].map(effort).into(),
            ..Figures::default()
        };
        let table = render(&vec![(Peer::Couplet, vec![figures.clone()]), (Peer::Official, vec![figures])]);
        for row in [
            "| `couplet inspect` | 0 | 10 | 20 | 10 | 20 |",
            "| MCP Inspector 2.12.0 (npx), without `npx` | 0 | 1 | 2 | 1 | 2 |",
            "| `couplet inspect`, with its page | 0 | 110 | 220 | 110 | 220 |",
            "| all five | 15 | 5 | 2.50 | 15 | 5 | 2.50 |",
        ] {
            assert!(table.contains(row), "{table}");
        }
        assert!(!table.contains("inspect`, without"), "{table}");
    }
}
