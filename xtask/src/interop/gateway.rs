//! `couplet gateway` between the clients and the servers of others: each client with each server behind a gateway of
//! its own, and one gateway before all servers that people use.

use std::{
    cell::RefCell,
    fs,
    ops::Add,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{
    Bench, DEADLINE, STEPS,
    peer::{Missing, PEERS, Peer, Programs},
    relay_to,
    report::{Counts, OURS, Outcome, Transport, judge},
    seen,
    servers::{Server, Servers},
    steps::{self, Era, Plan, not_offered},
    text, url,
};
use crate::{
    Failure, debian, gateway,
    gateway::{Names, Pins, Upstream},
    group::{Group, serve},
    workspace::{capture, command},
};

/// How long servers may take to start, all at once.
const START: Duration = Duration::from_secs(120);

/// The number of servers that are started at the same time. For some the gateway starts a process for each call.
const AT_ONCE: usize = 4;

/// The last revision of each era, for the clients that are ours.
const IN_FRONT: &[&str] = &["2025-11-25", "2026-07-28"];

/// A client or a server: the name of its SDK, what its client offers, and its programs.
struct Side {
    name: &'static str,
    offers: &'static [&'static str],
    /// The revision of a client that may choose.
    latest: &'static str,
    programs: Programs,
}

/// Each client with each server, through a gateway with the server's own names; then a table of all.
pub(super) fn clients_and_servers(bench: &Bench, programs: &Path, couplet: Programs) -> Counts {
    let (mut sides, mut counts) = (Vec::new(), Counts::default());
    for peer in PEERS.iter().filter(|peer| !peer.issuer) {
        match (peer.install)(&bench.folder.join(peer.name)) {
            Ok(programs) => sides.push(side(peer, programs)),
            Err(missing) => counts = counts + Counts::told(&format!("{} and the gateway", peer.name), Err(missing)),
        }
    }
    sides.push(Side { name: OURS, offers: IN_FRONT, latest: IN_FRONT[1], programs: couplet });
    let gateway = Gateway { couplet: programs.join("couplet"), logs: &bench.logs };
    let mut servers: Vec<Behind> = sides.iter().map(|side| Behind { side, way: Way::Latest }).collect();
    // Those that have both eras, in the other one, too.
    let has_both = |side: &&Side| side.latest == IN_FRONT[1];
    servers.extend(sides.iter().filter(has_both).map(|side| Behind { side, way: Way::Sessions }));
    servers.extend(
        sides.iter().filter(|side| LISTENING.contains(&side.name)).map(|side| Behind { side, way: Way::Listens }),
    );
    // In HTTP/2: ours by itself, others behind a load balancer that speaks it.
    servers.extend(sides.last().map(|side| Behind { side, way: Way::Http2 }));
    servers.extend(sides.last().map(|side| Behind { side, way: Way::Http2Sessions }));
    match debian::ensure(&[("haproxy", "haproxy")]) {
        Ok(()) => {
            let balanced = sides.iter().filter(|side| side.name == BALANCED);
            servers.extend(balanced.map(|side| Behind { side, way: Way::Balanced }));
        }
        Err(why) => counts = counts + Counts::told("gateway: haproxy in HTTP/2", Err(Missing::Skipped(why))),
    }
    servers.extend(sides.last().map(|side| Behind { side, way: Way::GatewayOnStdio }));
    let columns: Vec<Column> = servers.chunks(AT_ONCE).flat_map(|servers| gateway.columns(servers, &sides)).collect();
    println!("\n{}\n", table(&sides, &columns));
    for cell in columns.iter().flat_map(|column| &column.cells) {
        let outcome = cell.outcome.clone().map_err(Missing::Broken);
        counts = counts + Counts::told(&format!("gateway: {}", cell.name), outcome);
    }
    counts
}

const fn side(peer: &Peer, programs: Programs) -> Side {
    Side { name: peer.name, offers: peer.client, latest: peer.latest, programs }
}

/// The servers that are also tried where they listen themselves.
const LISTENING: &[&str] = &["python", "fastmcp", "ts-v2"];

/// The server that is also tried behind haproxy, which speaks HTTP/2 with the gateway.
const BALANCED: &str = "python";

/// The servers that notify of updates only the session that made them, if it is subscribed.
const OWN_UPDATES: &[&str] = &["ts-v2"];

/// A server behind a gateway.
#[derive(Clone, Copy)]
struct Behind<'a> {
    side: &'a Side,
    way: Way,
}

/// How a server is behind a gateway.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The gateway starts it, and speaks its latest revision.
    Latest,
    /// It listens, and the gateway speaks the latest revision with sessions.
    Sessions,
    /// It listens.
    Listens,
    /// It listens, and the gateway speaks HTTP/2 with it.
    Http2,
    /// The same with sessions.
    Http2Sessions,
    /// It listens behind haproxy, with which the gateway speaks HTTP/2.
    Balanced,
    /// As the first, and the client starts the gateway.
    GatewayOnStdio,
}

impl Behind<'_> {
    fn name(self) -> String {
        let name = self.side.name;
        match self.way {
            Way::Latest => name.to_owned(),
            Way::Sessions => format!("{name}, sessions"),
            Way::Listens => format!("{name}, HTTP"),
            Way::Http2 => format!("{name}, HTTP/2"),
            Way::Http2Sessions => format!("{name}, HTTP/2 sessions"),
            Way::Balanced => format!("{name}, haproxy HTTP/2"),
            Way::GatewayOnStdio => format!("{name}, stdio"),
        }
    }

    fn folder(self, logs: &Path) -> PathBuf {
        logs.join(format!("gateway-{}", self.name().replace(", ", "-").replace([' ', '/'], "-")))
    }

    /// The era in which the gateway speaks with it.
    fn era(self) -> Era {
        Era::of(if matches!(self.way, Way::Sessions | Way::Http2Sessions) { IN_FRONT[0] } else { self.side.latest })
    }
}

/// All clients with one server.
struct Column {
    name: String,
    cells: Vec<Cell>,
}

/// A client that went through the gateway to a server.
struct Cell {
    name: String,
    plan: Plan,
    outcome: Result<(), Failure>,
}

/// Where the gateway is for a client.
enum Place {
    /// It listens at a port.
    Port(String),
    /// The client starts it.
    Line(Vec<String>),
}

struct Gateway<'a> {
    couplet: PathBuf,
    logs: &'a Path,
}

impl Gateway<'_> {
    /// All clients with some servers, each of which has a thread.
    fn columns(&self, servers: &[Behind<'_>], clients: &[Side]) -> Vec<Column> {
        thread::scope(|scope| {
            let threads: Vec<_> = servers
                .iter()
                .map(|&server| {
                    scope.spawn(move || match server.way {
                        Way::GatewayOnStdio => self.over_stdio(server, clients),
                        _ => self.over_http(server, clients),
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("a thread does not panic")).collect()
        })
    }

    /// All clients with one server; the gateway listens.
    fn over_http(&self, server: Behind<'_>, clients: &[Side]) -> Column {
        let folder = server.folder(self.logs);
        let running = self.configure(server, &folder).and_then(|(config, behind)| {
            let (group, port) =
                serve(|port| gateway::serve(&self.couplet, &config, port), &folder.join("gateway.log"))?;
            Ok((group, behind, port))
        });
        let place = running.as_ref().map_err(Clone::clone).and_then(|(.., port)| {
            listed(&self.couplet, &url(port), &["add(".to_owned()], &folder.join("state"))?;
            Ok(Place::Port(port.clone()))
        });
        self.column(server, clients, &place, &folder)
    }

    /// All clients with one server; each starts a gateway.
    fn over_stdio(&self, server: Behind<'_>, clients: &[Side]) -> Column {
        let folder = server.folder(self.logs);
        let place = self
            .configure(server, &folder)
            .map(|(config, _)| [&text(&self.couplet), "gateway", &text(&config)].map(str::to_owned).to_vec());
        self.column(server, clients, &place.map(Place::Line), &folder)
    }

    /// The configuration of the gateway, and the programs that listen behind it.
    fn configure(&self, server: Behind<'_>, folder: &Path) -> Result<(PathBuf, Vec<Group>), Failure> {
        // The gateway may start several processes of a server, which share a file.
        let (programs, ledger) = (&server.side.programs, text(&folder.join("ledger")));
        let line = || programs.server_line().into_iter().chain([ledger]).collect();
        let listening = || {
            let log = folder.with_extension("server.log");
            serve(|port| programs.server(&["http", port]), &log)
        };
        let (upstream, listening) = match server.way {
            Way::Latest | Way::GatewayOnStdio => (Upstream::Command(line()), Vec::new()),
            Way::Balanced => {
                let (server, port) = listening()?;
                let (balancer, front) = balance(&port, folder)?;
                (Upstream::UrlInHttp2(url(&front), None), vec![balancer, server])
            }
            way => {
                let (group, port) = listening()?;
                let url = url(&port);
                let upstream = match way {
                    Way::Sessions => Upstream::UrlIn(url, IN_FRONT[0]),
                    Way::Http2 => Upstream::UrlInHttp2(url, None),
                    Way::Http2Sessions => Upstream::UrlInHttp2(url, Some(IN_FRONT[0])),
                    _ => Upstream::Url(url),
                };
                (upstream, vec![group])
            }
        };
        let config = gateway::configure(folder, &[(server.side.name, upstream)], Names::Bare, Pins::On)?;
        Ok((config, listening))
    }

    fn column(&self, server: Behind<'_>, clients: &[Side], place: &Result<Place, Failure>, folder: &Path) -> Column {
        let name = server.name();
        let cells = each(clients).map(|(client, revision)| {
            let transport = if matches!(place, Ok(Place::Line(_))) { Transport::Stdio } else { Transport::Http };
            let (front, behind) = (Era::of(revision), server.era());
            let plan = Plan::new((client.name, front), (server.side.name, behind), transport);
            let plan = match server.way {
                Way::Sessions if OWN_UPDATES.contains(&server.side.name) => plan.without_updates(server.side.name),
                _ => plan,
            };
            let outcome = match place {
                Ok(place) => one(client, revision, place, &plan, folder),
                Err(why) => Err(why.clone()),
            };
            Cell { name: format!("{} {revision} -> {name}", client.name), plan, outcome }
        });
        let cells = cells.collect();
        Column { name, cells }
    }
}

/// Starts haproxy before the server at a port. It speaks the version of HTTP that a connection begins with, and HTTP/1.1 with
/// the server.
fn balance(server: &str, folder: &Path) -> Result<(Group, String), Failure> {
    let (config, log) = (folder.with_extension("haproxy.cfg"), folder.with_extension("haproxy.log"));
    let written = RefCell::new(Ok(()));
    let start = |port: &str| {
        let text = format!(
            "defaults\n  mode http\n  timeout connect 5s\n  timeout client 120s\n  timeout server 120s\nfrontend front\n  \
             bind 127.0.0.1:{port}\n  default_backend back\nbackend back\n  server one 127.0.0.1:{server}\n"
        );
        *written.borrow_mut() = fs::write(&config, text).map_err(|e| format!("{}: {e}", config.display()));
        let mut haproxy = command(&debian::find("haproxy").unwrap_or_default().to_string_lossy());
        haproxy.args(["-db", "-f"]).arg(&config);
        haproxy
    };
    let started = serve(start, &log);
    written.into_inner().and(started)
}

/// Each client with each revision. A free choice is one of them.
fn each(clients: &[Side]) -> impl Iterator<Item = (&Side, &'static str)> {
    let offers = |client: &'static [&'static str]| client.iter().copied().filter(|offer| *offer != "auto");
    clients.iter().flat_map(move |client| offers(client.offers).map(move |offer| (client, offer)))
}

/// One client, from its start to its end.
fn one(client: &Side, revision: &str, place: &Place, plan: &Plan, folder: &Path) -> Result<(), Failure> {
    let (relay, target) = match place {
        Place::Port(port) => {
            let relay = relay_to(port)?;
            let target = vec!["http".to_owned(), url(&relay.port.to_string())];
            (Some(relay), target)
        }
        Place::Line(line) => (None, [vec!["stdio".to_owned()], line.clone()].concat()),
    };
    let arguments: Vec<&str> = std::iter::once(revision).chain(target.iter().map(String::as_str)).collect();
    let log = folder.join(format!("{}-{revision}.log", client.name));
    let mut program = client.programs.client(&arguments);
    let ended = Group::start(program.env(STEPS, plan.variable()), &log)
        .and_then(|group| group.wait(DEADLINE))
        .map(|status| status.success());
    let said = fs::read(&log).unwrap_or_default();
    match judge(ended, &String::from_utf8_lossy(&said), revision, &plan.steps) {
        Outcome::Failed { steps, why, .. } => Err(format!("{why}; done: {}; see {}", steps.join(" "), log.display())),
        _ => relay.map_or(Ok(()), |relay| seen(&relay, plan, revision)),
    }
}

/// Clients below each other, servers beside each other: the steps that are left out, and why.
fn table(sides: &[Side], columns: &[Column]) -> String {
    let head = columns.iter().map(|column| format!("{:<26}", column.name)).collect::<String>();
    let mut lines = vec![format!("{:<24}{head}", "through the gateway")];
    for (at, name) in each(sides).map(|(side, offer)| format!("{} {offer}", side.name)).enumerate() {
        let cells = columns.iter().map(|column| match column.cells.get(at) {
            Some(Cell { outcome: Ok(()), plan, .. }) => format!("{:<26}", steps::left_out(plan)),
            _ => format!("{:<26}", "FAILED"),
        });
        lines.push(format!("{name:<24}{}", cells.collect::<String>().trim_end()));
    }
    let plans = columns.iter().flat_map(|column| &column.cells).map(|cell| &cell.plan);
    let all = steps::STEPS.join(" ");
    format!("{}\n\nall: {all} {}\n{}", lines.join("\n"), steps::DELETE, not_offered(plans))
}

/// A command line through the gateway, and what has to be said on standard output and error.
struct Line {
    /// The server that has to be there.
    server: Server,
    words: &'static [&'static str],
    says: &'static [&'static str],
    tells: &'static [&'static str],
}

const fn line(
    server: Server,
    words: &'static [&'static str],
    says: &'static [&'static str],
    tells: &'static [&'static str],
) -> Line {
    Line { server, words, says, tells }
}

/// The servers behind one gateway.
pub(super) const BEHIND: [(&str, Server); 7] = [
    ("everything", Server::Everything),
    ("files", Server::Filesystem),
    ("memory", Server::Memory),
    ("time", Server::Time),
    ("git", Server::Git),
    ("fetch", Server::Fetch),
    ("fastmcp", Server::FastMcp),
];

const LINES: &[Line] = &[
    line(Server::Everything, &["list", "GATEWAY"], &["everything__echo(", "everything__args-prompt("], &[]),
    line(Server::Filesystem, &["list", "GATEWAY"], &["files__read_text_file("], &[]),
    line(Server::Memory, &["list", "GATEWAY"], &["memory__search_nodes("], &[]),
    line(Server::Fetch, &["list", "GATEWAY"], &["time__convert_time(", "git__git_log(", "fetch__fetch("], &[]),
    line(Server::FastMcp, &["list", "GATEWAY"], &["fastmcp__add(", "fastmcp__explain("], &[]),
    line(Server::Everything, &["call", "GATEWAY", "everything__echo", "message=hi"], &["Echo: hi"], &[]),
    line(
        Server::Filesystem,
        &["call", "GATEWAY", "files__read_text_file", "path=FILES/tides.txt"],
        &["Low water at six."],
        &[],
    ),
    line(Server::Memory, &["call", "GATEWAY", "memory__search_nodes", "query=programs"], &["Ada"], &[]),
    line(
        Server::Time,
        &["call", "GATEWAY", "time__convert_time", "source_timezone=UTC", "time=12:30", "target_timezone=Asia/Tokyo"],
        &["T21:30:00+09:00"],
        &[],
    ),
    line(
        Server::Git,
        &["call", "GATEWAY", "git__git_log", "repo_path=REPOSITORY", "max_count=1"],
        &["The first of all"],
        &[],
    ),
    line(Server::Fetch, &["call", "GATEWAY", "fetch__fetch", "url=PAGE"], &["High water at noon."], &[]),
    line(Server::FastMcp, &["call", "GATEWAY", "fastmcp__add", "a=20", "b=22"], &["42\n"], &[]),
    line(
        Server::Everything,
        &["call", "GATEWAY", "everything__trigger-long-running-operation", "duration=1", "steps=2", "-v"],
        &["Long running operation completed"],
        &["progress 1 of 2", "progress 2 of 2"],
    ),
    line(
        Server::FastMcp,
        &["call", "GATEWAY", "fastmcp__count", "to=2", "-v"],
        &["counted to 2"],
        &["progress 1 of 2 number 1", "progress 2 of 2"],
    ),
    line(
        Server::Everything,
        &[
            "call",
            "GATEWAY",
            "everything__trigger-elicitation-request",
            "--answer",
            "name=Ada",
            "--answer",
            "integer=7",
        ],
        &["- Name: Ada", "- Favorite Integer: 7"],
        // The gateway names the server that asks.
        &["everything: Please provide inputs"],
    ),
    line(
        Server::Everything,
        &["call", "GATEWAY", "everything__trigger-sampling-request", "prompt=Hello", "--sample", "Good morning."],
        &["\"text\": \"Good morning.\""],
        &["context: Hello"],
    ),
    line(
        Server::FastMcp,
        &["call", "GATEWAY", "fastmcp__interview", "--answer", "name=Ada", "--sample", "Crabs."],
        &["Ada reads: Crabs."],
        &["Who are you?", "Write a poem about you."],
    ),
    line(
        Server::Everything,
        &["read", "GATEWAY", "demo://resource/dynamic/text/1"],
        &["Resource 1: This is a plaintext resource"],
        &[],
    ),
    line(Server::FastMcp, &["read", "GATEWAY", "fastmcp://greeting/Ada"], &["Hello, Ada!"], &[]),
    line(
        Server::Everything,
        &["prompt", "GATEWAY", "everything__args-prompt", "city=Oslo"],
        &["user: What's weather in Oslo?"],
        &[],
    ),
    line(Server::FastMcp, &["prompt", "GATEWAY", "fastmcp__explain", "what=MCP"], &["user: Explain MCP, please."], &[]),
    line(
        Server::Everything,
        &["complete", "GATEWAY", "everything__completable-prompt", "department=E"],
        &["Engineering"],
        &[],
    ),
];

/// Command lines of both eras through one gateway before all servers.
pub(super) fn all_servers(programs: &Path, servers: &Servers, logs: &Path) -> Counts {
    let couplet = programs.join("couplet");
    let folder = logs.join("gateway");
    let there = BEHIND.iter().filter(|(_, server)| servers.there(*server).is_ok());
    let there: Vec<_> = there.map(|(id, server)| (*id, Upstream::Command(servers.line(*server)))).collect();
    let running = gateway::configure(&folder, &there, Names::Prefixed, Pins::On)
        .and_then(|config| serve(|port| gateway::serve(&couplet, &config, port), &folder.join("gateway.log")));
    let target = match &running {
        Ok((_, port)) => url(port),
        Err(why) => return Counts::told("all servers behind the gateway", Err(Missing::Broken(why.clone()))),
    };
    let ids: Vec<&str> = there.iter().map(|(id, _)| *id).collect();
    let names: Vec<String> = ids.iter().map(|id| format!("{id}__")).collect();
    if let Err(why) = listed(&couplet, &target, &names, &servers.state()) {
        return Counts::told("all servers behind the gateway", Err(Missing::Broken(why)));
    }
    // Each era has a thread, so that both are at work in the gateway at the same time.
    let run = |front: &'static str| {
        let lines = LINES.iter().map(|line| {
            let outcome = servers
                .there(line.server)
                .and_then(|()| through(line, front, &couplet, &target, servers).map_err(Missing::Broken));
            Counts::told(&format!("gateway in {front}: {}", line.words.join(" ")), outcome)
        });
        lines.fold(Counts::default(), Counts::add)
    };
    let run = &run;
    thread::scope(|scope| {
        let threads: Vec<_> = IN_FRONT.iter().map(|front| scope.spawn(move || run(front))).collect();
        let counts = threads.into_iter().map(|thread| thread.join().expect("a thread does not panic"));
        counts.fold(Counts::default(), Counts::add)
    })
}

/// Waits until tools with all these names are listed: the gateway does not wait for servers that are slow to start.
pub(super) fn listed(couplet: &Path, target: &str, names: &[String], state: &Path) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        let mut list = command(&text(couplet));
        list.args(["list", target, "tools"]).env("XDG_STATE_HOME", state);
        let said = capture(&mut list).unwrap_or_else(|why| why);
        let missing = names.iter().find(|name| !said.contains(*name));
        match missing {
            None => return Ok(()),
            Some(name) if started.elapsed() > START => return Err(format!("`{name}` is not listed:\n{said}")),
            Some(_) => thread::sleep(Duration::from_secs(1)),
        }
    }
}

fn through(line: &Line, front: &str, couplet: &Path, target: &str, servers: &Servers) -> Result<(), Failure> {
    let mut call = command(&text(couplet));
    call.args(line.words.iter().map(|word| servers.fill(&word.replace("GATEWAY", target))));
    call.args(["--revision", front, "--max-time", &DEADLINE.as_secs().to_string()]);
    let output = call.env("XDG_STATE_HOME", servers.state()).output().map_err(|e| e.to_string())?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let missing = line.says.iter().find(|words| !out.contains(**words));
    let missing = missing.or_else(|| line.tells.iter().find(|words| !err.contains(**words)));
    match missing {
        _ if !output.status.success() => Err(format!("{}\n{out}{err}", output.status)),
        Some(words) => Err(format!("`{words}` is not there:\n{out}{err}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_behind_the_gateway_is_used() {
        for (id, server) in BEHIND {
            let start = format!("{id}__");
            let uses = |line: &&Line| line.words.iter().chain(line.says).any(|word| word.starts_with(&start));
            assert!(LINES.iter().any(|line| line.server == server && uses(&line)), "{id}");
        }
    }

    #[test]
    fn a_table_has_a_row_for_each_client() {
        let programs = || Programs::new([PathBuf::from("client")], [PathBuf::from("server")]);
        let side = || Side { name: "couplet", offers: IN_FRONT, latest: "2026-07-28", programs: programs() };
        let cell = |outcome| Cell { name: String::new(), plan: Plan::default(), outcome };
        let shown = table(
            &[side()],
            &[Column { name: "couplet".to_owned(), cells: vec![cell(Ok(())), cell(Err("it ended".to_owned()))] }],
        );
        assert!(shown.contains("couplet 2025-11-25      all\ncouplet 2026-07-28      FAILED\n"), "{shown}");
    }
}
