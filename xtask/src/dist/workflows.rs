//! The workflows of GitHub, as far as they can be checked here: they parse, run commands that exist, and build every
//! platform, with no more permissions than they need and without stored tokens.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use super::{options::Options, platform::PLATFORMS, yaml};
use crate::{COMMANDS, ci, full, workspace::root};

fn workflow(name: &str) -> (String, Value) {
    let text = fs::read_to_string(root().join(".github/workflows").join(name)).unwrap();
    let value = yaml::parse(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
    (text, value)
}

fn workflows() -> Vec<(&'static str, String, Value)> {
    const NAMES: [&str; 2] = ["ci.yml", "release.yml"];
    let files = fs::read_dir(root().join(".github/workflows")).unwrap();
    assert_eq!(files.count(), NAMES.len(), "another workflow needs a place in this test");
    let read = |name: &'static str| {
        let (text, value) = workflow(name);
        (name, text, value)
    };
    NAMES.map(read).into()
}

fn jobs(workflow: &Value) -> impl Iterator<Item = (&String, &Value)> {
    workflow["jobs"].as_object().unwrap().iter()
}

fn steps(job: &Value) -> impl Iterator<Item = &Value> {
    job["steps"].as_array().unwrap().iter()
}

#[test]
fn every_command_of_xtask_exists() {
    let mut found = 0;
    for (name, _, workflow) in workflows() {
        for (job, step) in jobs(&workflow).flat_map(|(name, job)| steps(job).map(move |step| (name, step))) {
            let lines = step["run"].as_str().unwrap_or_default().lines();
            for line in lines.filter_map(|line| line.trim().strip_prefix("cargo xtask ")) {
                let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
                let known = COMMANDS.iter().any(|command| command.name == words[0]);
                assert!(known, "{name}, {job}: there is no `cargo xtask {}`", words[0]);
                let problem = match words[0].as_str() {
                    "dist" => Options::read(&words[1..]).err(),
                    "ci" => ci::unknown(&words[1..]),
                    "full" => full::unknown(&words[1..]),
                    _ => None,
                };
                assert_eq!(problem, None, "{name}, {job}: {line}");
                found += 1;
            }
        }
    }
    assert!(found >= 5, "{found} commands were found");
}

/// The gate is the command of a developer, with what its tests start; and every package has its provenance.
#[test]
fn the_gate_is_whole_and_packages_are_attested() {
    let (_, ci) = workflow("ci.yml");
    let runs: Vec<_> = steps(&ci["jobs"]["linux"]).filter_map(|step| step["run"].as_str()).collect();
    assert!(runs.contains(&".ci/run"), "{runs:?}");
    let gate = fs::read_to_string(root().join(".ci/run")).unwrap();
    for program in ["redis-server", "haproxy", "nginx"] {
        let installed = runs.iter().any(|run| run.contains("apt-get install") && run.contains(program));
        assert!(installed && gate.contains(program), "{program}: {runs:?}");
    }
    let (_, release) = workflow("release.yml");
    for job in ["build", "container"] {
        let attests = |step: &Value| step["uses"].as_str().is_some_and(|uses| uses.starts_with("actions/attest-"));
        assert!(steps(&release["jobs"][job]).any(attests), "{job}");
    }
}

#[test]
fn the_matrix_has_every_platform_on_a_machine_of_its_own() {
    let (_, release) = workflow("release.yml");
    let rows = release["jobs"]["build"]["strategy"]["matrix"]["include"].as_array().unwrap();
    let targets: Vec<_> = rows.iter().map(|row| row["target"].as_str().unwrap()).collect();
    assert_eq!(targets, PLATFORMS.iter().map(|platform| platform.target).collect::<Vec<_>>());
    let machines: BTreeSet<_> = rows.iter().map(|row| row["os"].as_str().unwrap()).collect();
    assert_eq!(machines.len(), rows.len());
    for (row, platform) in rows.iter().zip(PLATFORMS) {
        let system = match platform.node.0 {
            "darwin" => "macos-",
            "win32" => "windows-",
            _ => "ubuntu-",
        };
        assert!(row["os"].as_str().unwrap().starts_with(system), "{row}");
    }
}

#[test]
fn permissions_are_few_and_tokens_are_not_stored() {
    for (name, text, workflow) in workflows() {
        assert_eq!(workflow["permissions"], serde_json::json!({ "contents": "read" }), "{name}");
        assert!(!text.contains("secrets."), "{name} uses a stored token");
        for (job, value) in jobs(&workflow) {
            let writes = |what: &str| value["permissions"][what] == "write";
            let signs = matches!(job.as_str(), "build" | "container" | "crates" | "npm" | "pypi");
            assert_eq!(writes("id-token"), signs, "{name}, {job}");
            assert_eq!(writes("contents"), job == "github", "{name}, {job}");
            for step in steps(value) {
                let checkout = step["uses"].as_str().is_some_and(|uses| uses.starts_with("actions/checkout@"));
                assert!(!checkout || step["with"]["persist-credentials"] == "false", "{name}, {job}: {step}");
            }
        }
    }
}

#[test]
fn actions_are_pinned_and_jobs_need_others_that_exist() {
    for (name, _, workflow) in workflows() {
        for (job, value) in jobs(&workflow) {
            for uses in steps(value).filter_map(|step| step["uses"].as_str()) {
                let version = uses.split_once('@').map(|(_, version)| version.trim_start_matches("release/"));
                let is_pinned = version.is_some_and(|v| v.strip_prefix('v').is_some_and(|n| n.parse::<u32>().is_ok()));
                assert!(is_pinned, "{name}, {job}: `{uses}` is not pinned by a tag");
            }
            let needs = match &value["needs"] {
                Value::String(one) => vec![one.as_str()],
                list => list.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
            };
            let unknown: Vec<_> = needs.iter().filter(|needed| workflow["jobs"].get(needed).is_none()).collect();
            assert!(unknown.is_empty(), "{name}, {job} needs {unknown:?}");
            assert!(value["runs-on"].is_string(), "{name}, {job}");
        }
    }
}
