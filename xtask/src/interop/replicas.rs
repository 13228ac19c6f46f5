//! The script for clients of other SDKs with replicas of `couplet-everything`: its contract is that of npm's
//! `server-everything`, so the steps are those behind the gateway, without the prefix of the gateway, and a few more.

use std::{fs, path::Path};

use serde_json::Value;

use super::foreign::source;
use crate::Failure;

/// The servers of the script whose steps are for the replicas.
const SERVERS: [&str; 2] = ["everything ", "replicas "];

/// Writes the script. Its steps have the names of the suite's.
pub(crate) fn write_script(path: &Path) -> Result<(), Failure> {
    fs::write(path, script(&source()?)?).map_err(|e| format!("{}: {e}", path.display()))
}

fn script(text: &str) -> Result<String, Failure> {
    let all: Vec<Value> = serde_json::from_str(text).map_err(|e| format!("the script: {e}"))?;
    let steps = all.into_iter().filter_map(|mut step| {
        let name = SERVERS.iter().find_map(|server| step["step"].as_str()?.strip_prefix(server))?.to_owned();
        step["step"] = name.into();
        Some(step)
    });
    let text = Value::Array(steps.collect()).to_string();
    // What the gateway adds to names and to questions.
    Ok(text.replace("everything__", "").replace("\"everything: ", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::steps::STEPS;

    #[test]
    fn each_step_of_the_suite_is_in_the_script() {
        let text = script(&source().unwrap()).unwrap();
        assert!(!text.contains("everything"), "{text}");
        let steps: Vec<Value> = serde_json::from_str(&text).unwrap();
        let names: Vec<_> = steps.iter().filter_map(|step| step["step"].as_str()).collect();
        assert_eq!(names, STEPS);
    }
}
