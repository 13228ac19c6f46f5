//! Instructions of our gateway per call, counted by callgrind, beside those of a client and a server without it.

use std::fs;

use serde_json::json;

use super::{
    super::{
        instructions::collected,
        kits::Kit,
        results::Results,
        rig::{Listening, Rig},
    },
    calls::LIVES,
    gateways::couplet_under,
};
use crate::{
    Failure,
    gateway::{Names, Pins, Upstream},
    workspace::{capture, command},
};

/// The lengths of two runs whose difference is taken: what happens once drops out.
const SHORT: usize = 100;
const LONG: usize = 600;

/// How many functions are named.
const FUNCTIONS: usize = 40;

/// The program whose instructions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    /// The server, which is called directly.
    Server,
    /// Our client, which calls the server directly.
    Client,
    /// The gateway, which starts the server, or connects to it.
    Gateway(Behind, Pins),
}

/// How the gateway reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    Stdio,
    Http,
    Http2,
}

impl Counted {
    const GATEWAYS: [Self; 6] = [
        Self::Gateway(Behind::Stdio, Pins::On),
        Self::Gateway(Behind::Http, Pins::On),
        Self::Gateway(Behind::Http2, Pins::On),
        Self::Gateway(Behind::Stdio, Pins::Audited),
        Self::Gateway(Behind::Http, Pins::Audited),
        Self::Gateway(Behind::Http2, Pins::Audited),
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Gateway(Behind::Stdio, Pins::Audited) => "stdio behind, audited",
            Self::Gateway(Behind::Http, Pins::Audited) => "HTTP behind, audited",
            Self::Gateway(Behind::Http2, Pins::Audited) => "HTTP/2 behind, audited",
            Self::Gateway(Behind::Stdio, _) => "stdio behind",
            Self::Gateway(Behind::Http, _) => "HTTP behind",
            Self::Gateway(Behind::Http2, _) => "HTTP/2 behind",
        }
    }
}

/// Counts, and leaves a profile of each case beside the results.
pub(super) fn run(rig: &Rig, results: &mut Results) {
    if capture(command("valgrind").arg("--version")).is_err() {
        println!("bench: not counted: valgrind is not here");
        return;
    }
    for life in LIVES {
        for counted in [Counted::Server, Counted::Client].into_iter().chain(Counted::GATEWAYS) {
            let measured = each(rig, counted, life).map(|each| json!({ "instructions": each }));
            results.add("instructions", life, counted.name(), measured);
        }
    }
}

/// The instructions that the gateway adds to a call without an audit log, by case.
pub(super) fn added(rig: &Rig) -> Result<Vec<(String, u64)>, Failure> {
    let [stdio, http, ..] = Counted::GATEWAYS;
    let cases = LIVES.iter().flat_map(|life| [(*life, stdio), (*life, http)]);
    let named = |life: &str, counted: Counted| format!("gateway {life}, {}", counted.name());
    cases.map(|(life, counted)| Ok((named(life, counted), each(rig, counted, life)?))).collect()
}

/// Instructions per call.
fn each(rig: &Rig, counted: Counted, life: &str) -> Result<u64, Failure> {
    let total = |count| count_run(rig, counted, life, count);
    let short = total(SHORT)?;
    let each = total(LONG)?.saturating_sub(short) / (LONG - SHORT) as u64;
    println!("{life} {}: {each} instructions per call", counted.name());
    Ok(each)
}

/// All instructions of a program in a run of so many calls.
fn count_run(rig: &Rig, counted: Counted, life: &str, count: usize) -> Result<u64, Failure> {
    let profile =
        rig.folders.bench.join(format!("gateway-{life}-{}.callgrind", counted.name().replace([' ', ',', '/'], "-")));
    let log = rig.folders.bench.join("callgrind.log");
    let out = format!("--callgrind-out-file={}", profile.display());
    let log_file = format!("--log-file={}", log.display());
    let callgrind = ["valgrind", "--tool=callgrind", &out, &log_file].map(str::to_owned);
    let server = rig.folders.server(Kit::Couplet);
    let count = count.to_string();
    // A program that is still busy when the next request comes does less than one that has gone to sleep.
    let words = ["--life", life, "--count", &count, "--think", "0.003"];
    if counted == Counted::Client {
        let server = rig.listen(server, "http {port}")?;
        let client = [&callgrind[1..], &[rig.folders.our("bench-client")]].concat();
        let options: Vec<&str> = client.iter().map(String::as_str).chain(words).chain(["--url", &server.url]).collect();
        rig.client(callgrind[0].clone(), &options, &[])?;
    } else {
        let (listening, _behind) = start(rig, counted, &callgrind, &server)?;
        let load = ["http", "--conns", "1", "--url", &listening.url, "--case", "echo", "--warm", "0", "--limit", "120"];
        let result = rig.load(&[&load[..], &words[..]].concat(), &[])?;
        if result["errors"].as_u64() != Some(0) {
            return Err(format!("wrong answers: {}", result["first_error"]));
        }
        listening.end()?;
    }
    let text = fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    annotate(&profile.to_string_lossy());
    collected(&text).ok_or_else(|| format!("callgrind counted nothing: {text}"))
}

/// Starts the program that is counted, and the server behind it if that listens.
fn start(
    rig: &Rig,
    counted: Counted,
    callgrind: &[String],
    server: &[String],
) -> Result<(Listening, Option<Listening>), Failure> {
    let gateway = |upstream, pins| couplet_under(rig, callgrind, &[("bench", upstream)], Names::Bare, pins);
    match counted {
        Counted::Server | Counted::Client => Ok((rig.listen([callgrind, server].concat(), "http {port}")?, None)),
        Counted::Gateway(Behind::Stdio, pins) => {
            let words = server.iter().cloned().chain(["stdio".to_owned()]).collect();
            Ok((gateway(Upstream::Command(words), pins)?.gateway, None))
        }
        Counted::Gateway(behind, pins) => {
            let server = rig.listen(server.to_vec(), "http {port}")?;
            let url = server.url.clone();
            let upstream = if behind == Behind::Http2 { Upstream::UrlInHttp2(url, None) } else { Upstream::Url(url) };
            Ok((gateway(upstream, pins)?.gateway, Some(server)))
        }
    }
}

/// Writes the functions with the most instructions beside a profile.
fn annotate(profile: &str) {
    let functions = capture(command("callgrind_annotate").arg("--auto=no").arg(profile)).unwrap_or_default();
    let lines = functions.lines().filter(|line| line.contains('%')).take(FUNCTIONS);
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    let _ = fs::write(format!("{profile}.txt"), text);
}
