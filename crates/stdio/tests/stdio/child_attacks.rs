//! What children did to others: they stayed when their client was gone, and they shouted.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command as Program, Stdio},
    time::{Duration, Instant},
};

use couplet_core::Connected;
use couplet_stdio::children;

use crate::{
    child::{connect, heard, runs, script, state},
    support::{TIMEOUT, answer, call, soon, until},
};

/// A server that does not mind the end of its input nor a request to end, and has started another one. It says both ids.
const STUBBORN: &str = "trap '' TERM HUP INT; sleep 1000 & echo $$ >&2; echo $! >&2; while :; do wait; sleep 1; done";

#[tokio::test]
async fn attack_08_dropping_a_connection_kills_everything() {
    let (mut command, _) = heard(STUBBORN);
    drop(connect(&mut command).await);
    // It was not read what that server says, so its ids are not known; this one is dropped when they are.
    let (mut command, ears) = heard(STUBBORN);
    let Connected { channel, driver } = connect(&mut command).await;
    let mut driver = Box::pin(driver);
    let both = until("it says both ids", || ears.heard().len() == 2);
    tokio::select! {
        _ = &mut driver => panic!("the server does not end"),
        () = both => {}
    }
    drop((driver, channel));
    until("everything is gone", || ears.heard().iter().all(|id| !runs(id))).await;
    until("the child is collected", || state(&ears.heard()[0]).is_none()).await;
}

/// A server that starts a daemon: a process in a session of its own, whose parent is gone. It says the id of the daemon.
#[cfg(target_os = "linux")]
const DAEMONIZER: &str = "(setsid sh -c 'echo $$ >&2; exec sleep 1000' &) ; cat > /dev/null";

/// The id of the daemon, once the connection has ended.
#[cfg(target_os = "linux")]
async fn daemon(command: couplet_stdio::Command, ears: &crate::support::Ears, how: &str) -> String {
    let mut command = command;
    let Connected { channel, driver } = connect(&mut command).await;
    let mut driver = Box::pin(driver);
    tokio::select! {
        _ = &mut driver => panic!("the server does not end"),
        () = until("it says the id", || ears.heard().len() == 1) => {}
    }
    let id = ears.heard()[0].clone();
    assert!(runs(&id));
    match how {
        "closed" => {
            channel.close();
            soon(driver).await.unwrap();
        }
        _ => drop((driver, channel)),
    }
    id
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn attack_08_a_daemon_of_a_contained_server_ends_with_it() {
    for how in ["closed", "dropped"] {
        let (command, ears) = heard(DAEMONIZER);
        let id = daemon(command.contain(), &ears, how).await;
        until("the daemon is gone", || !runs(&id)).await;
    }
}

/// Some daemons are meant to stay.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_daemon_of_another_server_stays() {
    let (command, ears) = heard(DAEMONIZER);
    let id = daemon(command, &ears, "closed").await;
    assert!(runs(&id));
    assert!(Program::new("kill").args(["-9", &id]).status().unwrap().success());
}

/// Not a test of its own: with the variable set this is the program that the next tests start and end.
#[tokio::test]
async fn program() {
    let Ok(how) = std::env::var("COUPLET_STDIO_PROGRAM") else { return };
    if how != "stopped" {
        children::guard().unwrap();
    }
    let (command, ears) = match &*how {
        #[cfg(target_os = "linux")]
        "contained" => {
            let (command, ears) = heard(&DAEMONIZER.replace("; cat", "; echo $$ >&2; cat"));
            (command.contain(), ears)
        }
        _ => heard(STUBBORN),
    };
    let Connected { channel, driver } = connect(&mut command.grace(Duration::from_secs(30))).await;
    tokio::spawn(driver);
    until("it says both ids", || ears.heard().len() == 2).await;
    // What the harness writes comes before.
    #[expect(clippy::print_stdout, reason = "the test reads it")]
    ears.heard().iter().for_each(|id| println!("\nid {id}"));
    match &*how {
        "exits" => std::process::exit(3),
        "stopped" => {
            assert_eq!(children::count(), 1);
            children::stop(Duration::from_millis(10)).await;
            assert_eq!(children::count(), 0);
            assert!(ears.heard().iter().all(|id| !runs(id)));
            // The output of the harness is not read any more.
            std::process::exit(0);
        }
        _ => std::future::pending().await,
    }
    drop(channel);
}

/// Starts the program, and returns it with the ids of the processes that it has started.
fn start(how: &str) -> (Child, Vec<String>) {
    let mut program = Program::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_attacks::program", "--nocapture"])
        .env("COUPLET_STDIO_PROGRAM", how)
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(program.stdout.take().unwrap()).lines().map_while(Result::ok);
    let ids: Vec<_> = lines.filter_map(|line| line.strip_prefix("id ").map(str::to_owned)).take(2).collect();
    assert_eq!(ids.len(), 2, "{how}");
    (program, ids)
}

fn wait_until_gone(ids: &[String]) {
    let deadline = Instant::now() + TIMEOUT;
    while ids.iter().any(|id| runs(id)) {
        assert!(Instant::now() < deadline, "{ids:?} are there for ever");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn attack_08_servers_end_with_a_program_that_is_killed() {
    let (mut program, ids) = start("killed");
    assert!(ids.iter().all(|id| runs(id)));
    program.kill().unwrap();
    program.wait().unwrap();
    wait_until_gone(&ids);
}

#[cfg(target_os = "linux")]
#[test]
fn attack_08_daemons_of_contained_servers_end_with_a_program_that_is_killed() {
    let (mut program, ids) = start("contained");
    assert!(ids.iter().all(|id| runs(id)));
    program.kill().unwrap();
    program.wait().unwrap();
    wait_until_gone(&ids);
}

#[test]
fn attack_08_servers_end_with_a_program_that_exits_without_a_word() {
    let (mut program, ids) = start("exits");
    assert_eq!(program.wait().unwrap().code(), Some(3));
    wait_until_gone(&ids);
}

#[test]
fn attack_08_all_servers_can_be_stopped_in_three_steps() {
    let (mut program, ids) = start("stopped");
    assert!(program.wait().unwrap().success());
    wait_until_gone(&ids);
}

/// Many short lines, and one that never ends: 128 MiB of each before the answer.
#[tokio::test]
async fn attack_08_a_flood_of_standard_error_does_not_hold_up_an_answer() {
    for flood in ["yes | head -c 134217728 >&2", "head -c 134217728 /dev/zero | tr '\\0' x >&2"] {
        let reply = r#"echo '{"jsonrpc":"2.0","id":1,"result":{}}'; cat > /dev/null"#;
        let (mut command, ears) = heard(&format!("read line; {flood}; {reply}"));
        let Connected { channel, driver } = connect(&mut command).await;
        let driver = tokio::spawn(driver);
        assert!(answer(call(&*channel, "now")).await.is_ok());
        // Of 64 million lines only some are passed on, and of one line only the beginning.
        let heard = ears.heard();
        assert!(heard.len() < 100_000 && heard.iter().all(|line| line.len() <= 8 << 10), "{}", heard.len());
        assert!(command.stderr_text().len() <= 64 << 10);
        channel.close();
        soon(driver).await.unwrap().unwrap();
    }
}

/// A server that floods its standard error for ever, also while it answers.
#[tokio::test]
async fn attack_08_a_flood_without_an_end_does_not_hold_up_answers() {
    let reply = r#"n=0; while read line; do n=$((n+1)); echo '{"jsonrpc":"2.0","id":'$n',"result":{}}'; done"#;
    let mut command = script(&format!("yes >&2 & {reply}"));
    let Connected { channel, driver } = connect(&mut command).await;
    let driver = tokio::spawn(driver);
    for _ in 0..20 {
        assert!(answer(call(&*channel, "now")).await.is_ok());
    }
    channel.close();
    soon(driver).await.unwrap().unwrap();
}
