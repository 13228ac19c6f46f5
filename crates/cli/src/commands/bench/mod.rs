//! `couplet bench`: measures the latency and throughput of a server.

mod ask;
mod interrupt;
mod load;
mod measured;
mod once;
mod plot;
mod svg;
mod table;

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use couplet::{Client, tasks::ClientTasks};
use serde_json::json;

pub(crate) use once::{Order, measure};

use self::{
    ask::Ask,
    interrupt::Interrupt,
    load::Load,
    measured::{Measured, Pace},
};
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
    show,
    target::{Diagnostics, Stop, Target, TargetArgs, builder},
};

/// The arguments of `couplet bench`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Tool to call; without it, tools/list is requested
    tool: Option<String>,
    /// Arguments of the tool, as in `couplet call`
    arguments: Vec<String>,
    /// Send ping requests instead
    #[arg(long, conflicts_with = "tool")]
    ping: bool,
    /// Open loop: requests per second, sent on schedule with at most 1000 in flight. Comma-separated rates are measured
    /// in turn (default: fractions of the capacity, which is measured first)
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', value_parser = rate)]
    rate: Vec<f64>,
    /// Closed loop: number of requests in flight. Comma-separated numbers are measured in turn
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', conflicts_with = "rate", value_parser = in_flight)]
    in_flight: Vec<usize>,
    /// Duration of each measurement
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    seconds: Duration,
    /// Number of connections (for a command, processes)
    #[arg(short, long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1000))]
    connections: u16,
    /// Write a chart of the results to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// The default rates, as fractions of the capacity.
const SHARES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];
/// The duration of the capacity measurement, and its number of requests in flight.
const SEARCH: (Duration, usize) = (Duration::from_secs(2), 32);

/// A benchmark.
struct Bench<'a> {
    args: &'a Args,
    target: Target,
    load: Load,
    output: &'a Output,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    if let Some(file) = &args.svg {
        writable(file)?;
    }
    let target = args.target.find()?;
    let diagnostics = Arc::new(Diagnostics::new(output));
    // The client has no elicitation or sampling: a tool that needs them fails.
    let opening = async {
        let clients = connect(&args, &target, &diagnostics, output).await?;
        let ask = match &args.tool {
            Some(name) => Ask::call(&clients[0], name, &args.arguments).await?,
            None if args.ping => Ask::Ping,
            None => Ask::List,
        };
        let load = Load { clients, ask: Arc::new(ask), most: load::MOST, grace: load::GRACE, calls: None, watch: None };
        // A request that fails at once is reported before anything is measured.
        load.once().await?;
        Ok(load)
    };
    let stop = Stop::new(args.target.connection.max_time);
    let load = stop.unless(Box::pin(opening)).await.map_err(|failure| target.explain(diagnostics.explain(failure)))?;
    let bench = Bench { args: &args, target, load, output };
    let outcome = stop.in_time(Box::pin(bench.measure())).await.map_err(|failure| diagnostics.explain(failure));
    bench.load.close().await;
    outcome
}

async fn connect(
    args: &Args,
    target: &Target,
    diagnostics: &Arc<Diagnostics>,
    output: &Arc<Output>,
) -> Result<Vec<Client>, Failure> {
    let mut clients = Vec::new();
    for _ in 0..args.connections {
        let client = builder(&args.target.connection)?.extension(ClientTasks::new());
        clients.push(client.connect(target.connector(diagnostics.clone(), output)?).await?);
    }
    Ok(clients)
}

impl Bench<'_> {
    async fn measure(&self) -> Result<(), Failure> {
        let server = self.load.clients[0].server();
        if !self.output.json {
            let connections = text::count(self.load.clients.len(), "connection", "connections");
            let heading = show::heading(server, &self.target, self.output.out);
            self.output.print(&format!("{heading} · {} · {connections}\n\n", self.load.ask))?;
        }
        let mut interrupt = Interrupt::new().await;
        let rows = self.rows(&mut interrupt).await;
        if interrupt.is_pressed() && self.output.err.terminal {
            // The terminal shows ^C; begin a new line.
            self.output.note("");
        }
        self.print(&rows, interrupt.is_pressed())?;
        match interrupt.is_pressed() {
            true => Err(Failure::silent(Exit::Interrupted)),
            false => verdict(&rows),
        }
    }

    /// Runs the measurements in turn, until one is hopeless or a signal comes.
    async fn rows(&self, interrupt: &mut Interrupt) -> Vec<Measured> {
        let (rates, numbers) = (&self.args.rate, &self.args.in_flight);
        let rates = rates.iter().map(|rate| Pace::Rate(*rate));
        let mut paces: Vec<Pace> = rates.chain(numbers.iter().map(|number| Pace::InFlight(*number))).collect();
        if paces.is_empty() {
            let found = self.one(Pace::InFlight(SEARCH.1), SEARCH.0.min(self.args.seconds), interrupt).await;
            if found.failed > 0 || found.answered() == 0 || interrupt.is_pressed() {
                return vec![found];
            }
            let most = found.per_second();
            self.note(&format!("capacity: about {}/s", table::number(rounded(most))));
            paces = SHARES.iter().map(|share| Pace::Rate(rounded(most * share))).collect();
        }
        let mut rows: Vec<Measured> = Vec::new();
        for pace in paces {
            let row = self.one(pace, self.args.seconds, interrupt).await;
            let is_last = row.is_hopeless() || interrupt.is_pressed();
            rows.push(row);
            if is_last {
                break;
            }
        }
        rows
    }

    async fn one(&self, pace: Pace, time: Duration, interrupt: &mut Interrupt) -> Measured {
        self.note(&format!("{pace} for {} s …", time.as_secs_f64()));
        self.load.run(pace, time, interrupt).await
    }

    fn note(&self, line: &str) {
        if !self.output.json {
            self.output.note(&self.output.err.faint(line));
        }
    }

    fn print(&self, rows: &[Measured], interrupted: bool) -> Result<(), Failure> {
        if self.output.json {
            let server = self.load.clients[0].server();
            self.output.print(&show::json_line(&json!({
                "server": server.info, "revision": server.version.as_str(), "ask": self.load.ask.to_string(),
                "connections": self.load.clients.len(), "interrupted": interrupted,
                "runs": rows.iter().map(Measured::to_json).collect::<Vec<_>>(),
            }))?)?;
        } else {
            let (table, plot) = (table::text(rows, self.output.out), plot::text(rows));
            self.output.print(&format!("{table}\n{plot}"))?;
        }
        if let Some(file) = &self.args.svg {
            let title = format!("{} · {}", text::line(&self.target.to_string()), self.load.ask);
            fs::write(file, svg::picture(rows, &title)).map_err(|e| Failure::file(file, "written", &e))?;
        }
        Ok(())
    }
}

/// Fails if any request failed.
fn verdict(rows: &[Measured]) -> Result<(), Failure> {
    let failed: u64 = rows.iter().map(|row| row.failed).sum();
    let sent: u64 = rows.iter().map(|row| row.sent).sum();
    let first = rows.iter().find_map(|row| row.failures.first().zip(row.first_exit));
    let Some(((why, _), exit)) = first else { return Ok(()) };
    let count = |number: u64| table::number(number as f64);
    let failure = Failure::new(exit, format!("{} of {} requests failed: {why}", count(failed), count(sent)));
    Err(match rows.last().is_some_and(Measured::is_hopeless) {
        true => failure.detail(format!("stopped after {} consecutive failures", Measured::HOPELESS)),
        false => failure,
    })
}

/// Checks that the chart can be written, before anything is measured.
fn writable(file: &Path) -> Result<(), Failure> {
    let opened = OpenOptions::new().create(true).append(true).open(file);
    opened.map(drop).map_err(|e| Failure::file(file, "written", &e))
}

/// Rounds to two digits.
fn rounded(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.max(1.0).log10().floor() - 1.0);
    ((rate / unit).round() * unit).max(1.0)
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 && rate <= 1e6 => Ok(rate),
        _ => Err("expected requests per second, up to 1000000".to_owned()),
    }
}

fn in_flight(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(number @ 1..=10_000) => Ok(number),
        _ => Err("expected a number of requests from 1 to 10000".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    const MOST: Duration = Duration::from_secs(24 * 3600);
    let seconds = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if time.is_zero() => Err("must be more than 0".to_owned()),
        Ok(time) if time <= MOST => Ok(time),
        Ok(_) => Err("must be at most 86400 (a day)".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_round() {
        for (rate, want) in [(0.2, 1.0), (7.4, 7.4), (123.0, 120.0), (41_870.0, 42_000.0), (99_600.0, 100_000.0)] {
            assert!((rounded(rate) - want).abs() < 1e-6, "{rate}: {}", rounded(rate));
        }
        assert!(super::rate("0").is_err() && super::rate("x").is_err() && super::rate("1e7").is_err());
        assert_eq!(super::rate("1.5"), Ok(1.5));
        assert!(super::seconds("0").is_err() && super::seconds("-1").is_err() && super::seconds("1e6").is_err());
        assert!(super::in_flight("0").is_err() && super::in_flight("16") == Ok(16));
    }
}
