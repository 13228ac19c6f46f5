//! The results as tables, with what a gateway adds to a direct call.

use super::super::{results::Results, tables::number};

/// The revisions, as the load generator calls them, and their dates.
const LIVES: [(&str, &str); 2] = [("2025", "2025-11-25"), ("2026", "2026-07-28")];

/// All tables, as Markdown.
pub(super) fn render(results: &Results) -> String {
    let mut out = instructions(results);
    for (life, date) in LIVES {
        out += &calls(results, life, date);
    }
    out += &machine(results);
    for (life, date) in LIVES {
        out += &big(results, life, date);
    }
    for (life, date) in LIVES {
        out += &list(results, life, date);
    }
    out + &fleet(results)
}

/// A value of the best round of a measurement, by one of its values.
fn value(results: &Results, suite: &str, case: &str, name: &str, by: &str, key: &str) -> Option<f64> {
    results.best(suite, case, name, by)?.values[key].as_f64()
}

fn shown(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), number)
}

fn instructions(results: &Results) -> String {
    let mut rows = String::new();
    for (life, date) in LIVES {
        let count = |name: &str| value(results, "instructions", life, name, "instructions", "instructions");
        let (Some(client), Some(server)) = (count("client"), count("server")) else { continue };
        for behind in ["stdio", "HTTP", "HTTP/2"] {
            let hop = |name: &str| {
                count(name).map_or("– | – | –".to_owned(), |hop| {
                    format!("{} | {:.2} | {:.2}", number(hop), hop / (client + server), hop / server)
                })
            };
            let (plain, audited) = (hop(&format!("{behind} behind")), hop(&format!("{behind} behind, audited")));
            rows += &format!("| {date} | {} | {} | {behind} | {plain} | {audited} |\n", number(client), number(server));
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "\nInstructions of a small call over HTTP: those of our client and of the server without a gateway, and those that \
         the gateway adds with the server behind it, also with a policy and an audit log. They are compared with those of \
         client and server together, and with those of the server alone.\n\n\
         | revision | client | server | behind | gateway | × both | × server | audited | × both | × server |\n\
         |---|---:|---:|---|---:|---:|---:|---:|---:|---:|\n{rows}"
    )
}

fn calls(results: &Results, life: &str, date: &str) -> String {
    let (one, many) = (format!("{life}, 1 sessions"), format!("{life}, 32 sessions"));
    let names = results.names("calls", &one);
    if names.is_empty() {
        return String::new();
    }
    let direct = value(results, "calls", &many, "direct", "cpu_us", "rps");
    let busy = value(results, "calls", &many, "direct", "cpu_us", "cpu_us");
    let client = value(results, "client", life, "direct", "cpu_us", "cpu_us");
    let server = value(results, "calls", &one, "direct", "cpu_us", "cpu_us");
    let both = client.zip(server).map(|(client, server)| client + server);
    let mut out = format!(
        "\nA small call, {date}; processor time is that of the gateway alone (of the server, where there is none), and is \
         compared with that of our client and the server without a gateway ({} µs together). Calls per second of processor \
         time are those of the gateway alone; calls per second are those of the gateway and the server on one processor, and \
         both are compared with those of the server alone.\n\n\
         | | CPU µs, 1 session | × both | median µs | CPU µs, 32 sessions | of direct | calls/s | of direct |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
        shown(both)
    );
    for name in names {
        let at = |case: &str, key: &str| value(results, "calls", case, name, "cpu_us", key);
        let rps = at(&many, "rps");
        let (share, per_cpu) = (percent(rps, direct), percent(busy, at(&many, "cpu_us")));
        let own = at(&one, "cpu_us").filter(|_| name != "direct");
        let times = own.zip(both).map_or("–".to_owned(), |(own, both)| format!("{:.2}", own / both));
        out += &format!(
            "| {name} | {} | {times} | {} | {} | {per_cpu} | {} | {share} |\n",
            shown(at(&one, "cpu_us")),
            shown(at(&one, "p50_us")),
            shown(at(&many, "cpu_us")),
            shown(rps),
        );
    }
    out
}

fn percent(own: Option<f64>, direct: Option<f64>) -> String {
    own.zip(direct).map_or("–".to_owned(), |(own, direct)| format!("{:.0} %", own / direct * 100.0))
}

fn machine(results: &Results) -> String {
    let names = results.names("machine", LIVES[0].0);
    if names.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\nA small call of 32 sessions on the whole machine: our client, the gateway and the server on any processor, all \
         of them busy.\n\n| | {0}, calls/s | of direct | {1}, calls/s | of direct |\n|---|---:|---:|---:|---:|\n",
        LIVES[0].1, LIVES[1].1
    );
    for name in names {
        let columns = LIVES.map(|(life, _)| {
            let rps = |name: &str| value(results, "machine", life, name, "us_per_call", "rps");
            format!("{} | {}", shown(rps(name)), percent(rps(name), rps("direct")))
        });
        out += &format!("| {name} | {} |\n", columns.join(" | "));
    }
    out
}

fn big(results: &Results, life: &str, date: &str) -> String {
    let names = results.names("big", life);
    if names.is_empty() {
        return String::new();
    }
    let direct = value(results, "big", life, "direct", "p50_us", "p50_us");
    let mut out = format!(
        "\nA result of 1 MB, {date}, one session; memory is what the gateway grew by over small calls.\n\n\
         | | median ms | added ms | CPU ms | grown MB |\n|---|---:|---:|---:|---:|\n"
    );
    for name in names {
        let at = |key: &str| value(results, "big", life, name, "p50_us", key).map(|value| value / 1e3);
        let added = at("p50_us").zip(direct).map(|(own, direct)| own - direct / 1e3);
        out += &format!(
            "| {name} | {} | {} | {} | {} |\n",
            shown(at("p50_us")),
            shown(added),
            shown(at("cpu_us")),
            shown(at("grown_kb"))
        );
    }
    out
}

fn list(results: &Results, life: &str, date: &str) -> String {
    let names = results.names("list", life);
    if names.is_empty() {
        return String::new();
    }
    let mut out =
        format!("\n`tools/list` of 1,000 tools, {date}, one session.\n\n| | CPU µs | median µs |\n|---|---:|---:|\n");
    for name in names {
        let at = |key: &str| shown(value(results, "list", life, name, "cpu_us", key));
        out += &format!("| {name} | {} | {} |\n", at("cpu_us"), at("p50_us"));
    }
    out
}

fn fleet(results: &Results) -> String {
    let names = results.names("fleet", "2026");
    if names.is_empty() {
        return String::new();
    }
    let mut out = "\nTen servers of which one is down, one hangs, one writes junk without an end and one ends at its \
                   start, 2026-07-28; calls go to a sound one on 8 connections.\n\n\
                   | | to listen ms | first list ms | list ms | call, median µs | 99 % µs | CPU µs | resident MB |\n\
                   |---|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for name in names {
        let at = |key: &str| value(results, "fleet", "2026", name, "p99_us", key);
        let row =
            ["start_ms", "cold_ms", "warm_ms", "p50_us", "p99_us", "cpu_us"].map(|key| shown(at(key))).join(" | ");
        out += &format!("| {name} | {row} | {} |\n", shown(at("rss_kb").map(|kb| kb / 1e3)));
    }
    out
}
