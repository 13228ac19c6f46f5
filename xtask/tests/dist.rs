//! The packages of the command, made quickly of a debug build: each is installed into an empty folder, and calls a tool.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What each kind of package must have done, unless this machine cannot install it.
const KINDS: [&str; 4] = ["archive", "Debian package", "npm packages", "wheel with pip"];

#[test]
fn packages_install_and_run() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("distribution");
    let mut dist = Command::new(env!("CARGO_BIN_EXE_xtask"));
    dist.args(["dist", "--quick", "--try", "--out"]).arg(&out);
    // The tests of the command have built it; without them, it is built now.
    match built() {
        Some(binary) => dist.arg("--binary").arg(stripped(binary)),
        None => dist.args(["--profile", "dev"]),
    };
    let output = dist.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let has = |start: &str, end: &str| said.lines().any(|line| line.starts_with(start) && line.ends_with(end));
    assert!(has("archive: unpacked", "called a tool"), "{said}");
    for kind in KINDS {
        assert!(has(kind, "called a tool") || has(&format!("not run: try of the {kind}"), ""), "{kind}: {said}");
    }

    let names: Vec<String> =
        fs::read_dir(&out).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    let sums = fs::read_to_string(out.join("SHA256SUMS")).unwrap();
    let listed: Vec<_> = sums.lines().filter_map(|line| line.split_once("  ")).collect();
    assert_eq!(listed.len() + 1, names.len(), "{names:?} {sums}");
    assert!(listed.iter().all(|(sum, name)| sum.len() == 64 && names.iter().any(|n| n == name)), "{sums}");
    assert!(names.iter().any(|name| name.contains("-py3-none-") && name.ends_with(".whl")), "{names:?}");
}

/// The debug build of the command, beside the folder for the files of tests.
fn built() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    Some(folder.join("debug").join(format!("couplet{}", std::env::consts::EXE_SUFFIX))).filter(|file| file.is_file())
}

/// A copy without debug information, which is most of a debug build; the program itself where `strip` is missing.
fn stripped(binary: PathBuf) -> PathBuf {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("couplet-stripped");
    let strip = Command::new("strip").arg("-o").arg(&copy).arg(&binary).status();
    if strip.is_ok_and(|status| status.success()) { copy } else { binary }
}
