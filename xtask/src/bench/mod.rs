//! `cargo xtask bench`: Couplet beside its peers and beside no SDK at all, in one run on one machine.
//!
//! The programs are those of `bench/`; here it is decided what is run, in which order, and how the results are shown.

mod chart;
mod gateway;
mod inspector;
mod instructions;
mod kits;
mod middleware;
mod options;
pub(crate) mod report;
mod results;
mod rig;
mod subjects;
mod suites;
mod tables;

use std::{path::PathBuf, time::Instant};

use kits::{Folders, Kit};
use options::Options;
use results::Results;
use rig::Rig;
use subjects::Subject;

use crate::Failure;

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some((first, rest)) = arguments.split_first()
        && let Some(run) = part(first)
    {
        return run(rest);
    }
    let options = Options::new(arguments)?;
    if options.check || options.record {
        return instructions::run(&options);
    }
    let started = Instant::now();
    let folders = Folders::new()?;
    folders.build_ours()?;
    let kits = built(&folders, &options);
    let rig = Rig::new(folders, &options);
    let subjects = right(&rig, subjects::subjects(&options, &kits))?;
    let mut results = Results::new(&rig.folders.bench.join("results.jsonl"), options.more)?;
    suites::run(&rig, &subjects, &options, &mut results);
    let heading = report::heading(&rig, &kits, results.rounds());
    println!("\n{heading}{}", tables::render(&results));
    if options.write {
        report::write(&results, &heading)?;
    }
    let bad = results.records.iter().filter(|r| r.values["errors"].as_u64().is_some_and(|errors| errors > 0)).count();
    println!("results: {}, {} s", rig.folders.bench.join("results.jsonl").display(), started.elapsed().as_secs());
    if bad > 0 { Err(format!("wrong answers in {bad} measurements")) } else { Ok(()) }
}

/// Installs FastMCP; returns its interpreter.
pub(crate) fn fastmcp() -> Result<PathBuf, Failure> {
    let folders = Folders::new()?;
    folders.build(Kit::FastMcp)?;
    Ok(folders.bench.join("fastmcp/bin/python"))
}

/// The name and the version of FastMCP.
pub(crate) fn fastmcp_version() -> String {
    Kit::FastMcp.version()
}

/// A part of the benchmarks with options of its own.
type Part = fn(&[String]) -> Result<(), Failure>;

fn part(name: &str) -> Option<Part> {
    match name {
        "gateway" => Some(gateway::run),
        "inspector" => Some(inspector::run),
        "middleware" => Some(middleware::run),
        _ => None,
    }
}

/// The kits that are there; one that cannot be had is told and left out.
fn built(folders: &Folders, options: &Options) -> Vec<Kit> {
    let mut there = Vec::new();
    for kit in subjects::kits(options) {
        match folders.build(kit) {
            Ok(()) => there.push(kit),
            Err(why) => println!("bench: {} is left out: {why}", kit.name()),
        }
    }
    there
}

/// The subjects whose answers are right; a peer's that are not are told and left out.
fn right(rig: &Rig, subjects: Vec<Subject>) -> Result<Vec<Subject>, Failure> {
    let mut there = Vec::new();
    for subject in subjects {
        let name = format!("{} {}", subject.name, subject.transport.name());
        match check(rig, &subject) {
            Ok(()) => {
                println!("{name}: the answers are right");
                there.push(subject);
            }
            Err(why) if subject.kit.is_ours() => return Err(format!("{name}: {why}")),
            Err(why) => println!("bench: {name} is left out: {why}"),
        }
    }
    Ok(there)
}

fn check(rig: &Rig, subject: &Subject) -> Result<(), Failure> {
    let words = ["check", "--life", subject.transport.life()];
    let result = if subject.transport.is_http() {
        let server = rig.http(subject, &[])?;
        rig.load(&[&words[..], &["--url", &server.url]].concat(), &[])?
    } else {
        rig.load(&words, &rig.stdio(subject))?
    };
    match result["wrong"].as_object() {
        Some(wrong) if wrong.is_empty() => Ok(()),
        _ => Err(format!("wrong answers: {}", result["wrong"])),
    }
}
