//! Programs that write without an end what is no message, and programs that start others for every caller.

use std::{collections::BTreeSet, fs, time::Duration};

use couplet_host::upstream::{State, UpstreamOptions};
use couplet_stdio::Command;

use crate::{
    child::{Folder, state, upstream},
    kit::{SESSIONS, STATELESS, call, caller, until},
};

/// A script that leaves its process id before it becomes another program.
fn script(folder: &Folder, program: &str) -> Command {
    let pids = folder.0.join("pids");
    let script = format!("echo $$ >> {}; echo 'no database' >&2; exec {program}", pids.display());
    Command::new("/bin/sh").arg("-c").arg(script).name("files")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s19_a_program_that_writes_no_messages_is_stopped() {
    for (program, why) in [
        ("yes 'this is no message'", "it was stopped: it sent more than 256 lines that are no messages"),
        ("yes '{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}'", "it was stopped: it sent more than 256 lines"),
    ] {
        let folder = Folder::new("flood");
        let mut options = UpstreamOptions::default();
        options.restarts = 0;
        options.connect_timeout = Duration::from_secs(300);
        let upstream = upstream(script(&folder, program), options);
        let client = caller(&upstream, STATELESS).await;
        let error = call(&client, "echo").await;
        assert!(error.contains(why), "{error}");
        assert!(error.contains("no database"), "its standard error is quoted: {error}");
        assert_eq!(upstream.status().state, State::Stopped);
        let pids = folder.pids();
        until("it is gone", || pids.iter().all(|pid| state(pid).is_none_or(|state| state == 'Z'))).await;
        // The handshake of each era is tried.
        assert!((1..=2).contains(&pids.len()), "{pids:?}");
    }
}

/// What people print before and between messages does no harm.
#[tokio::test]
async fn a_banner_is_no_flood() {
    let folder = Folder::new("banner");
    let banner = folder.0.join("banner");
    fs::write(&banner, "a line of a banner\n".repeat(200)).unwrap();
    let script = format!("/bin/cat {}; exec \"$0\" --exact child::server --nocapture --quiet", banner.display());
    let command = Command::new("/bin/sh").arg("-c").arg(script).arg(std::env::current_exe().unwrap());
    let upstream = upstream(folder.around(command, STATELESS), UpstreamOptions::default());
    let client = caller(&upstream, STATELESS).await;
    for _ in 0..3 {
        assert_eq!(call(&client, "a-call").await, "a-call");
    }
    assert_eq!(upstream.status().restarts, 0);
}

/// Sessions that are never closed share the configured number of processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acceptance_08_children_do_not_grow_with_sessions() {
    const SESSIONS_OPEN: usize = 60;
    const CHILDREN: usize = 3;
    let folder = Folder::new("sessions");
    let mut options = UpstreamOptions::default();
    options.connections = CHILDREN;
    let upstream = upstream(folder.command(SESSIONS), options);
    let mut open = Vec::new();
    for at in 0..SESSIONS_OPEN {
        let client = caller(&upstream, SESSIONS).await;
        assert_eq!(call(&client, &format!("call-{at}")).await, format!("call-{at}"));
        open.push(client);
        let is_alive = |pid: &String| state(pid).is_some_and(|state| state != 'Z');
        // One that is replaced may still be ending.
        until("no more than configured", || folder.pids().iter().filter(|pid| is_alive(pid)).count() <= CHILDREN).await;
    }
    let pids: BTreeSet<_> = folder.pids().into_iter().collect();
    println!(
        "acceptance 8: {SESSIONS_OPEN} open sessions, at most {CHILDREN} processes at once, {} in all",
        pids.len()
    );
}
