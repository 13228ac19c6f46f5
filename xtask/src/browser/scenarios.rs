//! What a user does on the page, and what must be seen then.

use std::fs;

use serde_json::json;

use super::{
    cdp::Page,
    inspector::{Inspector, program},
    scratch,
};
use crate::Failure;

/// A name, and the steps.
pub(super) type Scenario = (&'static str, fn(&mut Page) -> Result<(), Failure>);

pub(super) const SCENARIOS: &[Scenario] = &[
    ("tools are listed and called, and the timeline has the messages", calls),
    ("the state is kept over a reload", reloads),
    ("each panel opens without an error", panels),
    ("a form elicitation is answered, in both eras", elicits),
    ("a call shows its progress and is cancelled", cancels),
    ("a sampling request is answered by hand", samples),
    ("a prompt is completed and previewed", prompts),
    ("a resource is read and subscribed to", resources),
    ("a call runs as a task", runs_task),
    ("the view of an app is shown in its sandbox", views),
    ("the level of log messages is chosen", logs),
    ("a load is measured", loads),
    ("the server is linted", lints),
    ("a request is compared in all revisions", compares),
    ("a recording is opened", records),
    ("nothing of a hostile server runs", hostile),
    ("a server that dies is shown so", dies),
    ("without a target there is a form", starts_empty),
];

/// The panels that a connected target has.
pub(super) const PANELS: &[&str] = &[
    "overview",
    "tools",
    "resources",
    "prompts",
    "tasks",
    "logs",
    "skills",
    "lint",
    "compare",
    "load",
    "collection",
    "client",
    "login",
    "connect",
    "help",
    "messages",
];

/// Opens the page of an inspector, and waits until its target is connected.
pub(super) fn open(page: &mut Page, inspector: &Inspector) -> Result<(), Failure> {
    page.go(&inspector.url)?;
    connected(page)
}

fn connected(page: &mut Page) -> Result<(), Failure> {
    page.until("document.querySelector('.state-text')?.textContent.includes('connected')")
}

/// The text of the page, as JavaScript.
const TEXT: &str = "document.body.innerText";

pub(super) fn everything() -> Result<Inspector, Failure> {
    Inspector::start(&[&program("couplet-everything")?])
}

/// Goes to a tool, and sets its arguments as JSON.
pub(super) fn tool(page: &mut Page, name: &str, arguments: &serde_json::Value) -> Result<(), Failure> {
    page.eval(&format!("location.hash = '#/tools/{name}'"))?;
    page.until(&format!("document.querySelector('main h2')?.textContent === {}", json!(name)))?;
    let text = json!(arguments.to_string());
    page.eval(&format!(
        "(() => {{ const area = document.querySelector('main .json-text'); area.value = {text}; \
         area.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
    ))?;
    Ok(())
}

/// Presses the button with a text, in a part of the page.
pub(super) fn press(page: &mut Page, part: &str, label: &str) -> Result<(), Failure> {
    let label = json!(label);
    let find = format!(
        "[...document.querySelectorAll('{part} button')].find((one) => one.textContent.trim() === {label} && !one.disabled)"
    );
    page.until(&format!("!!{find}"))?;
    page.eval(&format!("{find}.click()")).map(drop)
}

fn calls(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    page.until("!location.href.includes('token')")?;
    tool(page, "echo", &json!({ "message": "spoken by the browser" }))?;
    press(page, "main .actions", "Call")?;
    page.until("document.querySelector('.side').innerText.includes('Echo: spoken by the browser')")?;
    page.until(
        "[...document.querySelectorAll('.timeline .t-row')].some((row) => row.innerText.includes('tools/call'))",
    )?;
    page.eval("location.hash = '#/tools/get-sum'")?;
    page.until("document.querySelector('main h2')?.textContent === 'get-sum'").map(drop)
}

fn reloads(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    tool(page, "echo", &json!({ "message": "a draft" }))?;
    page.call("Page.reload", &json!({}))?;
    connected(page)?;
    page.until("location.hash === '#/tools/echo'")?;
    page.until("document.querySelector('main .json-text')?.value.includes('a draft')")
}

fn panels(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    for panel in PANELS {
        page.eval(&format!("location.hash = '#/{panel}'"))?;
        page.until(&format!("location.hash === '#/{panel}' && document.querySelector('main').innerText.trim()"))
            .map_err(|why| format!("{panel}: {why}"))?;
    }
    Ok(())
}

fn elicits(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    for revision in ["2026-07-28", "2025-11-25"] {
        page.eval(&format!(
            "(() => {{ const menu = document.querySelector('select[aria-label=\"Protocol revision\"]'); \
             menu.value = '{revision}'; menu.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
        ))?;
        page.until(&format!(
            "document.querySelector('.state-text')?.textContent.includes('connected') && \
                             document.querySelector('select[aria-label=\"Protocol revision\"]').value === '{revision}'"
        ))?;
        tool(page, "trigger-elicitation-request", &json!({}))?;
        press(page, "main .actions", "Call")?;
        press(page, "body", "Decline")?;
        page.until("document.querySelector('.side').innerText.toLowerCase().includes('declin')")?;
    }
    Ok(())
}

fn cancels(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    tool(page, "trigger-long-running-operation", &json!({ "duration": 60, "steps": 300 }))?;
    press(page, "main .actions", "Call")?;
    page.until(
        "document.querySelector('main progress')?.value > 0 || document.querySelector('.live').innerText.match(/\\d/)",
    )?;
    page.eval(
        "[...document.querySelectorAll('button')].find((one) => /^cancel/i.test(one.textContent.trim())).click()",
    )?;
    page.until("document.querySelector('.side').innerText.toLowerCase().includes('cancel')")
}

fn samples(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    tool(page, "trigger-sampling-request", &json!({ "prompt": "Say something." }))?;
    press(page, "main .actions", "Call")?;
    page.until("[...document.querySelectorAll('button')].some((one) => one.textContent.trim() === 'Send')")?;
    page.eval(
        "(() => { const area = [...document.querySelectorAll('textarea')].findLast((one) => one.offsetParent); \
         area.value = 'written by hand'; area.dispatchEvent(new Event('input', { bubbles: true })); })()",
    )?;
    press(page, "body", "Send")?;
    page.until("document.querySelector('.side').innerText.includes('written by hand')")
}

/// Fills in the nth field of a form.
fn fill(page: &mut Page, number: usize, text: &str) -> Result<(), Failure> {
    let field =
        format!("document.querySelectorAll('main input:not([type=search]), main textarea:not(.json-text)')[{number}]");
    page.until(&format!("!!{field}"))?;
    let text = json!(text);
    page.eval(&format!(
        "(() => {{ const field = {field}; field.focus(); field.value = {text}; \
         field.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
    ))
    .map(drop)
}

fn prompts(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    page.eval("location.hash = '#/prompts/completable-prompt'")?;
    page.until("document.querySelector('main h2')?.textContent === 'completable-prompt'")?;
    fill(page, 0, "Eng")?;
    // The server is asked for completions, and they are offered.
    page.until("[...document.querySelectorAll('.timeline .t-row')].some((row) => row.innerText.includes('completion/complete'))")?;
    page.until("document.documentElement.outerHTML.includes('Engineering')")?;
    fill(page, 0, "Engineering")?;
    fill(page, 1, "Alice")?;
    press(page, "main .actions", "Get")?;
    page.until("document.querySelector('.side').innerText.includes('Alice')")
}

fn resources(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    page.eval("location.hash = '#/resources'")?;
    page.until("document.querySelectorAll('.list-slot .vrow').length > 1")?;
    page.eval(
        "location.hash = '#/resources/' + encodeURIComponent('demo://resource/static/document/architecture.md')",
    )?;
    page.until("document.querySelector('.side').innerText.trim().length > 20")?;
    press(page, "main .actions", "subscribe")?;
    press(page, "main .actions", "unsubscribe")
}

fn runs_task(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    tool(page, "simulate-research-query", &json!({ "topic": "browsers" }))?;
    press(page, "main .actions", "as task")?;
    page.eval("location.hash = '#/tasks'")?;
    page.until(&format!("/working|completed/.test({TEXT})"))
}

fn views(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    tool(page, "show-clock", &json!({}))?;
    press(page, "main .actions", "Call")?;
    page.until("document.querySelector('.side iframe')")?;
    page.until("document.querySelector('.side iframe').src.startsWith('http://127.0.0.1:')")?;
    match page.eval("new URL(document.querySelector('.side iframe').src).origin === location.origin")?.as_bool() {
        Some(false) => Ok(()),
        _ => Err("the view has the origin of the page".to_owned()),
    }
}

fn logs(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    page.eval("location.hash = '#/logs'")?;
    let menu = "document.querySelector('select[aria-label=\"Level that requests ask for\"]')";
    page.until(&format!("!!{menu}"))?;
    page.eval(&format!("{menu}.value = 'debug'; {menu}.dispatchEvent(new Event('change', {{ bubbles: true }}))"))?;
    tool(page, "trigger-long-running-operation", &json!({ "duration": 1, "steps": 2 }))?;
    press(page, "main .actions", "Call")?;
    page.until(
        "[...document.querySelectorAll('.timeline .t-row')].some((row) => row.innerText.includes('tools/call'))",
    )?;
    page.eval("location.hash = '#/logs'")?;
    page.until("document.querySelector('main').innerText.trim()")
}

fn loads(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    tool(page, "echo", &json!({ "message": "load" }))?;
    page.eval("location.hash = '#/load/echo'")?;
    page.until("location.hash === '#/load/echo' && document.querySelector('main button.primary')")?;
    page.eval("document.querySelector('main button.primary').click()")?;
    page.until("document.querySelector('main svg, .side svg') && document.body.innerText.includes('p99')")
}

fn lints(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    page.eval("location.hash = '#/lint'")?;
    page.until("document.querySelector('main button')")?;
    page.eval(
        "[...document.querySelectorAll('main button')].find((one) => /lint|check|run/i.test(one.textContent))?.click()",
    )?;
    page.until(&format!("{TEXT}.includes('argument-undescribed')"))
}

fn compares(page: &mut Page) -> Result<(), Failure> {
    let inspector = everything()?;
    open(page, &inspector)?;
    tool(page, "echo", &json!({ "message": "compared" }))?;
    page.eval("location.hash = '#/compare/echo'")?;
    page.until("location.hash === '#/compare/echo' && document.querySelector('main button')")?;
    page.eval("(document.querySelector('main button.primary') ?? document.querySelector('main button')).click()")?;
    page.until(&format!(
        "['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'].every((one) => {TEXT}.includes(one))"
    ))
}

/// A recorded session: a handshake, a list of tools, a call.
fn recording(tools: &serde_json::Value) -> String {
    let info = json!({ "name": "recorded", "version": "1" });
    let messages = [
        (
            "client-to-server",
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info } }),
        ),
        (
            "server-to-client",
            json!({ "jsonrpc": "2.0", "id": 0, "result": {
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": info } }),
        ),
        ("client-to-server", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
        ("client-to-server", json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })),
        ("server-to-client", json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools } })),
    ];
    let lines = messages.iter().enumerate().map(|(number, (direction, message))| {
        let time = format!("2026-11-17T12:00:0{number}.000000Z");
        json!({ "time": time, "direction": direction, "session": "s", "message": message }).to_string() + "\n"
    });
    lines.collect()
}

fn records(page: &mut Page) -> Result<(), Failure> {
    let file = scratch()?.join("session.jsonl");
    let tools = json!([{ "name": "recorded-tool", "inputSchema": { "type": "object" } }]);
    fs::write(&file, recording(&tools)).map_err(|e| e.to_string())?;
    let inspector = Inspector::start(&[&file.display().to_string()])?;
    page.go(&inspector.url)?;
    page.until("[...document.querySelectorAll('.timeline .t-row')].some((row) => row.innerText.includes('initialize'))")
}

fn hostile(page: &mut Page) -> Result<(), Failure> {
    let file = scratch()?.join("hostile.jsonl");
    let script =
        "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>\u{1b}[2J\u{202e}javascript:alert(1)";
    let long = "x".repeat(1 << 20);
    let mut tools: Vec<_> = (0..1000)
        .map(|number| {
            json!({ "name": format!("tool-{number}"), "description": script, "inputSchema": { "type": "object",
            "properties": { "<b>x</b>": { "type": "string", "description": script } } } })
        })
        .collect();
    tools.push(json!({ "name": "<img src=x onerror='window.ran=1'>", "title": script, "description": long,
        "inputSchema": { "type": "object" } }));
    fs::write(&file, recording(&json!(tools))).map_err(|e| e.to_string())?;
    let server = format!("{} replay {}", program("couplet")?, file.display());
    let inspector = Inspector::start(&[&server, "--revision", "2025-06-18"])?;
    open(page, &inspector)?;
    page.eval("location.hash = '#/tools/tool-7'")?;
    page.until("document.querySelector('main h2')?.textContent === 'tool-7'")?;
    page.until("document.querySelector('main').innerText.includes('<script>')")?;
    let name = "encodeURIComponent(\"<img src=x onerror='window.ran=1'>\")";
    page.eval(&format!("location.hash = '#/tools/' + {name}"))?;
    page.until("document.querySelector('main h2')?.textContent.includes('<img')")?;
    match page.eval("window.ran ?? document.querySelectorAll('main img, main script').length")?.as_u64() {
        Some(0) => Ok(()),
        other => Err(format!("something of the server has run or is in the page: {other:?}")),
    }
}

fn dies(page: &mut Page) -> Result<(), Failure> {
    let server = "sh -c 'echo these are my last words >&2; exit 3'";
    let inspector = Inspector::start(&[server])?;
    page.go(&inspector.url)?;
    page.until(&format!("{TEXT}.includes('these are my last words')"))?;
    page.until("!document.querySelector('.state-text').textContent.startsWith('connected')")
}

fn starts_empty(page: &mut Page) -> Result<(), Failure> {
    let inspector = Inspector::start(&[])?;
    page.go(&inspector.url)?;
    page.until("document.querySelector('main input')")
}
