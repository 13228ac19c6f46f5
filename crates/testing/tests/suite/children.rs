//! Clients of programs that crash, refuse to speak, and do not want to end.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet::{
    Client, Error, ErrorKind,
    client::{Backoff, Change, Filter, Reconnecting},
    stdio::Command,
};
use tokio::time::{sleep, timeout};

/// Long enough for anything that happens at all.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of 2026-07-28 that exits when `crash` is in a message.
const SERVER: &str = r#"
echo $$ >&2
while read -r line; do
    id=$(printf '%s\n' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case $line in
        *server/discover*) result='"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}' ;;
        *subscriptions/listen*)
            meta='"_meta":{"io.modelcontextprotocol/subscriptionId":'$id'}'
            echo '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},'$meta'}}'
            continue ;;
        *crash*) echo boom >&2; exit 3 ;;
        *) result='"content":[]' ;;
    esac
    echo '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete",'$result'}}'
done
"#;

type Ids = Arc<Mutex<Vec<String>>>;

/// A program, and the lines of digits that it writes to its standard error.
fn program(text: &str) -> (Command, Ids) {
    let ids = Ids::default();
    let seen = ids.clone();
    let command = Command::new("/bin/sh").arg("-c").arg(text).name("script").on_stderr(move |line| {
        if line.bytes().all(|byte| byte.is_ascii_digit()) {
            seen.lock().expect("no panic").push(line.to_owned());
        }
    });
    (command, ids)
}

/// A crash, and the call after it.
async fn crash(client: &Client) -> Error {
    let lost = client.call("crash", ()).await.expect_err("it crashes");
    timeout(PATIENCE, client.call("work", ())).await.expect("in time").expect("it works again");
    lost
}

#[tokio::test]
async fn a_program_that_crashes_is_started_again() {
    let (command, ids) = program(SERVER);
    let target = Reconnecting::new(command).backoff(Backoff::new().initial(Duration::from_millis(20)));
    let client = Client::new("test", "1").connect(target).await.expect("it speaks the protocol");
    let mut changes = client.listen(Filter::new().tools()).await.expect("it tells of changes");
    for _ in 0..3 {
        let lost = crash(&client).await;
        assert_eq!(lost.kind(), ErrorKind::Closed);
        let expected =
            "`tools/call` may have been executed: the server `script` exited with status 3; its last words: ";
        assert!(lost.to_string().starts_with(expected) && lost.to_string().ends_with(" | boom"), "{lost}");
        assert_eq!(timeout(PATIENCE, changes.next()).await.expect("in time"), Some(Change::Tools));
    }
    client.close().await.expect("it ends well");
    let mut seen = ids.lock().expect("no panic").clone();
    seen.dedup();
    assert_eq!(seen.len(), 4, "each is a process of its own: {seen:?}");
}

/// It ends neither at the end of its input nor when it is asked to, and writes down which processes there are.
#[cfg(target_os = "linux")]
const STUBBORN: &str = "trap '' TERM HUP INT; sleep 1000 & echo $! $$ > \"$IDS\";";

/// A stubborn program, and the file with its processes.
#[cfg(target_os = "linux")]
fn stubborn(name: &str, rest: &str) -> (Command, std::path::PathBuf) {
    let file = std::env::temp_dir().join(format!("couplet-{name}-{}", std::process::id()));
    let text = format!("{STUBBORN} {rest} while :; do sleep 1; done");
    (program(&text).0.env("IDS", &file).grace(Duration::from_millis(10)), file)
}

/// Waits until both processes are gone.
#[cfg(target_os = "linux")]
async fn gone(file: std::path::PathBuf) {
    let text = std::fs::read_to_string(&file).expect("it was written before the first answer");
    std::fs::remove_file(file).expect("it is there");
    let ids: Vec<_> = text.split_whitespace().collect();
    assert_eq!(ids.len(), 2);
    let runs = |id: &&str| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    };
    let wait = async {
        while ids.iter().any(runs) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, wait).await.expect("the server is gone");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn attack_08_no_server_is_left_of_a_client_that_failed() {
    let refuses = r#"
        read line; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'
        read line; echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}'
    "#;
    let (command, file) = stubborn("refuses", refuses);
    Client::new("test", "1").connect(command).await.expect_err("they have nothing in common");
    gone(file).await;

    // Dropped after an error, and while the program goes on.
    let (command, file) = stubborn("drops", SERVER);
    let client = Client::new("test", "1").connect(command).await.expect("it speaks the protocol");
    client.call("work", ()).timeout(Duration::ZERO).await.expect_err("there is no time");
    drop(client);
    gone(file).await;
}
