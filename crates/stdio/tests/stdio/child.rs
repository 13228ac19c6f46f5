//! Servers that are child processes: good ones, and those that crash, hang, shout or leave others behind.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use couplet_core::{Connect, Connected, Error, ErrorKind, Limits, Transport};
use couplet_stdio::{Command, Direction, Stderr, stdio};

use crate::support::{Ears, Tools, answer, call, soon, until};

/// A server that is a shell script.
pub(crate) fn script(text: &str) -> Command {
    Command::new("/bin/sh").arg("-c").arg(text).name("script")
}

/// A script, and the lines that it writes to its standard error.
pub(crate) fn heard(text: &str) -> (Command, Ears) {
    let ears = Ears::default();
    let hears = ears.clone();
    (script(text).on_stderr(move |line| hears.hear(line)), ears)
}

pub(crate) async fn connect(command: &mut Command) -> Connected {
    command.connect(Ears::default().inbound(), Limits::default()).await.unwrap()
}

/// Connects to a script that ends the connection, and returns why a call and the connection failed.
async fn failure(mut command: Command) -> (Error, Error) {
    let Connected { channel, driver } = connect(&mut command).await;
    let waiting = call(&*channel, "now");
    let driver = soon(driver).await.unwrap_err();
    (answer(waiting).await.unwrap_err(), driver)
}

#[tokio::test]
async fn messages_are_observed_as_they_are_on_the_wire() {
    let lines: Arc<std::sync::Mutex<Vec<(Direction, String)>>> = Arc::default();
    let seen = lines.clone();
    let server =
        r#"read line; echo 'not a message'; printf '{ "jsonrpc": "2.0",  "id": 1, "result": {} }\n'; cat >/dev/null"#;
    let mut command = script(server).on_message(move |direction, text| {
        seen.lock().unwrap().push((direction, String::from_utf8_lossy(text).into_owned()));
    });
    let Connected { channel, driver } = connect(&mut command).await;
    let running = tokio::spawn(driver);
    answer(call(&*channel, "now")).await.unwrap();
    channel.close();
    soon(running).await.unwrap().unwrap();
    let lines = lines.lock().unwrap();
    let [(Direction::Sent, sent), rest @ ..] = &lines[..] else { panic!("{lines:?}") };
    assert!(sent.starts_with('{') && sent.contains("tools/call") && !sent.contains('\n'), "{sent}");
    let received = ["not a message", r#"{ "jsonrpc": "2.0",  "id": 1, "result": {} }"#];
    assert_eq!(rest, received.map(|line| (Direction::Received, line.to_owned())));
}

/// Waits for the first line of standard error, which is the id of a process.
pub(crate) async fn process(ears: &Ears) -> String {
    until("it says its id", || !ears.heard().is_empty()).await;
    ears.heard()[0].clone()
}

/// Whether a process runs. One that has ended and waits to be collected does not.
pub(crate) fn runs(id: &str) -> bool {
    state(id).is_some_and(|state| state != 'Z')
}

/// The state of a process, if it is there at all.
pub(crate) fn state(id: &str) -> Option<char> {
    if !Path::new("/proc/self/stat").exists() {
        let status = std::process::Command::new("ps").args(["-o", "stat=", "-p", id]).output().unwrap();
        return String::from_utf8(status.stdout).unwrap().trim().chars().next();
    }
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Not a test of its own: with the variable set this is the server that the next test starts.
#[tokio::test]
async fn server() {
    if std::env::var_os("COUPLET_STDIO_SERVER").is_some() {
        let result = stdio().serve(Arc::new(Tools::default()), Limits::default()).await;
        std::process::exit(i32::from(result.is_err()));
    }
}

#[tokio::test]
async fn a_real_server_on_its_standard_input_and_output() {
    let ears = Ears::default();
    let mut command = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::server", "--nocapture"])
        .env("COUPLET_STDIO_SERVER", "1")
        .env("RUST_TEST_THREADS", "2");
    for _ in 0..2 {
        let Connected { channel, driver } = command.connect(ears.inbound(), Limits::default()).await.unwrap();
        let driver = tokio::spawn(driver);
        let calls: Vec<_> = (0..10_000).map(|_| call(&*channel, "later")).collect();
        for exchange in calls {
            assert_eq!(answer(exchange).await.unwrap()["content"][0]["text"], "later");
        }
        let big = answer(call(&*channel, "big")).await.unwrap();
        assert_eq!(big["content"][0]["text"].as_str().unwrap().len(), 1 << 20);
        channel.close();
        soon(driver).await.unwrap().unwrap();
    }
    // The test harness says something before the server does. A client has to live with that.
    assert!(ears.heard().iter().all(|what| what.starts_with("malformed: ")), "{:?}", ears.heard());
}

#[tokio::test]
async fn what_cannot_be_started() {
    let here = env!("CARGO_MANIFEST_DIR");
    let cases = [
        (
            Command::new("no-such-server").name("files"),
            "cannot start the server `files`: the program `no-such-server` was not found; is it installed, and in \
             `PATH` or given by its full path?"
                .to_owned(),
        ),
        (
            script("exit").current_dir("/no/such/place"),
            "cannot start the server `script`: there is no directory `/no/such/place` to start it in".to_owned(),
        ),
        (
            Command::new(format!("{here}/Cargo.toml")),
            format!(
                "cannot start the server `Cargo`: the program `{here}/Cargo.toml` may not be run; is it an \
                 executable file?"
            ),
        ),
    ];
    for (mut command, expected) in cases {
        let error = command.connect(Ears::default().inbound(), Limits::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn a_server_that_ends_too_early_says_why() {
    let cases = [
        ("exit 3", "the server `script` exited with status 3"),
        ("exit 0", "the server `script` exited with status 0"),
        ("kill -9 $$", "the server `script` was killed by signal 9"),
        (
            "for n in 1 2 3 4 5 6 7; do echo line $n >&2; done; printf 'no key' >&2; exit 1",
            "the server `script` exited with status 1; its last words: line 4 | line 5 | line 6 | line 7 | no key",
        ),
        ("read line; echo oh >&2; exit 1", "the server `script` exited with status 1; its last words: oh"),
    ];
    for (text, expected) in cases {
        let (call, driver) = failure(script(text)).await;
        assert_eq!((call.kind(), driver.kind()), (ErrorKind::Closed, ErrorKind::Closed), "{text}");
        assert_eq!((call.to_string(), driver.to_string()), (expected.to_owned(), expected.to_owned()), "{text}");
    }
}

#[tokio::test]
async fn without_capture_there_are_no_last_words() {
    for stderr in [Stderr::Discard, Stderr::Inherit] {
        let (_, driver) = failure(script("echo oh >&2; exit 1").stderr(stderr)).await;
        assert_eq!(driver.to_string(), "the server `script` exited with status 1");
    }
}

#[tokio::test]
async fn a_server_that_closes_its_output_is_lost() {
    let (command, ears) = heard("echo $$ >&2; exec >&-; exec sleep 1000");
    let (call, driver) = failure(command.grace(Duration::from_millis(10))).await;
    let id = process(&ears).await;
    let expected = format!("the server `script` closed its standard output; its last words: {id}");
    assert_eq!((call.to_string(), driver.to_string()), (expected.clone(), expected));
    assert_eq!(state(&id), None);
}

#[tokio::test]
async fn an_answer_counts_even_if_the_server_ends_right_after() {
    for text in [
        // Standard output is not flushed by anything but the exit, and input is never read.
        r#"echo '{"jsonrpc":"2.0","id":1,"result":{}}'; exit 5"#,
        r#"exec <&-; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; exit 5"#,
    ] {
        let mut command = script(text);
        let Connected { channel, driver } = connect(&mut command).await;
        let waiting = call(&*channel, "now");
        assert_eq!(soon(driver).await.unwrap_err().to_string(), "the server `script` exited with status 5");
        assert!(answer(waiting).await.is_ok(), "{text}");
    }
}

#[tokio::test]
async fn noise_on_the_standard_output_does_no_harm() {
    let text = r#"echo Listening...; read line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; cat > /dev/null"#;
    let ears = Ears::default();
    let Connected { channel, driver } = script(text).connect(ears.inbound(), Limits::default()).await.unwrap();
    let driver = tokio::spawn(driver);
    assert!(answer(call(&*channel, "now")).await.is_ok());
    assert_eq!(ears.heard().len(), 1);
    channel.close();
    soon(driver).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_server_may_take_its_time_to_end() {
    // More output than a pipe holds, which is not wanted any more, and then some words.
    let text = "echo $$ >&2; cat > /dev/null; head -c 300000 /dev/zero | tr '\\0' x; echo bye >&2";
    for by_drop in [false, true] {
        let (command, ears) = heard(text);
        let mut command = command.grace(Duration::from_secs(50));
        let Connected { channel, driver } = connect(&mut command).await;
        let driver = tokio::spawn(driver);
        let id = process(&ears).await;
        if by_drop {
            drop(channel);
        } else {
            channel.close();
        }
        soon(driver).await.unwrap().unwrap();
        assert_eq!(ears.heard(), [id.as_str(), "bye"]);
        assert_eq!(command.stderr_text(), format!("{id}\nbye"));
        assert_eq!(state(&id), None);
    }
}

#[tokio::test]
async fn a_server_that_does_not_end_is_told_to_and_then_made_to() {
    let term = "trap 'echo term >&2; exit 0' TERM; echo $$ >&2; while :; do sleep 0.01; done";
    let deaf = "trap '' TERM; echo $$ >&2; while :; do sleep 0.01; done";
    for (text, polite) in [(term, true), (deaf, false)] {
        let (command, ears) = heard(text);
        let Connected { channel, driver } = connect(&mut command.grace(Duration::from_millis(10))).await;
        let driver = tokio::spawn(driver);
        let id = process(&ears).await;
        channel.close();
        soon(driver).await.unwrap().unwrap();
        assert_eq!(ears.heard().iter().any(|line| line == "term"), polite, "{text}");
        assert_eq!(state(&id), None, "{text}");
    }
}

#[tokio::test]
async fn a_server_that_reads_nothing_can_be_left() {
    let (command, ears) = heard("echo $$ >&2; exec sleep 1000");
    let Connected { channel, driver } = connect(&mut command.grace(Duration::from_millis(10))).await;
    let driver = tokio::spawn(driver);
    let id = process(&ears).await;
    let calls: Vec<_> = (0..10_000).map(|_| call(&*channel, "now")).collect();
    channel.close();
    soon(driver).await.unwrap().unwrap();
    for exchange in calls {
        assert!(answer(exchange).await.unwrap_err().is_closed());
    }
    assert_eq!(state(&id), None);
}

#[tokio::test]
async fn what_the_server_started_ends_with_it() {
    // The last one holds the pipes open when the server itself is gone.
    for (text, result) in [
        ("sleep 1000 & echo $! >&2; cat > /dev/null", "closed"),
        ("(trap '' TERM; exec sleep 1000) & echo $! >&2; cat > /dev/null", "closed"),
        ("sleep 1000 & echo $! >&2; exit 4", "exited with status 4"),
    ] {
        let (command, ears) = heard(text);
        let Connected { channel, driver } = connect(&mut command.grace(Duration::from_millis(100))).await;
        let driver = tokio::spawn(driver);
        let id = process(&ears).await;
        if result == "closed" {
            assert!(runs(&id), "{text}");
            channel.close();
            soon(driver).await.unwrap().unwrap();
        } else {
            let error = soon(driver).await.unwrap().unwrap_err().to_string();
            assert!(error.contains(result), "{error}");
        }
        until("the grandchild is gone", || !runs(&id)).await;
    }
}

#[tokio::test]
async fn dropping_the_driver_kills_everything() {
    let (mut command, ears) = heard("trap '' TERM; sleep 1000 & echo $$ >&2; echo $! >&2; wait");
    let Connected { channel, driver } = connect(&mut command).await;
    let waiting = call(&*channel, "now");
    let driver = tokio::spawn(driver);
    until("it says both ids", || ears.heard().len() == 2).await;
    driver.abort();
    assert!(answer(waiting).await.unwrap_err().is_closed());
    until("the grandchild is gone", || !runs(&ears.heard()[1])).await;
    until("the child is gone and collected", || state(&ears.heard()[0]).is_none()).await;
}

#[test]
fn the_end_of_the_runtime_kills_everything() {
    let (mut command, ears) = heard("sleep 1000 & echo $$ >&2; echo $! >&2; wait");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::spawn(connect(&mut command).await.driver);
        until("it says both ids", || ears.heard().len() == 2).await;
    });
    drop(runtime);
    let deadline = Instant::now() + crate::support::TIMEOUT;
    while ears.heard().iter().any(|id| runs(id)) {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_command_can_be_started_again() {
    let mut command = script("echo $$ >&2; exit 1");
    let mut seen = Vec::new();
    for _ in 0..3 {
        let Connected { driver, channel } = connect(&mut command).await;
        soon(driver).await.unwrap_err();
        drop(channel);
        seen.push(command.stderr_text());
    }
    seen.dedup();
    assert_eq!(seen.len(), 3, "each start is a new process, and its own words: {seen:?}");
}

#[tokio::test]
async fn the_surroundings_of_a_server() {
    let text = "echo \"${CARGO_MANIFEST_DIR:-nothing} $A $(pwd)\" >&2";
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| "nothing".to_owned());
    let (inherits, ears) = heard(text);
    failure(inherits.env("A", "1").current_dir("/")).await;
    assert_eq!(ears.heard(), [format!("{here} 1 /")]);
    let (clean, ears) = heard(text);
    failure(clean.env("A", "gone").env_clear().env("A", "2").current_dir("/")).await;
    assert_eq!(ears.heard(), ["nothing 2 /"]);
}

/// No shell reads what a command is given: the one here is the program itself, and shows its arguments.
#[tokio::test]
async fn nothing_is_read_by_a_shell() {
    let (mut shown, ears) = heard("printf '%s\\n' \"$@\" >&2");
    let words = ["name", "$(touch pwned)", "a; b && c | d", "`id` * ~ $HOME 'x'"];
    shown = words.iter().fold(shown, |command, word| command.arg(word));
    failure(shown).await;
    assert_eq!(ears.heard(), words[1..]);
}

#[test]
fn secrets_are_not_printed() {
    let command = Command::new("/usr/bin/server.bin").arg("--token=s3cret").env("TOKEN", "s3cret");
    let shown = format!("{command:?}");
    assert!(shown.contains("\"server\"") && !shown.contains("s3cret"), "{shown}");
}
