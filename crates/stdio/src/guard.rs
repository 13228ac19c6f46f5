//! A shell that watches this process through a pipe: when its input ends, it ends the children that are left.

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    process::{ChildStdin, Command, Stdio},
    sync::Mutex,
};

use couplet_core::sync::lock;

use crate::child::Group;

/// Each line adds a process group, or takes one away. After the end of its input, which is also that of the children's,
/// they get a second, then `SIGTERM`, two more seconds, then `SIGKILL`. Groups that are gone are forgotten in between,
/// because their numbers may be used again.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
groups=
without() { rest=; for g in $groups; do [ "$g" = "$1" ] || rest="$rest $g"; done; groups=$rest; }
look() { for g in $groups; do kill -s 0 -- "-$g" || without "$g"; done; [ -n "$groups" ] || exit 0; }
each() { for g in $groups; do kill -s "$1" -- "-$g"; done; }
while read -r sign group; do
    case $sign in
        +) groups="$groups $group" ;;
        -) without "$group" ;;
    esac
done
look; sleep 1; look
each TERM; sleep 1; look; sleep 1; look
each KILL
"#;

static GUARD: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Starts the guard, if there is none, and adds the groups that are there.
pub(crate) fn start(groups: impl FnOnce() -> Vec<i32>) -> io::Result<()> {
    let mut guard = lock(&GUARD);
    if guard.is_some() {
        return Ok(());
    }
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", SCRIPT, "couplet-guard"]).current_dir("/");
    // A group of its own, so that nothing that a terminal sends gets there.
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut input = shell.spawn()?.stdin.ok_or(io::ErrorKind::BrokenPipe)?;
    for group in groups() {
        writeln!(input, "+ {group}")?;
    }
    *guard = Some(input);
    Ok(())
}

/// Adds a group to the guard, if there is a guard.
pub(crate) fn watch(group: Group) {
    send('+', group);
}

/// Removes a group from the guard.
pub(crate) fn forget(group: Group) {
    send('-', group);
}

fn send(sign: char, group: Group) {
    if let (Some(input), Some(number)) = (&mut *lock(&GUARD), group.number()) {
        // A few bytes, which the shell reads at once. If it is gone there is nothing to be done about it.
        let _ = input.write_all(format!("{sign} {number}\n").as_bytes());
    }
}
