//! `couplet bench`: how long a server takes to answer, at rates that do not wait for it.

mod load;
mod plot;
mod svg;
mod table;

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use serde_json::json;

use self::load::{Ask, Load, Measured};
use super::list::unknown;
use crate::{
    arguments::{Schema, collect},
    exit::{Exit, Failure},
    output::{Output, text},
    show,
    target::{Heard, Opening, Session, TargetArgs, builder},
};

/// What to measure.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// The tool to call again and again; without it, the server is asked for its tools
    tool: Option<String>,
    /// The arguments of the tool, as for `couplet call`
    arguments: Vec<String>,
    /// Requests per second; several, with commas, are measured one after the other. Without it, what the server can do
    /// is found out first
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', value_parser = rate)]
    rate: Vec<f64>,
    /// How many seconds each rate is kept up
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    seconds: Duration,
    /// How many connections; of a command, so many are started
    #[arg(short, long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1000))]
    connections: u16,
    /// Writes a picture of the results
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Shares of what a server can do, at which it is measured if nothing else is said.
const SHARES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];
/// How long it is looked for what a server can do.
const SEARCH: Duration = Duration::from_secs(2);

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = Opening::of(&args.target)?;
    let others = opening.clone();
    Session::with(opening, output, async |session: &Session| {
        let ask = what(session, &args).await?;
        let mut clients = vec![session.client.clone()];
        for _ in 1..args.connections {
            let heard = Arc::new(Heard::new(output));
            let connected = builder(&others.connection)?.connect(others.target.connector(heard.clone())).await;
            clients.push(connected.map_err(|error| heard.explain(error.into()))?);
        }
        let load = Load::new(clients, ask);
        let measured = measure(&load, &args, session, output).await;
        load.close().await;
        measured
    })
    .await
}

/// What is asked: a tool that was named, or the list of tools, which harms nobody.
async fn what(session: &Session, args: &Args) -> Result<Ask, Failure> {
    let Some(name) = &args.tool else { return Ok(Ask::List) };
    let tools = session.client.tools().await?;
    let Some(tool) = tools.iter().find(|tool| tool.name == *name) else {
        return Err(unknown("tool", name, tools.iter().map(|tool| tool.name.as_str())));
    };
    let arguments = collect(&args.arguments, &Schema::new(&tool.input_schema))?;
    let arguments = serde_json::to_value(&arguments).map_err(|e| Failure::usage(e.to_string()))?;
    Ok(Ask::Call { name: name.clone(), arguments })
}

async fn measure(load: &Load, args: &Args, session: &Session, output: &Arc<Output>) -> Result<(), Failure> {
    // What fails at once is told at once.
    load.once().await?;
    let heading = format!("{} · {}", show::heading(session.client.server(), &session.target, output.out), load.ask);
    if !output.json {
        let connections = text::count(load.connections(), "connection", "connections");
        output.print(&format!("{heading} · {connections}\n\n"))?;
    }
    let rates = match args.rate.is_empty() {
        false => args.rate.clone(),
        true => {
            let limit = load.limit(SEARCH).await?;
            if !output.json {
                let line = format!("at most about {}/s, {} at a time", table::number(limit), load::AT_A_TIME);
                output.note(&output.err.faint(line));
            }
            SHARES.iter().map(|share| rounded(limit * share)).collect()
        }
    };
    let mut rows = Vec::new();
    for rate in rates {
        output.note(&output.err.faint(format!("{}/s for {} s …", table::number(rate), args.seconds.as_secs_f64())));
        let row = load.at(rate, args.seconds).await;
        if output.json {
            output.print(&show::json_line(&to_json(&row))?)?;
        }
        rows.push(row);
    }
    if !output.json {
        output.print(&table::text(&rows, output.out))?;
        output.print(&format!("\n{}", plot::text(&rows)))?;
    }
    if let Some(file) = &args.svg {
        let title = format!("{} · {}", text::line(&session.target.to_string()), load.ask);
        fs::write(file, svg::picture(&rows, &title)).map_err(|e| Failure::file(file, "written", &e))?;
    }
    verdict(&rows)
}

/// Wrong answers are a failure, however fast they are.
fn verdict(rows: &[Measured]) -> Result<(), Failure> {
    let failed: u64 = rows.iter().map(|row| row.failed).sum();
    match rows.iter().find_map(|row| row.first_failure.as_ref()) {
        None => Ok(()),
        Some(why) => {
            let what = text::count(usize::try_from(failed).unwrap_or(usize::MAX), "request", "requests");
            Err(Failure::new(Exit::Refused, format!("{what} failed, the first one with: {why}")))
        }
    }
}

fn to_json(row: &Measured) -> serde_json::Value {
    let ms = |share: f64| row.at(share).as_secs_f64() * 1e3;
    json!({
        "rate": row.rate, "answeredPerSecond": row.per_second(), "sent": row.sent, "answered": row.answered(),
        "failed": row.failed, "unsent": row.unsent, "firstFailure": row.first_failure,
        "p50Ms": ms(0.5), "p90Ms": ms(0.9), "p99Ms": ms(0.99), "p999Ms": ms(0.999), "maxMs": ms(1.0),
    })
}

/// Two digits are enough.
fn rounded(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.max(1.0).log10().floor() - 1.0);
    ((rate / unit).round() * unit).max(1.0)
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 && rate <= 1e6 => Ok(rate),
        _ => Err("not a number of requests per second, up to a million".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    let time = Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())?;
    if time.is_zero() { Err("nothing can be measured in no time".to_owned()) } else { Ok(time) }
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
        assert!(super::seconds("0").is_err() && super::seconds("-1").is_err());
    }
}
