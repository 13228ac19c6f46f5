//! Several programs that write one file at the same time.

use std::{fs, sync::Barrier, thread};

use couplet_hosts::{
    Config, Hosts, Os, Scope,
    cli::{self, InstallArgs, UninstallArgs},
};

use super::{Home, parsed};

/// As many as lost two thirds of their entries to each other.
const WRITERS: usize = 20;

/// The servers that Cursor has, by name.
fn names(home: &Home) -> Vec<String> {
    let (hosts, env) = (Hosts::builtin(), home.env(Os::Linux));
    let host = hosts.get("cursor").unwrap();
    let config = Config::read(host, host.place(&env, Scope::User).unwrap()).unwrap();
    let mut names: Vec<_> = config.servers().into_iter().map(|server| server.name).collect();
    names.sort();
    names
}

/// Runs something with every name at the same time.
fn at_once(names: &[String], each: impl Fn(&str) + Sync) {
    let (start, each) = (Barrier::new(names.len()), &each);
    thread::scope(|scope| {
        for name in names {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                each(name);
            });
        }
    });
}

#[test]
fn installs_at_the_same_time_lose_nothing() {
    let home = Home::new();
    home.program("bin/weather");
    let env = home.env(Os::Linux).with("PATH", home.root.join("bin").to_str().unwrap());
    home.write(".cursor/mcp.json".as_ref(), "{\n  // mine\n  \"mcpServers\": {}\n}\n");
    let added: Vec<String> = (0..WRITERS).map(|number| format!("server-{number:02}")).collect();
    at_once(&added, |name| {
        let args: InstallArgs = parsed(&["weather", "--host", "cursor", "--name", name]);
        let mut out = Vec::new();
        cli::install(&args, &env, &mut out).unwrap_or_else(|e| panic!("{name}: {e}"));
        let said = String::from_utf8(out).unwrap();
        assert!(said.starts_with(&format!("Cursor: added `{name}` (user)")), "{said}");
    });
    assert_eq!(names(&home), added);
    let text = fs::read_to_string(home.root.join(".cursor/mcp.json")).unwrap();
    assert!(text.starts_with("{\n  // mine\n"), "{text}");

    let (gone, left) = added.split_at(WRITERS / 2);
    at_once(gone, |name| {
        let args: UninstallArgs = parsed(&[name, "--host", "cursor"]);
        cli::uninstall(&args, &env, &mut Vec::new()).unwrap_or_else(|e| panic!("{name}: {e}"));
    });
    assert_eq!(names(&home), left);
    let beside: Vec<_> = fs::read_dir(home.root.join(".cursor")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(beside, ["mcp.json"], "nothing is left beside the file");
}
