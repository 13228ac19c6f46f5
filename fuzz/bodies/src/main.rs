//! The fuzz targets without libFuzzer, for `cargo xtask`.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use std::{
    fs,
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use couplet_fuzz_bodies::{Mutator, Target, replay};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["corpus", mutations] => number(mutations).and_then(corpus),
        ["time", target, seconds] => named(target).and_then(|target| by_time(target, number(seconds)?)),
        ["seeds", target, folder] => named(target).and_then(|target| write_seeds(target, Path::new(folder))),
        ["input", target, file] => named(target).and_then(|target| one(target, Path::new(file))),
        _ => Err("use: corpus MUTATIONS | time TARGET SECONDS | seeds TARGET FOLDER | input TARGET FILE".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The seeds and as many mutations.
fn corpus(mutations: u64) -> Result<(), String> {
    for target in Target::ALL {
        let began = Instant::now();
        let inputs = replay(target, mutations).map_err(|broken| format!("{broken:?}"))?;
        println!("{}: {inputs} inputs in {:.1} s", target.name(), began.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Mutations for some time, each time other ones.
fn by_time(target: Target, seconds: u64) -> Result<(), String> {
    let seeds = target.seeds();
    let seed = std::process::id();
    let mut mutator = Mutator::new(seed.into());
    let (began, mut inputs) = (Instant::now(), 0_u64);
    while began.elapsed() < Duration::from_secs(seconds) {
        target.run(&mutator.mutate(&seeds)).map_err(|broken| format!("{broken:?}"))?;
        inputs += 1;
    }
    println!("{}: {inputs} inputs in {seconds} s, from seed {seed}", target.name());
    Ok(())
}

/// One file per seed, for libFuzzer to begin with.
fn write_seeds(target: Target, folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("`{}`: {e}", folder.display()))?;
    for (at, seed) in target.seeds().iter().enumerate() {
        let file = folder.join(format!("seed-{at:03}"));
        fs::write(&file, seed).map_err(|e| format!("`{}`: {e}", file.display()))?;
    }
    Ok(())
}

/// One input, such as one that libFuzzer found.
fn one(target: Target, file: &Path) -> Result<(), String> {
    let input = fs::read(file).map_err(|e| format!("`{}`: {e}", file.display()))?;
    target.run(&input).map_err(|broken| format!("{broken:?}"))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

fn named(name: &str) -> Result<Target, String> {
    Target::named(name).ok_or_else(|| format!("there is no target `{name}`"))
}
