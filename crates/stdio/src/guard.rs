//! A shell that watches this process through a pipe: when its input ends, it ends the children that are left.

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    process::{ChildStdin, Command, Stdio},
    sync::Mutex,
};

use couplet_core::sync::lock;

use crate::child::Group;

/// Each line adds a process group or a mark, or takes one away. After the end of its input, which is also that of the children's,
/// they get a second, then `SIGTERM`, two more seconds, then `SIGKILL`. Groups that are gone are forgotten in between,
/// because their numbers may be used again. At last, everything with a mark is killed.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
groups=
marks=
without() { rest=; for g in $groups; do [ "$g" = "$1" ] || rest="$rest $g"; done; groups=$rest; }
unmark() { rest=; for m in $marks; do [ "$m" = "$1" ] || rest="$rest $m"; done; marks=$rest; }
strays() { for m in $marks; do
    for f in $(grep -lsF "COUPLET_CHILD=$m" /proc/[0-9]*/environ); do f=${f#/proc/}; kill -s KILL "${f%/environ}"; done
done; }
look() { for g in $groups; do kill -s 0 -- "-$g" || without "$g"; done; [ -n "$groups" ] || { strays; exit 0; }; }
each() { for g in $groups; do kill -s "$1" -- "-$g"; done; }
while read -r sign group; do
    case $sign in
        +) groups="$groups $group" ;;
        -) without "$group" ;;
        m) marks="$marks $group" ;;
        u) unmark "$group" ;;
    esac
done
look; sleep 1; look
each TERM; sleep 1; look; sleep 1; look
each KILL
strays
"#;

static GUARD: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Starts the guard, if there is none, and adds the groups that are there, with their marks.
pub(crate) fn start(servers: impl FnOnce() -> Vec<(Group, Option<String>)>) -> io::Result<()> {
    let mut guard = lock(&GUARD);
    if guard.is_some() {
        return Ok(());
    }
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", SCRIPT, "couplet-guard"]).current_dir("/");
    // A group of its own, so that nothing that a terminal sends gets there.
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut input = shell.spawn()?.stdin.ok_or(io::ErrorKind::BrokenPipe)?;
    for (group, mark) in servers() {
        input.write_all(lines(group, mark.as_deref(), ['+', 'm']).as_bytes())?;
    }
    *guard = Some(input);
    Ok(())
}

/// Adds a group to the guard, if there is a guard, and the mark of everything that it starts.
pub(crate) fn watch(group: Group, mark: Option<&str>) {
    send(group, mark, ['+', 'm']);
}

/// Removes a group from the guard, and its mark.
pub(crate) fn forget(group: Group, mark: Option<&str>) {
    send(group, mark, ['-', 'u']);
}

fn send(group: Group, mark: Option<&str>, signs: [char; 2]) {
    if let Some(input) = &mut *lock(&GUARD) {
        // A few bytes, which the shell reads at once. If it is gone there is nothing to be done about it.
        let _ = input.write_all(lines(group, mark, signs).as_bytes());
    }
}

fn lines(group: Group, mark: Option<&str>, [of_group, of_mark]: [char; 2]) -> String {
    let group = group.number().map_or_else(String::new, |number| format!("{of_group} {number}\n"));
    let mark = mark.map_or_else(String::new, |mark| format!("{of_mark} {mark}\n"));
    group + &mark
}
