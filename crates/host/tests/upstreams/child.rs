//! Upstreams that are child processes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use couplet_client::{Backoff, Client};
use couplet_core::{BoxFuture, Call, Description, Hub, Limits, Reply, ResultBody, Service, Transport};
use couplet_host::{
    names::ServerId,
    upstream::{State, Upstream, UpstreamOptions},
};
use couplet_stdio::{Command, stdio};
use couplet_types::{Implementation, ProtocolVersion, RpcError, ServerCapabilities, ToolsCapability};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::kit::{SESSIONS, STATELESS, call, caller, is_alone, memory, size, until};

/// The variable with the number of kills.
const KILLS: &str = "COUPLET_KILLS";
/// The longest delay before a restart.
const BACKOFF: Duration = Duration::from_millis(10);
/// The time in which a server answers again after that, and the bound for the few kills at which the machine was busy.
const RECOVERY: Duration = Duration::from_secs(2);
const AT_MOST: Duration = Duration::from_secs(20);
/// The growth of memory after the first fifth of the kills that counts as none, and the files of connections that are
/// still being closed.
const GROWTH: usize = 4 << 20;
const CLOSING: usize = 8;

/// The folder in which the server reports, and the revision that it serves.
const FOLDER: &str = "COUPLET_HOST_TEST_FOLDER";
const VERSION: &str = "COUPLET_HOST_TEST_VERSION";

/// Not a test of its own: with the variable set this is the server that the tests start.
#[tokio::test]
async fn server() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = PathBuf::from(folder);
    append(&folder.join("pids"), &std::process::id().to_string());
    let version = std::env::var(VERSION).unwrap();
    let served = stdio().serve(Arc::new(Reporter { folder, version, hub: Hub::new() }), Limits::default()).await;
    std::process::exit(i32::from(served.is_err()));
}

/// Appends a line, in one piece.
fn append(path: &Path, line: &str) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// A server that writes each call to a file before it answers.
struct Reporter {
    folder: PathBuf,
    version: String,
    hub: Hub,
}

impl Service for Reporter {
    fn describe(&self) -> Arc<Description> {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(ToolsCapability::new());
        let mut about = Description::new(Implementation::new("reporter", "1"), capabilities);
        about.versions.retain(|version| version.as_str() == self.version);
        Arc::new(about)
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let calls = self.folder.join("calls");
        Box::pin(async move {
            if &*call.method != "tools/call" {
                let ping = json!({ "name": "ping", "inputSchema": { "type": "object" } });
                return Reply::Complete(ResultBody::value(&json!({ "tools": [ping] })));
            }
            let text = match call.tool_name().as_deref() {
                Some("environment") => std::env::vars().map(|(key, _)| format!("{key}\n")).collect(),
                Some("directory") => std::env::current_dir().unwrap().display().to_string(),
                Some("die") => std::process::abort(),
                Some(id) => {
                    append(&calls, id);
                    sleep(Duration::from_millis(2)).await;
                    id.to_owned()
                }
                None => return Reply::Error(RpcError::invalid_params("no name")),
            };
            Reply::Complete(ResultBody::value(&json!({ "content": [{ "type": "text", "text": text }] })))
        })
    }

    fn hub(&self) -> &Hub {
        &self.hub
    }
}

/// A folder that is removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("couplet-host-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn command(&self, version: ProtocolVersion) -> Command {
        let server = Command::new(std::env::current_exe().unwrap());
        self.around(server.args(["--exact", "child::server", "--nocapture", "--quiet"]), version)
    }

    /// A command that starts the server in the end.
    pub(crate) fn around(&self, command: Command, version: ProtocolVersion) -> Command {
        command
            .name("files")
            .env_clear()
            .env(FOLDER, &self.0)
            .env(VERSION, version.as_str())
            .env("RUST_TEST_THREADS", "1")
            .current_dir(&self.0)
    }

    pub(crate) fn pids(&self) -> Vec<String> {
        lines(&self.0.join("pids"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn upstream(command: Command, options: UpstreamOptions) -> Upstream {
    let tail = command.stderr_tail();
    let client = Client::new("host", "1");
    Upstream::builder(ServerId::parse("files").unwrap(), client, command).options(options).stderr(tail).build()
}

fn kill(pid: &str) {
    let killed = std::process::Command::new("kill").args(["-9", pid]).stderr(std::process::Stdio::null()).status();
    assert!(killed.is_ok());
}

/// The state of a process, if it is there at all.
pub(crate) fn state(pid: &str) -> Option<char> {
    if !Path::new("/proc/self/stat").exists() {
        let status = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
        return String::from_utf8(status.stdout).unwrap().trim().chars().next();
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// The number of open files of this process, where it can be counted.
pub(crate) fn open_files() -> Option<usize> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count())
}

/// The end of a call in the storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Answered,
    /// The outcome is unknown.
    Unknown,
    /// It was not sent.
    NotSent,
}

/// Calls until it is told to stop, and returns the end of each call by its id.
async fn storm(
    client: Client,
    name: usize,
    over: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
) -> BTreeMap<String, End> {
    let mut ends = BTreeMap::new();
    for n in 0.. {
        if over.load(SeqCst) {
            break;
        }
        let id = format!("{name}-{n}");
        let end = match client.call(id.clone(), ()).await {
            Ok(result) => {
                assert_eq!(result.into_result().unwrap().text(), id);
                answered.fetch_add(1, SeqCst);
                End::Answered
            }
            Err(error) => match &error.rpc().unwrap().message {
                text if text.contains("outcome is unknown; it was not sent again") => End::Unknown,
                text if text.contains("so it did not run") || text.starts_with("`files` is not available") => {
                    End::NotSent
                }
                text => panic!("{text}"),
            },
        };
        ends.insert(id, end);
    }
    ends
}

async fn kill_storm(version: ProtocolVersion) {
    let kills = size(KILLS, 100);
    let folder = Folder::new(&format!("storm-{version}"));
    let mut options = UpstreamOptions::default();
    options.backoff = Backoff::new().initial(Duration::from_millis(2)).max(BACKOFF);
    options.restarts = 1_000_000;
    let upstream = upstream(folder.command(version), options);
    let client = caller(&upstream, version).await;
    assert_eq!(call(&client, "first").await, "first");
    let mut levels = vec![Level::now()];
    let (over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let callers: Vec<_> =
        (0..8).map(|name| tokio::spawn(storm(client.clone(), name, over.clone(), answered.clone()))).collect();
    let mut recoveries = Vec::new();
    for killed in 0..=kills {
        let began = Instant::now();
        if killed > 0 {
            kill(folder.pids().last().unwrap());
            until("there is another one", || folder.pids().len() == killed + 1).await;
        }
        // Each one answers before it is killed: it has recovered.
        let before = answered.load(SeqCst);
        until(&format!("{killed}: it answers: {:?}", upstream.status()), || answered.load(SeqCst) > before + 4).await;
        if killed > 0 {
            recoveries.push(began.elapsed());
            levels.push(Level::now());
        }
    }
    over.store(true, SeqCst);
    let mut ends = BTreeMap::new();
    for caller in callers {
        ends.append(&mut caller.await.unwrap());
    }
    check_ends(&ends, &lines(&folder.0.join("calls")));
    assert_eq!(upstream.status().restarts, kills as u64);
    let pids = folder.pids();
    until("none is left behind", || pids[..kills].iter().all(|pid| state(pid).is_none())).await;
    assert_eq!(call(&client, "last").await, "last");
    levels.push(Level::now());
    recoveries.sort();
    let (usual, most) = (recoveries[kills * 9 / 10], recoveries[kills - 1]);
    println!(
        "acceptance 7: {version}: {kills} kills, {} calls; recovered within {usual:.0?} nine times of ten, {most:.0?} at \
         most; {} open files became {}, memory {} KiB more",
        ends.len(),
        levels[0].files,
        levels[kills + 1].files,
        levels[kills + 1].memory.saturating_sub(levels[kills / 5].memory) >> 10,
    );
    assert!(usual <= BACKOFF + RECOVERY && most <= AT_MOST, "{recoveries:?}");
    are_flat(&levels);
    drop((upstream, client));
    until("the last one ends", || pids.iter().all(|pid| state(pid).is_none())).await;
}

/// The resources of this process; zero where they cannot be measured.
#[derive(Clone, Copy, Debug)]
struct Level {
    files: usize,
    memory: usize,
}

impl Level {
    fn now() -> Self {
        Self { files: open_files().unwrap_or_default(), memory: memory().unwrap_or_default() }
    }
}

/// Neither files nor memory grow from kill to kill.
fn are_flat(levels: &[Level]) {
    if !is_alone(KILLS) {
        return;
    }
    let (first, last) = (levels[0], levels[levels.len() - 1]);
    assert!(last.files <= first.files + 2, "{first:?}, {last:?}");
    assert!(levels.iter().all(|level| level.files <= first.files + CLOSING), "{levels:?}");
    let warm = levels[levels.len() / 5];
    assert!(last.memory <= warm.memory + GROWTH, "{warm:?}, {last:?}");
}

/// No call ran twice; those that were answered ran, and those that were not sent did not.
fn check_ends(ends: &BTreeMap<String, End>, executed: &[String]) {
    let unique: BTreeSet<&String> = executed.iter().collect();
    assert_eq!(unique.len(), executed.len(), "a call was executed twice");
    for (id, end) in ends {
        match end {
            End::Answered => assert!(unique.contains(id), "{id} was answered"),
            End::NotSent => assert!(!unique.contains(id), "{id} was not sent"),
            End::Unknown => {}
        }
    }
    let count = |wanted| ends.values().filter(|end| **end == wanted).count();
    assert!(count(End::Answered) > 100 && count(End::Unknown) > 0, "{}", ends.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acceptance_07_kills_under_load_in_sessions() {
    kill_storm(SESSIONS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acceptance_07_kills_under_load_without_sessions() {
    kill_storm(STATELESS).await;
}

#[tokio::test]
async fn s20_a_child_sees_only_the_listed_variables_and_its_directory() {
    let folder = Folder::new("environment");
    let upstream = upstream(folder.command(STATELESS), UpstreamOptions::default());
    let client = caller(&upstream, STATELESS).await;
    let listed: BTreeSet<_> = [FOLDER, VERSION, "RUST_TEST_THREADS"].map(str::to_owned).into();
    let seen: BTreeSet<_> = call(&client, "environment").await.lines().map(str::to_owned).collect();
    assert_eq!(seen, listed);
    let directory = call(&client, "directory").await;
    assert_eq!(fs::canonicalize(directory).unwrap(), fs::canonicalize(&folder.0).unwrap());
}

#[tokio::test]
async fn s20_a_child_that_ignores_signals_and_leaves_others_behind_is_gone_with_them() {
    let folder = Folder::new("stubborn");
    let pids = folder.0.join("pids");
    // It never answers, does not mind the end of its input, and has started others, one of them by way of another. On
    // Linux that one is a daemon, with a session of its own.
    let daemon =
        if cfg!(target_os = "linux") { "setsid sh -c 'echo $$ >> {0}; exec sleep 1000'" } else { "sleep 1000" };
    let script = format!(
        "trap '' TERM HUP INT; sleep 1000 & echo $! >> {0}; ({daemon} &) ; echo $$ >> {0}; echo starting up >&2; \
         while :; do sleep 1; done",
        pids.display()
    );
    let script = script.replace("{0}", &pids.display().to_string());
    let command =
        Command::new("/bin/sh").arg("-c").arg(script).name("files").grace(Duration::from_millis(10)).contain();
    let mut options = UpstreamOptions::default();
    options.connect_timeout = Duration::from_millis(1500);
    options.restarts = 0;
    let upstream = upstream(command, options);
    let client = caller(&upstream, STATELESS).await;
    let error = call(&client, "echo").await;
    assert!(error.contains("did not answer within 2 seconds after its start"), "{error}");
    assert!(error.ends_with("starting up"), "{error}");
    let pids = lines(&pids);
    assert_eq!(pids.len(), if cfg!(target_os = "linux") { 3 } else { 2 });
    until("all of them are gone", || pids.iter().all(|pid| state(pid).is_none_or(|state| state == 'Z'))).await;
}

#[tokio::test]
async fn s23_a_child_that_dies_during_a_call_is_named_with_the_cause() {
    let folder = Folder::new("dies");
    let upstream = upstream(folder.command(STATELESS), UpstreamOptions::default());
    let client = caller(&upstream, STATELESS).await;
    let error = call(&client, "die").await;
    let expected = "`files` was lost during the call, whose outcome is unknown; it was not sent again: the server `files` \
                    was killed by signal 6";
    assert!(error.starts_with(expected), "{error}");
    assert_eq!(call(&client, "again").await, "again");
    assert_eq!((lines(&folder.0.join("calls")), folder.pids().len()), (vec!["again".to_owned()], 2));
}

#[tokio::test]
async fn a_program_that_fails_at_its_start_is_reported_with_its_last_words() {
    let script = "echo loading >&2; printf 'no \\033[31mtoken\\n' >&2; exit 3";
    let command = Command::new("/bin/sh").arg("-c").arg(script).name("files");
    let mut options = UpstreamOptions::default();
    options.backoff = Backoff::new().initial(Duration::from_millis(1)).max(Duration::from_millis(1));
    let upstream = upstream(command, options);
    upstream.start();
    until("it is given up", || upstream.status().state == State::Stopped).await;
    let status = upstream.status();
    let error = status.error.unwrap();
    assert_eq!(error, "the server `files` exited with status 3; its last words: loading | no  [31mtoken");
    assert_eq!(status.restarts, 5);
}
