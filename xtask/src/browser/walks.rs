//! Walks through panels with Couplet's own server, from the first click to what is written elsewhere.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, Stdio},
};

use serde_json::json;

use super::{
    cdp::Page,
    hostile::Scenario,
    inspector::{Inspector, program},
    oauth::Guarded,
    scratch, sound,
    stage::{Hooks, choose, connected, place, press, tool, type_into},
    subject::OURS,
};
use crate::{Failure, workspace};

pub(super) const SCENARIOS: &[Scenario] = &[
    ("roots of the client", roots),
    ("the files of a skill", skill),
    ("a saved call is run by `couplet test`", collection),
    ("the timeline is filtered and exported", timeline),
    ("a request is copied, and run elsewhere", copies),
    ("a server behind a tap", tap),
    ("several targets", several),
    ("tasks and subscriptions after a reload", reloads),
    ("a server of a host", known),
    ("a login, step by step", login),
];

/// An inspector of the server, connected and open.
fn open(page: &Page) -> Result<Inspector, Failure> {
    let inspector = Inspector::start(&[&program("couplet-everything")?])?;
    page.go(&inspector.url)?;
    connected(page)?;
    page.until("document.querySelector('[data-panel=tools] .nav-count')")?;
    Ok(inspector)
}

/// Calls the tool that echoes, and waits for its result.
fn echo(page: &Page) -> Result<(), Failure> {
    tool(page, OURS.echo.tool, OURS.echo.arguments)?;
    press(page, "main .actions", "Call")?;
    says(page, OURS.echo.says)
}

fn says(page: &Page, text: &str) -> Result<(), Failure> {
    page.until(&format!("document.querySelector('.side').innerText.includes({})", json!(text))).map(drop)
}

fn roots(page: &Page) -> Result<(), Failure> {
    let inspector = open(page)?;
    page.eval("location.hash = '#/client'")?;
    type_into(page, "document.querySelector('input[aria-label=\"URI of a new root\"]')", "file:///srv/extra")?;
    type_into(page, "document.querySelector('input[aria-label=\"Name of a new root\"]')", "the extra one")?;
    press(page, "main", "add")?;
    page.until("[...document.querySelectorAll('main code')].some((one) => one.textContent === 'file:///srv/extra')")?;
    place(page, "tools", "get-roots-list")?;
    press(page, "main .actions", "Call")?;
    says(page, "file:///srv/extra")?;
    page.eval("location.hash = '#/client'")?;
    page.until("(() => { const one = document.querySelector('main [aria-label=\"remove file:///srv/extra\"]'); one?.click(); return !!one; })()")?;
    page.until("!document.querySelector('main').innerText.includes('file:///srv/extra')")?;
    sound::check(&page.record(), &[&inspector])
}

fn skill(page: &Page) -> Result<(), Failure> {
    let inspector = open(page)?;
    page.eval("location.hash = '#/skills'")?;
    page.until("(() => { const row = document.querySelector('.list-slot .vrow'); row?.click(); return !!row; })()")?;
    page.until("document.querySelector('.side .badge')?.textContent === '✓ digest'")?;
    let files = page.until("document.querySelectorAll('main .grid .link').length")?.as_u64().unwrap_or_default();
    for file in 0..files {
        let link = format!("document.querySelectorAll('main .grid .link')[{file}]");
        page.eval(&format!("document.querySelector('.side').firstElementChild.replaceChildren(); {link}.click()"))?;
        page.until(&format!(
            "document.querySelector('.side .badge')?.textContent === '✓ digest' && \
             document.querySelector('.side h2')?.textContent === {link}.textContent.split('/').at(-1)"
        ))?;
    }
    match files {
        2.. => sound::check(&page.record(), &[&inspector]),
        _ => Err(format!("the skill has {files} files")),
    }
}

fn collection(page: &Page) -> Result<(), Failure> {
    let inspector = open(page)?;
    echo(page)?;
    press(page, "main .actions", "save")?;
    page.eval("location.hash = '#/collection'")?;
    let hooks = Hooks::install(page)?;
    press(page, "main", "export")?;
    let text = hooks.saved()?;
    if !text.contains(OURS.echo.says) {
        return Err(format!("the last result is not expected: {text}"));
    }
    let file = scratch()?.join("collection.toml");
    fs::write(&file, text).map_err(|e| e.to_string())?;
    workspace::capture(workspace::command(&program("couplet")?).arg("test").arg(&file))?;
    sound::check(&page.record(), &[&inspector])
}

fn timeline(page: &Page) -> Result<(), Failure> {
    let inspector = open(page)?;
    echo(page)?;
    let filter = "document.querySelector('.timeline .filter')";
    for (text, is) in [
        ("method:tools/call dir:out", "→"),
        ("method:tools/call dir:in", "←"),
        ("method:tools/call rev:2026-07-28", "tools/call"),
    ] {
        type_into(page, filter, text)?;
        page.until(&format!(
            "(() => {{ const rows = [...document.querySelectorAll('.timeline .t-row')]; \
             return rows.length && rows.every((row) => row.innerText.includes('tools/call') && row.innerText.includes({})); }})()",
            json!(is)
        ))
        .map_err(|why| format!("{text}: {why}"))?;
    }
    type_into(page, filter, "rev:2024-11-05")?;
    page.until("document.querySelectorAll('.timeline .t-row').length === 0")?;
    page.eval(&format!("{filter}.value = ''; {filter}.dispatchEvent(new Event('input'))"))?;
    let hooks = Hooks::install(page)?;
    let menu = "document.querySelector('select[aria-label=\"Export the timeline\"]')";
    for (format, has) in [
        ("JSON lines", "\"direction\":\"client-to-server\""),
        ("HAR", "\"_messages\""),
        ("Markdown", "→ `tools/call`"),
        ("SVG", "<svg"),
    ] {
        choose(page, menu, format)?;
        let text = hooks.saved()?;
        if !text.contains(has) {
            return Err(format!("{format} has no `{has}`"));
        }
    }
    sound::check(&page.record(), &[&inspector])
}

fn copies(page: &Page) -> Result<(), Failure> {
    let inspector = open(page)?;
    let couplet = program("couplet")?;
    let path = std::path::Path::new(&couplet).parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let revisions = "document.querySelector('select[aria-label=\"Protocol revision\"]')";
    for revision in ["2025-11-25", "2026-07-28"] {
        choose(page, revisions, revision)?;
        page.until(&format!(
            "{revisions}?.value === {} && document.querySelector('.state-text')?.textContent === 'connected'",
            json!(revision)
        ))?;
        echo(page)?;
        let hooks = Hooks::install(page)?;
        for format in ["couplet call", "curl"] {
            choose(page, "document.querySelector('main select[aria-label=\"Copy the request\"]')", format)?;
            let text = hooks.copied()?;
            // This server would answer without a handshake, too; others would not.
            let opens = format == "curl" && revision == "2025-11-25";
            if opens && !text.contains(r#""protocolVersion":"2025-11-25""#) {
                return Err(format!("{format} in {revision} opens no session: {text}"));
            }
            let mut shell = workspace::command("sh");
            let before = std::env::var("PATH").unwrap_or_default();
            shell.args(["-c", &text]).env("PATH", format!("{path}:{before}"));
            let said =
                workspace::capture(&mut shell).map_err(|why| format!("{format} in {revision}: {why}\n{text}"))?;
            if !said.contains(OURS.echo.says) {
                return Err(format!("{format} in {revision} has another result: {said}\n{text}"));
            }
        }
    }
    sound::check(&page.record(), &[&inspector])
}

fn tap(page: &Page) -> Result<(), Failure> {
    let (couplet, server) = (program("couplet")?, program("couplet-everything")?);
    let script = "echo tapped and ready >&2; exec \"$0\"";
    let mut command = workspace::command(&couplet);
    command.args(["inspect", "--tap", "--", "sh", "-c", script, &server]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("`{couplet}` cannot be started: {e}"))?;
    let outcome = tapped(page, &mut child);
    let _ = child.kill();
    let _ = child.wait();
    outcome
}

/// What the page shows while a host talks to the server.
fn tapped(page: &Page, child: &mut Child) -> Result<(), Failure> {
    let mut said = child.stderr.take().map(BufReader::new).into_iter().flat_map(BufRead::lines).map_while(Result::ok);
    let url = said.find_map(|line| line.strip_prefix("inspector: ").map(str::to_owned));
    page.go(&url.ok_or("the tap printed no URL")?)?;
    let mut input = child.stdin.take().ok_or("there is no input")?;
    let mut output = child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": { "name": "host", "version": "1" } } });
    for (message, is_answered) in [
        (hello, true),
        (json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }), false),
        (json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }), true),
    ] {
        writeln!(input, "{message}").map_err(|e| e.to_string())?;
        if is_answered {
            output.next().ok_or("the server did not answer")?.map_err(|e| e.to_string())?;
        }
    }
    page.until("Number(document.querySelector('[data-panel=tools] .nav-count')?.textContent) > 10")?;
    page.until("[...document.querySelectorAll('.timeline .t-rev')].some((one) => one.textContent === '2025-06-18')")?;
    page.eval("location.hash = '#/logs'")?;
    page.until("document.querySelector('main').innerText.includes('tapped and ready')")?;
    drop(input);
    page.until("document.querySelector('.state-text').textContent === 'the server has ended' || document.querySelector('.timeline').innerText.includes('the server has ended')").map(drop)
}

fn several(page: &Page) -> Result<(), Failure> {
    let server = program("couplet-everything")?;
    let inspector = Inspector::start(&[&server, &format!("\"{}\" browser serve many", program("xtask")?)])?;
    page.go(&inspector.url)?;
    connected(page)?;
    let menu = "document.querySelector('select[aria-label=Target]')";
    page.until(&format!("{menu}.options.length === 3"))?;
    for (target, has) in [("t2", "tool-7"), ("t1", "echo")] {
        choose(page, menu, target)?;
        connected(page)?;
        page.eval("location.hash = '#/tools'")?;
        page.until(&format!(
            "[...document.querySelectorAll('.list-slot .vrow')].some((row) => row.innerText.startsWith({}))",
            json!(has)
        ))?;
    }
    // An address names its target.
    page.eval("location.hash = '#/@t2/tools/tool-7'")?;
    page.until(&format!("{menu}.value === 't2' && document.querySelector('main h2')?.textContent === 'tool-7'"))?;
    page.until(
        "[...document.querySelectorAll('.nav a')].every((one) => one.getAttribute('href').startsWith('#/@t2/'))",
    )?;
    choose(page, menu, "t1")?;
    page.until("location.hash.startsWith('#/@t1/')")?;
    // The timeline has the messages of one of them, or of all.
    let count =
        "Number(document.querySelector('.timeline-head [role=status]').textContent.split(' ')[0].replaceAll(',', ''))";
    let one = page.until(count)?.as_u64().unwrap_or_default();
    page.eval("[...document.querySelectorAll('.timeline-head label')].find((one) => one.textContent === 'all targets').click()")?;
    page.until(&format!("{count} > {one}"))?;
    sound::check(&page.record(), &[&inspector])
}

/// Two hosts have different servers of one name; each is connected to from the form.
fn known(page: &Page) -> Result<(), Failure> {
    let home = scratch()?.join("home");
    let (server, other) = (program("couplet-everything")?, program("xtask")?);
    for (file, entry) in [
        (".cursor/mcp.json", json!({ "command": server })),
        (".gemini/settings.json", json!({ "command": other, "args": ["browser", "serve", "many"] })),
    ] {
        let file = home.join(file);
        fs::create_dir_all(file.parent().unwrap_or(&home)).map_err(|e| e.to_string())?;
        fs::write(&file, json!({ "mcpServers": { "twin": entry } }).to_string()).map_err(|e| e.to_string())?;
    }
    let home = home.display().to_string();
    let inspector = Inspector::start_with(&[], &[("HOME", &home), ("XDG_CONFIG_HOME", &format!("{home}/.config"))])?;
    page.go(&inspector.url)?;
    page.until("document.getElementById('connect-to')")?;
    for (row, has) in [("cursor", "echo"), ("gemini", "tool-7")] {
        page.eval("location.hash = '#/connect'")?;
        page.until(&format!(
            "(() => {{ const row = [...document.querySelectorAll('main .grid tr')].find((one) => one.innerText.includes({})); \
             row?.querySelector('.link').click(); return !!row; }})()",
            json!(row)
        ))?;
        page.until("/overview$/.test(location.hash)")?;
        connected(page)?;
        page.eval("location.hash = '#/tools'")?;
        page.until(&format!(
            "[...document.querySelectorAll('.list-slot .vrow')].some((row) => row.innerText.startsWith({}))",
            json!(has)
        ))
        .map_err(|why| format!("{row}: {why}"))?;
    }
    sound::check(&page.record(), &[&inspector])
}

/// A task that runs, and a subscription, are there after a reload.
fn reloads(page: &Page) -> Result<(), Failure> {
    let inspector = open(page)?;
    let uri = OURS.resource.template.replace("{resourceId}", "9");
    place(page, "resources", &uri)?;
    press(page, "main .actions", "subscribe")?;
    let button = |label: &str| {
        format!("[...document.querySelectorAll('main .actions button')].some((one) => one.textContent === '{label}')")
    };
    page.until(&button("unsubscribe"))?;
    page.call("Page.reload", &json!({}))?;
    connected(page)?;
    page.until(&button("unsubscribe"))?;
    tool(page, "simulate-research-query", r#"{"topic":"tides","ambiguous":true}"#)?;
    press(page, "main .actions", "as task")?;
    page.until("(() => { const link = document.querySelector('.side .result a'); link?.click(); return !!link; })()")?;
    let status = "document.querySelector('main .heading .badge')?.textContent";
    page.until(&format!("['working', 'input_required'].includes({status})"))?;
    let place = page.eval("location.hash")?;
    page.call("Page.reload", &json!({}))?;
    connected(page)?;
    page.until(&format!("location.hash === {place} && ['working', 'input_required'].includes({status})"))?;
    press(page, "main .actions", "cancel")?;
    page.until(&format!("{status} === 'cancelled'"))?;
    sound::check(&page.record(), &[&inspector])
}

/// The steps appear while they happen.
fn login(page: &Page) -> Result<(), Failure> {
    let server = Guarded::start()?;
    let state = scratch()?.join("login-state").display().to_string();
    let arguments = [&*server.url(), "--revision", "2025-11-25"];
    let inspector = Inspector::start_with(&arguments, &[("XDG_STATE_HOME", &state)])?;
    page.go(&inspector.url)?;
    page.until("(() => { const link = [...document.querySelectorAll('.bar a')].find((one) => one.textContent === 'log in'); link?.click(); return !!link; })()")?;
    let steps = "[...document.querySelectorAll('main .steps strong')].map((one) => one.textContent)";
    let begun = [
        "Challenge",
        "Protected resource metadata",
        "Authorization server metadata",
        "Client registration",
        "Authorization request",
    ];
    page.until(&format!("{}.every((one) => {steps}.includes(one))", json!(begun)))?;
    page.until("document.querySelector('main .steps').innerText.includes('resource_metadata=')")?;
    let login = inspector.get("/api/targets/t1/login")?;
    let login: serde_json::Value = serde_json::from_str(&login.body).map_err(|e| e.to_string())?;
    server.visit(login["authorize_url"].as_str().unwrap_or_default())?;
    page.until(&format!("['Redirect', 'Token request'].every((one) => {steps}.includes(one))"))?;
    connected(page)?;
    match page.eval("document.body.innerText.includes('a-secret')")? {
        serde_json::Value::Bool(false) => sound::check(&page.record(), &[&inspector]),
        _ => Err("the page shows a secret".to_owned()),
    }
}
