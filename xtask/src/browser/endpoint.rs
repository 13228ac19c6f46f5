//! The page beside an endpoint (`Endpoint::inspector`), as an application mounts it.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use super::{
    cdp::Page,
    hostile::Scenario,
    inspector::program,
    scratch, sound,
    stage::{Hooks, choose, connected, place, press},
};
use crate::{Failure, workspace};

pub(super) const SCENARIOS: &[Scenario] = &[("a tool is called, and its messages are exported", calls)];

/// The example of an endpoint within axum. It ends when its input does.
struct Example {
    child: Child,
    url: String,
}

impl Example {
    fn start() -> Result<Self, Failure> {
        let mut command = workspace::command(&program("example-axum")?);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("the example cannot be started: {e}"))?;
        let mut said =
            child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines).map_while(Result::ok);
        match said.find_map(|line| line.strip_prefix("inspector: ").map(str::to_owned)) {
            Some(url) => Ok(Self { child, url }),
            None => Err("the example did not print the URL of its page".to_owned()),
        }
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn calls(page: &Page) -> Result<(), Failure> {
    let example = Example::start()?;
    page.go(&example.url)?;
    connected(page)?;
    page.until("document.querySelector('[data-panel=tools] .nav-count')?.textContent === '1'")?;
    place(page, "tools", "whoami")?;
    press(page, "main .actions", "Call")?;
    page.until("document.querySelector('.side').innerText.includes('a guest')")?;
    // There is no feed: the page has its own messages, in the revision that it speaks.
    page.until("(() => { const row = [...document.querySelectorAll('.timeline .t-row')].find((one) => one.innerText.includes('tools/call')); row?.click(); return !!row; })()")?;
    page.until("document.querySelector('main .facts')?.innerText.includes('2026-07-28')")?;
    // What needs `couplet inspect` is not offered.
    let offered = page.eval("[...document.querySelectorAll('.nav [data-panel]')].map((one) => one.dataset.panel)")?;
    for panel in ["lint", "compare", "load", "login", "connect"] {
        if offered.as_array().is_some_and(|offered| offered.iter().any(|one| one == panel)) {
            return Err(format!("`{panel}` is offered beside an endpoint"));
        }
    }
    let hooks = Hooks::install(page)?;
    choose(page, "document.querySelector('select[aria-label=\"Export the timeline\"]')", "JSON lines")?;
    let file = scratch()?.join("endpoint.jsonl");
    fs::write(&file, hooks.saved()?).map_err(|e| e.to_string())?;
    workspace::capture(workspace::command(&program("couplet")?).arg("validate").arg(&file))?;
    // A reload finds the server again.
    page.call("Page.reload", &serde_json::json!({}))?;
    connected(page)?;
    let origin = example.url.split("/mcp").next().unwrap_or_default();
    sound::check_at(&page.record(), origin)
}
