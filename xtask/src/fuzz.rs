//! `cargo xtask fuzz`: the fuzz targets by coverage, for some time.

use crate::{
    Failure,
    corpus::bodies,
    workspace::{self, capture, command, show},
};

const SECONDS: u64 = 60;
const TARGETS: [&str; 4] = ["envelope", "server", "names", "lock"];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let seconds = match arguments.first() {
        None => SECONDS,
        Some(text) => text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))?,
    };
    let targets = match arguments.get(1).map(String::as_str) {
        None => TARGETS.to_vec(),
        Some(target) if TARGETS.contains(&target) => vec![target],
        Some(other) => return Err(format!("there is no target `{other}`; there are {}", TARGETS.join(", "))),
    };
    let by_coverage = toolchain();
    if let Err(why) = &by_coverage {
        println!("fuzz: without coverage, because {why}");
    }
    for target in targets {
        println!("fuzz: {target} for {seconds} s");
        match &by_coverage {
            Ok(()) => cargo_fuzz(target, seconds)?,
            Err(_) => bodies(["time", target, &seconds.to_string()])?,
        }
    }
    Ok(())
}

/// Sees to it that there is cargo-fuzz and a nightly toolchain.
fn toolchain() -> Result<(), Failure> {
    let toolchains = capture(command("rustup").args(["toolchain", "list"])).unwrap_or_default();
    if !toolchains.lines().any(|line| line.starts_with("nightly")) {
        return Err("there is no nightly toolchain".to_owned());
    }
    if capture(command("cargo").args(["fuzz", "--version"])).is_ok() {
        return Ok(());
    }
    show(command("cargo").args(["install", "cargo-fuzz", "--locked"]))
}

/// Starts from the seeds, and keeps what it finds in `fuzz/corpus`.
fn cargo_fuzz(target: &str, seconds: u64) -> Result<(), Failure> {
    let corpus = workspace::root().join("fuzz/corpus").join(target);
    bodies(["seeds", target, &corpus.to_string_lossy()])?;
    let limit = format!("-max_total_time={seconds}");
    let dictionary = workspace::root().join("fuzz/mcp.dict");
    let dictionary = format!("-dict={}", dictionary.display());
    let mut fuzz = command("rustup");
    // The toolchain that runs this program must not decide for the one that fuzzes.
    for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "CARGO_TARGET_DIR"] {
        fuzz.env_remove(name);
    }
    fuzz.args(["run", "nightly", "cargo", "fuzz", "run", target, "--"]);
    show(fuzz.args([limit.as_str(), dictionary.as_str(), "-print_final_stats=1", "-timeout=10", "-max_len=8192"]))
}
