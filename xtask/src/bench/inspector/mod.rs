//! `cargo xtask bench inspector`: our inspector beside the official one, in one run with the same server and browser.
//!
//! Processor time and memory are those of the whole tree of processes without the server that is inspected and without the
//! browser; and in a second row with the process that draws the page. A picture of each page after each task is written to
//! `target/bench`.

mod drive;
mod peers;
mod tables;
mod tree;

use std::{path::Path, time::Instant};

use drive::{Effort, Hand, TASKS, Visible};
use peers::Peer;
use serde_json::Value;
use tree::{Peak, Tree};

use super::{kits::Folders, report};
use crate::{
    Failure,
    browser::Driver,
    optimized,
    workspace::{capture, cargo, command},
};

/// The number of calls after which processor time and memory are taken again.
const CALLS: usize = 20;

/// Processor time and memory until a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    cpu_ms: f64,
    mb: f64,
}

/// What an inspector has cost until a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    all: Cost,
    /// Without the process that was started, which is `npx` for one of them.
    below: Cost,
    /// The process that draws its page.
    page: Cost,
}

/// What one run of an inspector took.
#[derive(Clone, Debug, Default)]
struct Figures {
    /// From the start of the process to the first paint with content.
    paint_ms: f64,
    at_paint: Costs,
    after_calls: Costs,
    efforts: Vec<Effort>,
    visible: Visible,
}

pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let (rounds, is_built, write) = options(arguments)?;
    let chromium = Driver::installed().ok_or("there is no Chromium: install it, or set COUPLET_CHROMIUM")?;
    let folders = Folders::new()?;
    if !is_built {
        optimized::build()?;
        cargo(["build", "--profile", "dist", "--package", "couplet-everything"])?;
    }
    let server = folders.our("couplet-everything");
    let tools = tools(&folders, &server)?;
    let mut all: tables::Rounds = Vec::new();
    for peer in [Peer::Couplet, Peer::Official] {
        match peer.install(&folders) {
            Ok(()) => all.push((peer, Vec::new())),
            Err(why) => println!("bench: {} is left out: {why}", peer.name()),
        }
    }
    for round in 1..=rounds {
        for (peer, figures) in &mut all {
            let found = measure(*peer, &folders, &chromium, &server, &tools)?;
            println!("round {round}, {}: first paint {:.0} ms, {found:?}", peer.name(), found.paint_ms);
            figures.push(found);
        }
    }
    let block = format!("{}: {rounds} rounds, medians.\n\n{}", report::place(), tables::render(&all));
    println!("\n{block}");
    if write { report::write_inspector(&block) } else { Ok(()) }
}

/// The number of rounds, whether programs are built already, and whether the tables are written to the README.
fn options(arguments: &[String]) -> Result<(usize, bool, bool), Failure> {
    let (mut rounds, mut is_built, mut write) = (3, false, false);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => {
                let number = arguments.next().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
                rounds = number.ok_or("`--rounds` needs a number")?;
            }
            "--built" => is_built = true,
            "--write" => write = true,
            other => return Err(format!("there is no option `{other}`; there are --rounds, --built and --write")),
        }
    }
    Ok((rounds, is_built, write))
}

/// The names of the server's tools.
fn tools(folders: &Folders, server: &str) -> Result<Vec<String>, Failure> {
    let text = capture(command(&folders.our("couplet")).args(["list", server, "--json"]))?;
    let list: Value = serde_json::from_str(&text).map_err(|e| format!("`couplet list`: {e}"))?;
    let tools = list["tools"].as_array().into_iter().flatten();
    Ok(tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect())
}

/// Starts an inspector and does all tasks in its page.
fn measure(peer: Peer, folders: &Folders, chromium: &Path, server: &str, tools: &[String]) -> Result<Figures, Failure> {
    let profile = folders.bench.join(format!("inspector-profile-{}", std::process::id()));
    // The browser is there before.
    let page = Driver::start(chromium, &profile)?;
    let renderers = Tree::renderers(page.id());
    let before_ms = renderers.cpu_ms();
    let start = Instant::now();
    let running = peer.start(folders, server)?;
    let meter = Meter::start(Tree::inspector(running.id(), server), (renderers, before_ms));
    page.go(&running.url)?;
    let paint = "performance.getEntriesByType('paint').find((one) => one.name === 'first-contentful-paint')?.startTime";
    let painted =
        page.until(&format!("location.protocol === 'http:' && {paint} && performance.timeOrigin + {paint}"))?;
    let mut figures = Figures {
        paint_ms: painted.as_f64().unwrap_or(f64::NAN) - running.began_ms,
        at_paint: meter.read(),
        ..Figures::default()
    };
    let mut hand = Hand::new(&page);
    for (number, name) in TASKS.iter().enumerate() {
        let began = if number == 0 { start } else { Instant::now() };
        let effort = hand.task(peer, number, began).map_err(|why| format!("{}: {}: {why}", peer.name(), name))?;
        figures.efforts.push(effort);
        figures.visible = figures.visible.most(hand.visible(tools)?);
        page.picture(&folders.bench.join(format!("inspector-{}-{}.png", peer.short(), number + 1)))?;
        if number == 0 {
            for _ in 0..CALLS {
                hand.call_again(peer)?;
            }
            figures.after_calls = meter.read();
        }
    }
    Ok(figures)
}

/// What an inspector and its page have cost since its start.
struct Meter {
    all: Part,
    below: Part,
    page: Part,
}

/// Processes, with the processor time that they had before.
struct Part {
    tree: Tree,
    before_ms: f64,
    peak: Peak,
}

impl Meter {
    fn start(inspector: Tree, page: (Tree, f64)) -> Self {
        let part = |tree: Tree, before_ms| Part { peak: Peak::follow(tree.clone()), tree, before_ms };
        Self { below: part(inspector.below(), 0.0), all: part(inspector, 0.0), page: part(page.0, page.1) }
    }

    fn read(&self) -> Costs {
        Costs { all: self.all.read(), below: self.below.read(), page: self.page.read() }
    }
}

impl Part {
    fn read(&self) -> Cost {
        Cost { cpu_ms: self.tree.cpu_ms() - self.before_ms, mb: self.peak.mb() }
    }
}
