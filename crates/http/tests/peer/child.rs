//! The side of the child: what it is told, and how it answers.

use std::{
    fmt::Display,
    io::{Read, Write, stdin, stdout},
    str::FromStr,
    time::Duration,
};

use super::roles;

/// The variable that names the role.
pub(crate) const ROLE: &str = "COUPLET_PEER_ROLE";
/// The variable with the settings, one on each line.
pub(crate) const SETTINGS: &str = "COUPLET_PEER_SETTINGS";
/// What every line for the test begins with; the test harness has others.
pub(crate) const MARK: &str = "@peer ";

/// Plays a role until the standard input ends.
pub(crate) fn run(role: &str) {
    std::thread::spawn(|| {
        let _ = stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let threads = setting("threads").unwrap_or(2);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap();
    runtime.block_on(async {
        match role {
            "server" => roles::server().await,
            "caller" => roles::caller().await,
            "visitor" => roles::visitor().await,
            other => panic!("there is no role `{other}`"),
        }
        std::future::pending::<()>().await;
    });
}

/// Tells the test something.
pub(crate) fn say(word: &str, what: impl Display) {
    // The harness may be in the middle of a line.
    writeln!(stdout(), "\n{MARK}{word} {what}").expect("the test listens");
    stdout().flush().expect("the test listens");
}

/// A setting that the test gave.
pub(crate) fn setting<T: FromStr>(name: &str) -> Option<T> {
    let settings = std::env::var(SETTINGS).unwrap_or_default();
    let text = settings.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    text.map(|text| text.parse().unwrap_or_else(|_| panic!("`{text}` is no `{name}`")))
}

/// Changes a limit, if the test says so.
pub(crate) fn set<T: FromStr>(limit: &mut T, name: &str) {
    if let Some(value) = setting(name) {
        *limit = value;
    }
}

/// Changes a time, if the test says so in milliseconds.
pub(crate) fn set_time(limit: &mut Duration, name: &str) {
    if let Some(value) = setting(name) {
        *limit = Duration::from_millis(value);
    }
}
