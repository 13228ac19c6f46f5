//! The clients of other SDKs while replicas of the server come and go.
//!
//! Every client repeats its steps. With `interop-replica` these are those of the suite and two more: the server writes the ids
//! of calls into a file when it executes them, and the client says `answered <id>` for each call that it has the answer of.
//! With `couplet-everything` they are those of a script (`replicas.rs`). In the end a client prints a line with four numbers:
//! `rounds`, `clients`, `failures`, `timeouts`.

use std::{
    collections::HashMap,
    fmt, fs, io,
    path::Path,
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use super::{
    Bench, STEPS,
    foreign::SCRIPT,
    peer::{PEERS, Programs},
    relay::Relay,
    report::{Counts, Role, Row, Transport, complaint},
    seen,
    steps::{Plan, not_offered},
    url,
};
use crate::{Failure, group::Group};

/// How long a client may take beyond the time that it was given: it ends with the step that it is in.
const MORE: Duration = Duration::from_secs(45);

/// How many errors of a client a replica that is killed can cause: of the call under way, of the end of the session, and of
/// those that reach the replica before the load balancer knows.
const ERRORS: usize = 4;

/// What happens to the replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// Nothing.
    None,
    /// They are ended with SIGTERM, one after the other. Sessions go on.
    Rolled,
    /// They are killed, too. Clients begin again after an error, though their sessions go on.
    Killed,
}

impl Disturbance {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "healthy",
            Self::Rolled => "rolled",
            Self::Killed => "killed",
        }
    }

    /// What a client is told: whether it begins again after an error.
    const fn mode(self) -> &'static str {
        match self {
            Self::None | Self::Rolled => "rolled",
            Self::Killed => "killed",
        }
    }
}

/// Where the server is, and for how long clients go on at least.
pub(crate) struct Place<'a> {
    pub(crate) port: u16,
    pub(crate) logs: &'a Path,
    pub(crate) server: Replicas<'a>,
    pub(crate) seconds: u64,
}

/// What the replicas are.
#[derive(Clone, Copy)]
pub(crate) enum Replicas<'a> {
    /// `interop-replica`, with the file in which executions are counted.
    Counting(&'a Path),
    /// `couplet-everything`, with the script for its clients.
    Everything(&'a Path),
}

/// A client that has ended: its row, and what it said.
type Ended = (Row, Result<String, Failure>);

/// Runs the clients of all SDKs at the same time. `disturb` is called until all have ended, and returns whether it has
/// killed a replica.
pub(crate) fn clients_while(
    place: &Place<'_>,
    disturbance: Disturbance,
    disturb: impl FnMut() -> Result<bool, Failure>,
) -> Result<Counts, Failure> {
    let bench = Bench::at(place.port, place.logs)?;
    let mut counts = Counts::default();
    let mut clients = Vec::new();
    for peer in PEERS.iter().filter(|peer| !peer.client.is_empty()) {
        match (peer.install)(&bench.folder.join(peer.name)) {
            Ok(programs) => clients.push((peer, programs)),
            Err(missing) => counts = counts + Counts::told(peer.name, Err(missing)),
        }
    }
    let rows = clients.iter().flat_map(|(peer, programs)| {
        peer.client.iter().filter(|offer| place.server.takes(offer)).map(move |offer| {
            let mut row = Row::new(peer, Role::Client, Transport::Http, offer);
            row.plan = place.server.plan(row.plan);
            (row, programs)
        })
    });
    let (ended, losses) = at_once(place, disturbance, rows, disturb)?;
    let ledger = match place.server {
        Replicas::Counting(path) => Some(Ledger::read(path)?),
        Replicas::Everything(_) => None,
    };
    println!("{}", not_offered(ended.iter().map(|(row, _)| &row.plan)));
    for (row, said) in ended {
        let end = said.and_then(|said| {
            let end = judge(&said, row.expected(), disturbance, losses)?;
            ledger.as_ref().map_or(end.is_strict(disturbance), |ledger| ledger.answered(&said))?;
            Ok(end.to_string())
        });
        let name = format!("{} {} {}", disturbance.name(), row.peer().name, row.offer);
        counts = counts + Counts::noted(&name, end);
    }
    let executions =
        ledger.map(|ledger| Counts::noted(&format!("{} executions", disturbance.name()), ledger.verdict()));
    Ok(counts + executions.unwrap_or_default())
}

impl Replicas<'_> {
    /// Whether clients run with this offer. A free choice is tried by the suite.
    fn takes(self, offer: &str) -> bool {
        matches!(self, Self::Counting(_)) || offer != "auto"
    }

    fn plan(self, plan: Plan) -> Plan {
        match self {
            Self::Counting(_) => plan.counted(),
            Self::Everything(_) => plan,
        }
    }
}

/// Runs clients while replicas are disturbed; returns the number of replicas that were killed, too.
fn at_once<'a>(
    place: &Place<'_>,
    disturbance: Disturbance,
    rows: impl Iterator<Item = (Row, &'a Programs)>,
    mut disturb: impl FnMut() -> Result<bool, Failure>,
) -> Result<(Vec<Ended>, usize), Failure> {
    thread::scope(|scope| {
        let start = |(row, programs)| scope.spawn(move || one(place, disturbance, row, programs));
        let threads: Vec<_> = rows.map(start).collect();
        let mut losses = 0;
        while !threads.iter().all(ScopedJoinHandle::is_finished) {
            losses += usize::from(disturb()?);
        }
        Ok((threads.into_iter().map(|thread| thread.join().expect("a thread does not panic")).collect(), losses))
    })
}

/// Runs one client to its end.
fn one(place: &Place<'_>, disturbance: Disturbance, row: Row, programs: &Programs) -> Ended {
    let name = format!("{}-{}", disturbance.name(), row.name());
    let relay = match Relay::start(place.port) {
        Ok(relay) => relay,
        Err(why) => return (row, Err(why)),
    };
    let (url, seconds) = (url(&relay.port.to_string()), place.seconds.to_string());
    let log = place.logs.join(format!("{name}.log"));
    let mut client = programs.client(&[row.offer, disturbance.mode(), &url, &name, &seconds]);
    client.env(STEPS, row.plan.variable());
    if let Replicas::Everything(script) = place.server {
        client.env(SCRIPT, script);
    }
    let limit = Duration::from_secs(place.seconds) + MORE;
    let ended = Group::start(&mut client, &log).and_then(|group| group.wait(limit));
    let said = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    let said = match ended {
        Ok(status) if status.success() && disturbance == Disturbance::None => {
            seen(&relay, &row.plan, row.expected()).map(|()| said)
        }
        Ok(status) if status.success() => sessions(&relay, &row, disturbance, &said).map(|()| said),
        Ok(_) => Err(complaint(&said)),
        Err(why) => Err(why),
    };
    (row, said)
}

/// Checks what became of the sessions of a client whose server was disturbed. None is lost, each can be deleted in the end, and
/// a client wants to delete all but those that it has left because of an error.
fn sessions(relay: &Relay, row: &Row, disturbance: Disturbance, said: &str) -> Result<(), Failure> {
    relay.none_lost()?;
    let errors = if disturbance == Disturbance::Killed { End::parse(said)?.failures } else { 0 };
    let left = relay.left();
    if row.plan.deletes && left > errors {
        return Err(format!("{left} sessions were left without a DELETE, after {errors} errors"));
    }
    relay.delete_rest(row.expected())?;
    relay.unknown(row.expected()).map(drop)
}

/// What a client has seen.
#[derive(Debug, PartialEq, Eq)]
struct End {
    rounds: usize,
    clients: usize,
    failures: usize,
    timeouts: usize,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, clients, failures, timeouts } = self;
        write!(f, "{rounds} rounds, {clients} clients, {failures} definite errors, {timeouts} lost answers")
    }
}

impl End {
    /// Reads the last line of a client.
    fn parse(said: &str) -> Result<Self, Failure> {
        let last = after(said, "rounds ").next_back().ok_or("it did not say what it did")?;
        let numbers: Vec<usize> = last.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [rounds, clients, failures, timeouts] = numbers[..] else { return Err(format!("it said `{last}`")) };
        Ok(Self { rounds, clients, failures, timeouts })
    }

    /// No step fails unless replicas are killed.
    fn is_strict(&self, disturbance: Disturbance) -> Result<(), Failure> {
        match disturbance {
            Disturbance::None | Disturbance::Rolled if self.failures > 0 => Err(format!("steps have failed: {self}")),
            _ => Ok(()),
        }
    }
}

/// The lines that begin with a word, without it.
fn after<'a>(said: &'a str, start: &'static str) -> impl DoubleEndedIterator<Item = &'a str> {
    said.lines().filter_map(move |line| line.trim_end().strip_prefix(start))
}

/// What a client may have seen. It has one call under way at a time, so each replica that is killed can take one answer with
/// it. A replica that is rolled takes none. A client begins again only because of an error, and errors have a cause.
fn judge(said: &str, expected: &str, disturbance: Disturbance, losses: usize) -> Result<End, Failure> {
    if let Some(other) = after(said, "revision ").find(|revision| *revision != expected) {
        return Err(format!("the revision is {other}, not {expected}"));
    }
    let end = End::parse(said)?;
    let &End { rounds, clients, failures, timeouts } = &end;
    match disturbance {
        _ if rounds == 0 => Err("it did not get through all steps once".to_owned()),
        Disturbance::None | Disturbance::Rolled if clients > 1 => Err(format!("{clients} clients: a session was lost")),
        _ if timeouts > losses => Err(format!("{timeouts} answers were lost, and {losses} replicas killed")),
        Disturbance::Killed if clients > 1 + failures => Err(format!("{clients} clients after {failures} errors")),
        Disturbance::Killed => few(failures, losses).map(|()| end),
        Disturbance::None | Disturbance::Rolled => Ok(end),
    }
}

/// Checks that there are no more errors than replicas that were killed can cause.
pub(crate) fn few(errors: usize, losses: usize) -> Result<(), Failure> {
    match errors <= ERRORS * losses {
        true => Ok(()),
        false => Err(format!("{errors} definite errors, and {losses} replicas killed")),
    }
}

/// What the tools of all replicas have written down.
struct Ledger {
    begun: HashMap<String, usize>,
    wrong: Option<String>,
}

impl Ledger {
    fn read(path: &Path) -> Result<Self, Failure> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Self::parse(&text)),
            // Nothing was executed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::parse("")),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    fn parse(text: &str) -> Self {
        let mut begun = HashMap::new();
        for id in text.lines().filter_map(|line| line.strip_prefix("begin ")) {
            *begun.entry(id.to_owned()).or_default() += 1;
        }
        Self { begun, wrong: text.lines().find(|line| line.starts_with("wrong ")).map(str::to_owned) }
    }

    /// How often a call was executed.
    fn begun(&self, id: &str) -> usize {
        self.begun.get(id).copied().unwrap_or_default()
    }

    /// Whether the calls that a client has answers of were executed, each once.
    fn answered(&self, said: &str) -> Result<(), Failure> {
        let mut answered = said.lines().filter_map(|line| line.trim_end().strip_prefix("answered "));
        match answered.find(|id| self.begun(id) != 1) {
            Some(lost) => Err(format!("`{lost}` was answered and executed {} times", self.begun(lost))),
            None => Ok(()),
        }
    }

    /// Whether no call was executed twice, and every server got what was sent.
    fn verdict(&self) -> Result<String, Failure> {
        match (self.begun.iter().find(|(_, count)| **count > 1), &self.wrong) {
            (Some((id, count)), _) => Err(format!("`{id}` was executed {count} times")),
            (None, Some(wrong)) => Err(wrong.clone()),
            (None, None) => Ok(format!("{} calls, none twice", self.begun.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_passes_only_with_all_that_it_should_say() {
        let judged = |said: &str, how| judge(said, "2025-11-25", how, 2);
        let all = "revision 2025-11-25\nanswered a-1\nrounds 3 clients 1 failures 2 timeouts 0\n";
        let end = judged(all, Disturbance::Rolled).unwrap();
        assert_eq!(end.to_string(), "3 rounds, 1 clients, 2 definite errors, 0 lost answers");
        assert!(end.is_strict(Disturbance::Rolled).is_err() && end.is_strict(Disturbance::Killed).is_ok());
        let most = all.replace("clients 1 failures 2", "clients 3 failures 8");
        assert!(judged(&most, Disturbance::Killed).is_ok(), "{most}");
        for (said, how, complaint) in [
            (all.replace("11-25", "06-18"), Disturbance::Rolled, "the revision is 2025-06-18, not 2025-11-25"),
            (all.replace("rounds", "ronds"), Disturbance::Rolled, "it did not say what it did"),
            (all.replace("rounds 3", "rounds 0"), Disturbance::Killed, "it did not get through all steps once"),
            (all.replace("clients 1", "clients 2"), Disturbance::Rolled, "2 clients: a session was lost"),
            (all.replace("clients 1", "clients 4"), Disturbance::Killed, "4 clients after 2 errors"),
            (all.replace("failures 2", "failures 9"), Disturbance::Killed, "9 definite errors, and 2 replicas killed"),
            (
                all.replace("timeouts 0", "timeouts 3"),
                Disturbance::Killed,
                "3 answers were lost, and 2 replicas killed",
            ),
        ] {
            assert_eq!(judged(&said, how), Err(complaint.to_owned()), "{said}");
        }
    }

    #[test]
    fn an_answer_needs_one_execution() {
        let ledger = Ledger::parse("begin a-1\nbegin a-2\nbegin a-3\nbegin a-3\n");
        assert_eq!(ledger.answered("answered a-1\nanswered a-2\n"), Ok(()));
        for (said, complaint) in [
            ("answered a-3\n", "`a-3` was answered and executed 2 times"),
            ("answered a-1\nanswered a-4\n", "`a-4` was answered and executed 0 times"),
        ] {
            assert_eq!(ledger.answered(said), Err(complaint.to_owned()));
        }
    }

    #[test]
    fn an_execution_too_many_is_found() {
        assert_eq!(Ledger::parse("begin a-1\nbegin a-2\n").verdict().as_deref(), Ok("2 calls, none twice"));
        assert_eq!(Ledger::parse("begin a-1\nbegin a-1\n").verdict(), Err("`a-1` was executed 2 times".to_owned()));
        assert_eq!(Ledger::parse("wrong the id: 1, not 2\n").verdict(), Err("wrong the id: 1, not 2".to_owned()));
    }
}
