//! The servers of others behind something of ours: `couplet run` over stdio and over HTTP, a server that they are mounted
//! in, and `couplet listen`; in both eras, on both sides.

use std::{
    fs,
    ops::Add,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{
    DEADLINE,
    peer::Missing,
    report::Counts,
    servers::{
        Server::{self, Everything, FastMcp, Fetch, Filesystem, Git, Memory, Time, TsV2},
        Servers,
    },
    text, url,
};
use crate::{
    Failure,
    group::{Group, serve},
    workspace::command,
};

/// The last revision of each era, for the client in front.
const IN_FRONT: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// What a mounted server is called.
const PREFIX: &str = "peer";

/// How `couplet listen` ends where there is nothing to listen for, and what it says.
const NO_CHANGES: (i32, &str) = (4, "sends no change notifications");

/// A server, a call that it answers, and the changes that it notifies of.
struct Case {
    server: Server,
    /// The revisions that it is spoken to in; `auto` is the newest one that it speaks.
    spoken: &'static [&'static str],
    tool: &'static str,
    arguments: &'static [&'static str],
    answer: &'static str,
    /// The revisions in which it notifies of changes.
    notifies: &'static [&'static str],
}

const BOTH: &[&str] = &["auto", "2025-11-25"];

const CASES: [Case; 8] = [
    Case {
        server: Everything,
        spoken: &["auto"],
        tool: "echo",
        arguments: &["message=hi"],
        answer: "Echo: hi",
        notifies: &["auto"],
    },
    Case {
        server: Filesystem,
        spoken: &["auto"],
        tool: "read_text_file",
        arguments: &["path=FILES/tides.txt"],
        answer: "Low water at six.",
        notifies: &["auto"],
    },
    Case {
        server: Memory,
        spoken: &["auto"],
        tool: "search_nodes",
        arguments: &["query=programs"],
        answer: "Ada",
        notifies: &["auto"],
    },
    Case {
        server: Time,
        spoken: BOTH,
        tool: "convert_time",
        arguments: &["source_timezone=UTC", "time=12:30", "target_timezone=Asia/Tokyo"],
        answer: "T21:30:00+09:00",
        notifies: &[],
    },
    Case {
        server: Git,
        spoken: BOTH,
        tool: "git_log",
        arguments: &["repo_path=REPOSITORY", "max_count=1"],
        answer: "The first of all",
        notifies: &[],
    },
    Case {
        server: Fetch,
        spoken: BOTH,
        tool: "fetch",
        arguments: &["url=PAGE"],
        answer: "High water at noon.",
        notifies: &[],
    },
    Case {
        server: FastMcp,
        spoken: BOTH,
        tool: "add",
        arguments: &["a=20", "b=22"],
        answer: "42\n",
        notifies: &["2025-11-25"],
    },
    Case { server: TsV2, spoken: BOTH, tool: "add", arguments: &["a=2", "b=3"], answer: "\"sum\": 5", notifies: BOTH },
];

/// Runs all cases, and prints what came of each run. Each server has a thread.
pub(super) fn suite(programs: &Path, servers: &Servers, logs: &Path) -> Counts {
    thread::scope(|scope| {
        let threads = CASES.each_ref().map(|case| {
            scope.spawn(move || match servers.there(case.server) {
                Ok(()) => Behind { case, programs, servers, logs }.all(),
                Err(missing) => Counts::told(&format!("{:?} behind couplet", case.server), Err(missing)),
            })
        });
        let counts = threads.into_iter().map(|thread| thread.join().expect("a thread does not panic"));
        counts.fold(Counts::default(), Counts::add)
    })
}

struct Behind<'a> {
    case: &'a Case,
    programs: &'a Path,
    servers: &'a Servers,
    logs: &'a Path,
}

impl Behind<'_> {
    fn all(&self) -> Counts {
        self.case.spoken.iter().fold(Counts::default(), |counts, spoken| {
            counts + self.run_stdio(spoken) + self.run_http(spoken) + self.mount(spoken) + self.listen(spoken)
        })
    }

    /// `couplet run` as a server that a client starts.
    fn run_stdio(&self, spoken: &'static str) -> Counts {
        let run = [vec![text(&self.couplet()), "run".to_owned(), self.target()], revision(spoken)].concat();
        let target = run.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        self.through(&format!("run-{spoken}-stdio"), &target, "")
    }

    /// `couplet run --http`.
    fn run_http(&self, spoken: &'static str) -> Counts {
        let name = format!("run-{spoken}-http");
        let start = |port: &str| {
            let mut run = self.command(&self.couplet());
            run.args(["run", &self.target(), "--http", port]).args(revision(spoken));
            run
        };
        self.served(&name, start, "")
    }

    /// A server of ours that it is mounted in.
    fn mount(&self, spoken: &'static str) -> Counts {
        let name = format!("mount-{spoken}");
        let start = |port: &str| {
            let mut mount = self.command(&self.programs.join("interop-mount"));
            mount.args([spoken, port, PREFIX]).args(self.servers.line(self.case.server));
            mount
        };
        self.served(&name, start, &format!("{PREFIX}_"))
    }

    /// Starts something that serves over HTTP, and goes through it.
    fn served(&self, name: &str, start: impl Fn(&str) -> Command, prefix: &str) -> Counts {
        match serve(start, &self.log(name)) {
            Ok((_server, port)) => self.through(name, &url(&port), prefix),
            Err(why) => self.told(name, Err(why)),
        }
    }

    /// Lists the tools of a target, and calls one, in both eras.
    fn through(&self, name: &str, target: &str, prefix: &str) -> Counts {
        let tool = format!("{prefix}{}", self.case.tool);
        IN_FRONT.into_iter().fold(Counts::default(), |counts, front| {
            let list = self.said(&format!("{name}-list-{front}"), &["list", target, "--revision", front], &[]);
            let list = list.and_then(|said| expect(&said, &format!("{tool}(")));
            let words = ["call", target, &tool, "--revision", front];
            let call = self.said(&format!("{name}-call-{front}"), &words, self.case.arguments);
            let call = call.and_then(|said| expect(&said, self.case.answer));
            counts
                + self.told(&format!("{name}: list in {front}"), list)
                + self.told(&format!("{name}: call in {front}"), call)
        })
    }

    /// `couplet listen` listens, or says that there is nothing to listen for.
    fn listen(&self, spoken: &'static str) -> Counts {
        let name = format!("listen-{spoken}");
        let mut listen = self.command(&self.couplet());
        listen.args(["listen", &self.target()]).args(revision(spoken));
        let log = self.log(&name);
        let heard = Group::start(&mut listen, &log).and_then(|group| heard(group, &log));
        let outcome = match (heard, self.case.notifies.contains(&spoken)) {
            (Ok(Heard::Listening), true) => Ok(()),
            (Ok(Heard::Ended(code, said)), false) if code == Some(NO_CHANGES.0) => expect(&said, NO_CHANGES.1),
            (Ok(other), notifies) => Err(format!("{other:?}, though it notifies of changes: {notifies}")),
            (Err(why), _) => Err(why),
        };
        self.told(&name, outcome)
    }

    /// What `couplet` says to a command line, if it ends well and in time.
    fn said(&self, name: &str, words: &[&str], arguments: &[&str]) -> Result<String, Failure> {
        let mut line = self.command(&self.couplet());
        line.args(words).args(arguments.iter().map(|word| self.servers.fill(word)));
        let log = self.log(name);
        let status = Group::start(&mut line, &log)?.wait(DEADLINE)?;
        let said = read(&log);
        if status.success() { Ok(said) } else { Err(format!("{status}\n{said}")) }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = command(&text(program));
        command.env("XDG_STATE_HOME", self.servers.state());
        command
    }

    fn couplet(&self) -> PathBuf {
        self.programs.join("couplet")
    }

    fn target(&self) -> String {
        self.servers.target(self.case.server)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("behind-{:?}-{name}.log", self.case.server))
    }

    fn told(&self, name: &str, outcome: Result<(), Failure>) -> Counts {
        Counts::told(&format!("{:?} behind {name}", self.case.server), outcome.map_err(Missing::Broken))
    }
}

/// How a listener begins.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Listening,
    Ended(Option<i32>, String),
}

/// Waits until a listener listens, or ends.
fn heard(mut listener: Group, log: &Path) -> Result<Heard, Failure> {
    let started = Instant::now();
    loop {
        let ended = listener.ended();
        let said = read(log);
        match ended {
            _ if said.contains("listening for changes of") => return Ok(Heard::Listening),
            Some(status) => return Ok(Heard::Ended(status.code(), said)),
            None if started.elapsed() > DEADLINE => return Err(format!("it does neither listen nor end:\n{said}")),
            None => thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn read(log: &Path) -> String {
    String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned()
}

fn expect(said: &str, words: &str) -> Result<(), Failure> {
    if said.contains(words) { Ok(()) } else { Err(format!("`{words}` is not there:\n{said}")) }
}

/// The option for a revision, if one was chosen.
fn revision(spoken: &str) -> Vec<String> {
    match spoken {
        "auto" => Vec::new(),
        date => vec!["--revision".to_owned(), date.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_listener_is_heard_or_ends() {
        for (script, expected) in [
            ("echo listening for changes of tools; sleep 60", Heard::Listening),
            ("echo no changes; exit 4", Heard::Ended(Some(4), "no changes\n".to_owned())),
        ] {
            let log = std::env::temp_dir().join(format!("xtask-behind-{}-{}", std::process::id(), script.len()));
            let group = Group::start(Command::new("sh").args(["-c", script]), &log).unwrap();
            assert_eq!(heard(group, &log), Ok(expected));
            fs::remove_file(&log).unwrap();
        }
    }

    #[test]
    fn each_server_is_behind_something() {
        for server in Server::ALL {
            let case = CASES.iter().find(|case| case.server == server).unwrap();
            assert!(case.notifies.iter().all(|revision| case.spoken.contains(revision)));
        }
        assert!(expect("one two", "two").is_ok() && expect("one", "two").is_err());
    }
}
