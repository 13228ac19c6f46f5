//! The rate at which sessions open, and the memory of an open session.

use std::time::Instant;

use serde_json::{Value, json};

use crate::{
    Failure,
    args::Args,
    http::{Response, Url, open_session},
    process::{Reading, resident_kb},
};

pub(crate) fn run(args: &Args) -> Result<Value, Failure> {
    let url = Url::new(args.needed("url")?)?;
    let (count, pid): (usize, u32) = (args.number("count", 1000)?, args.number("pid", 0)?);
    let mut stream = url.connect()?;
    let mut response = Response::default();
    // The first session includes one-time allocations.
    open_session(&url, &mut stream, &mut response)?;
    let (before, reading, started) = (resident_kb(pid), Reading::now(pid), Instant::now());
    let mut with_id = 0;
    for _ in 0..count {
        with_id += usize::from(open_session(&url, &mut stream, &mut response)?.is_some());
    }
    let (seconds, spent, after) = (started.elapsed().as_secs_f64(), reading.since(pid), resident_kb(pid));
    Ok(json!({
        "sessions": count, "with_id": with_id, "per_s": count as f64 / seconds,
        "cpu_us": spent.cpu * 1e6 / count as f64, "rss_before_kb": before, "rss_after_kb": after,
        "kb_per_session": (after as f64 - before as f64) / count as f64,
    }))
}
