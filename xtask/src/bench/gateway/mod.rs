//! `cargo xtask bench gateway`: what a call costs more through a gateway, ours and others', in one run.
//!
//! Instructions are the same on a busy machine as on a quiet one; times are not.

mod calls;
mod count;
mod fleet;
mod gateways;
mod tables;

use std::time::Instant;

use gateways::Gateway;

use super::{
    kits::Folders,
    options::{Options, list},
    report,
    results::Results,
    rig::Rig,
};
use crate::{Failure, optimized};

/// The parts, in the order in which they run.
const PARTS: [&str; 6] = ["calls", "machine", "big", "list", "instructions", "fleet"];

pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let started = Instant::now();
    let (wanted, options) = options(arguments)?;
    let folders = Folders::new()?;
    folders.build_ours()?;
    optimized::build()?;
    let rig = Rig::new(folders, &options);
    let gateways = there(&rig, &options)?;
    let mut results = Results::new(&rig.folders.bench.join("gateway.jsonl"), options.more)?;
    for _ in 0..options.rounds {
        for gateway in &gateways {
            calls::run(&rig, *gateway, &wanted, &mut results);
        }
        if wanted.iter().any(|part| part == "fleet") {
            fleet::run(&rig, &mut results);
        }
    }
    if wanted.iter().any(|part| part == "instructions") {
        count::run(&rig, &mut results);
    }
    let heading = report::heading(&rig, &[], options.rounds);
    let tables = tables::render(&results);
    println!("\n{heading}{tables}");
    if options.write {
        report::write_gateway(&format!("{heading}{tables}"))?;
    }
    println!("results: {}, {} s", rig.folders.bench.join("gateway.jsonl").display(), started.elapsed().as_secs());
    fleet::check(&results)
}

/// The instructions that our gateway adds to a call, by case.
pub(super) fn instructions(rig: &Rig) -> Result<Vec<(String, u64)>, Failure> {
    optimized::build()?;
    count::added(rig)
}

/// The parts that are wanted, and the options that are those of the other benchmarks.
fn options(arguments: &[String]) -> Result<(Vec<String>, Options), Failure> {
    let mut wanted = PARTS.map(str::to_owned).to_vec();
    let mut others = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--part" {
            wanted = list(arguments.next().ok_or("`--part` needs a value")?);
        } else {
            others.push(argument.clone());
        }
    }
    if let Some(unknown) = wanted.iter().find(|part| !PARTS.contains(&part.as_str())) {
        return Err(format!("there is no part `{unknown}`; there are {}", PARTS.join(", ")));
    }
    let mut options = Options::new(&others)?;
    if !others.iter().any(|option| option == "--rounds") {
        options.rounds = 1;
    }
    Ok((wanted, options))
}

/// The gateways that can be had and whose answers are right; others are named and left out.
fn there(rig: &Rig, options: &Options) -> Result<Vec<Gateway>, Failure> {
    let mut there = Vec::new();
    for gateway in Gateway::ALL.into_iter().filter(|gateway| options.wants(gateway.name(), gateway.short())) {
        match gateway.install(&rig.folders).and_then(|()| calls::check(rig, gateway)) {
            Ok(()) => {
                println!("{}: the answers are right", gateway.name());
                there.push(gateway);
            }
            Err(why) if gateway.is_ours() => return Err(format!("{}: {why}", gateway.name())),
            Err(why) => println!("bench: {} is left out: {why}", gateway.name()),
        }
    }
    Ok(there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_name() {
        let read = |line: &str| options(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let (wanted, rest) = read("--part big,list --only direct").unwrap();
        assert_eq!((wanted.len(), rest.rounds, rest.wants("direct", "")), (2, 1, true));
        assert_eq!(read("--rounds 3").unwrap().1.rounds, 3);
        assert!(read("--part huge").is_err() && read("--part").is_err() && read("--fast").is_err());
    }
}
