//! Servers that mean harm or do not work well: the page stays usable, nothing of them runs, and the state is true.

pub(super) mod server;
mod text;

use std::{
    fs,
    time::{Duration, Instant},
};

use super::{
    cdp::Page,
    http::Site,
    inspector::{Inspector, program},
    scratch, sound,
    sound::CANARY,
    stage::{connected, place, press, type_into},
};
use crate::Failure;

/// The longest time until the page shows what was typed, on a machine that does much else.
const ANSWER: Duration = Duration::from_secs(3);
/// How often it is tried.
const ATTEMPTS: usize = 5;
/// The most elements of the page: what is not visible is not in it.
const ELEMENTS: u64 = 6000;

/// A name, and the steps.
pub(super) type Scenario = (&'static str, fn(&Page) -> Result<(), Failure>);

pub(super) const SCENARIOS: &[Scenario] = &[
    ("1,000 tools", many),
    ("results of 1 MB", large),
    ("1,000 notifications a second", flood),
    ("10,000 messages", messages),
    ("a server that dies and comes back", dies),
    ("a server that never starts", never_starts),
    ("an inspector that is killed", killed),
    ("text that means harm", harmful),
    ("a view that means harm", harmful_view),
    ("without a target there is a form", no_target),
];

/// An inspector of a server of this kind.
fn inspect(mode: &str) -> Result<Inspector, Failure> {
    Inspector::start(&[&format!("\"{}\" browser serve {mode}", program("xtask")?)])
}

/// Opens the page, and waits until the server is connected.
fn open(page: &Page, inspector: &Inspector) -> Result<(), Failure> {
    page.go(&inspector.url)?;
    connected(page)
}

/// Checks that what is typed is soon seen, and that the page is not too large.
fn usable(page: &Page) -> Result<(), Failure> {
    let mut fastest = Duration::MAX;
    // Other programs may hold up one attempt, but not all.
    for _ in 0..ATTEMPTS {
        fastest = fastest.min(typed(page)?);
        if fastest <= ANSWER {
            break;
        }
    }
    match page.eval("document.querySelectorAll('*').length")?.as_u64() {
        _ if fastest > ANSWER => Err(format!("the page took at least {fastest:?} for what was typed")),
        Some(0..=ELEMENTS) => Ok(()),
        other => Err(format!("the page has {other:?} elements")),
    }
}

/// Types into the filter of the timeline, and returns the time until it was painted.
fn typed(page: &Page) -> Result<Duration, Failure> {
    let filter = "document.querySelector('.timeline .filter')";
    page.eval(&format!("{filter}.focus()"))?;
    let began = Instant::now();
    page.type_text("usable")?;
    page.eval("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")?;
    let took = began.elapsed();
    let value = page.eval(&format!("{filter}.value"))?;
    page.eval(&format!("{filter}.value = ''; {filter}.dispatchEvent(new Event('input'))"))?;
    match value == "usable" {
        true => Ok(took),
        false => Err(format!("{value} is in the field, instead of what was typed")),
    }
}

/// Checks that nothing of a server has run, in the page or elsewhere.
fn unharmed(page: &Page, site: &Site) -> Result<(), Failure> {
    let ran = page.eval(&format!("window.{CANARY} ?? ({{}}).{CANARY} ?? null"))?;
    if !ran.is_null() {
        return Err(format!("something has run: {ran}"));
    }
    let markup = "document.querySelectorAll('main script, main iframe, main link, main style, main [onload], main [onerror], \
                  .side script, .side link, .side style, .side [onload], .side [onerror], a[href^=\"javascript:\" i]').length";
    if page.eval(markup)? != 0 {
        return Err("text has become markup".to_owned());
    }
    match site.asked().first() {
        Some(line) => Err(format!("another site was asked for `{line}`")),
        None => Ok(()),
    }
}

fn many(page: &Page) -> Result<(), Failure> {
    let inspector = inspect("many")?;
    open(page, &inspector)?;
    page.until(&format!(
        "document.querySelector('[data-panel=tools] .nav-count')?.textContent === '{}'",
        server::MANY
    ))?;
    page.eval("location.hash = '#/tools'")?;
    page.until("document.querySelectorAll('.list-slot .vrow').length > 5")?;
    usable(page)?;
    // To the end of the list, and to one by the filter.
    page.eval(
        "(() => { const list = document.querySelector('.list-slot .vlist'); list.scrollTop = list.scrollHeight; })()",
    )?;
    page.until(
        "[...document.querySelectorAll('.list-slot .vrow')].some((row) => row.innerText.startsWith('tool-999'))",
    )?;
    type_into(page, "document.querySelector('.list-filter')", "tool-77 ")?;
    page.until("document.querySelectorAll('.list-slot .vrow').length <= 11")?;
    place(page, "tools", "tool-777")?;
    usable(page)?;
    sound::check(&page.record(), &[&inspector])
}

fn large(page: &Page) -> Result<(), Failure> {
    let inspector = inspect("large")?;
    open(page, &inspector)?;
    for tool in ["large", "lines", "structured"] {
        place(page, "tools", tool)?;
        press(page, "main .actions", "Call")?;
        page.until("document.querySelector('.side .result-state .badge')?.textContent === 'ok'")?;
        usable(page).map_err(|why| format!("{tool}: {why}"))?;
    }
    // The message itself, in the timeline.
    page.until("(() => { const link = [...document.querySelectorAll('.side .links a')].find((one) => one.textContent === 'what was answered'); link?.click(); return !!link; })()")?;
    page.until("document.querySelector('main .tree, main .text')")?;
    // It is checked whole, though the page has only its beginning.
    page.until("document.querySelector('main').innerText.includes('longer than 1 MB')")?;
    page.until("document.querySelector('.findings').innerText.includes('valid in')")?;
    usable(page)?;
    sound::check(&page.record(), &[&inspector])
}

fn flood(page: &Page) -> Result<(), Failure> {
    let inspector = inspect("flood")?;
    open(page, &inspector)?;
    place(page, "tools", "flood")?;
    press(page, "main .actions", "Call")?;
    page.until("document.querySelector('.side').innerText.includes('here they come')")?;
    page.eval("location.hash = '#/logs'")?;
    let count = "Number(document.querySelector('.timeline-head [role=status]').textContent.replace(/ of.*/, '').replaceAll(',', ''))";
    page.until(&format!("{count} > 3000"))?;
    for _ in 0..3 {
        usable(page)?;
    }
    let requests = || page.record().requests.iter().filter(|request| request.url.contains("/mcp/")).count();
    let before = requests();
    page.until(&format!("{count} > 6000"))?;
    // Lists are not read again for each of the notices that they changed.
    let lists = requests() - before;
    if lists > 100 {
        return Err(format!("{lists} requests were made for 150 notices"));
    }
    connected(page)?;
    // Another call is still answered.
    place(page, "tools", "echo")?;
    press(page, "main .actions", "Call")?;
    page.until("document.querySelector('.side').innerText.includes('called with')")?;
    usable(page)?;
    sound::check(&page.record(), &[&inspector])
}

/// The most rows of the timeline in the page, and the most changes to it in a frame: a screen of rows, filled anew.
const ROWS: u64 = 40;
const CHANGES: u64 = 40 * ROWS;
/// The longest usual time between two frames, on a machine that does much else.
const FRAME: f64 = 1000.0;

/// Scrolls through a recording, a screen for each frame.
fn messages(page: &Page) -> Result<(), Failure> {
    let file = scratch()?.join("many.jsonl");
    let lines = (0..5000).map(|id| {
        let time = 1_790_000_000_000_u64 + id * 10;
        format!(
            "{{\"time\":{time},\"direction\":\"client-to-server\",\"session\":\"s\",\"message\":{{\"jsonrpc\":\"2.0\",\"id\":{id},\
             \"method\":\"tools/call\",\"params\":{{\"name\":\"tool-{id}\",\"arguments\":{{\"a\":{id}}}}}}}}}\n\
             {{\"time\":{},\"direction\":\"server-to-client\",\"session\":\"s\",\"message\":{{\"jsonrpc\":\"2.0\",\"id\":{id},\
             \"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{id}\"}}]}}}}}}\n",
            time + 3
        )
    });
    fs::write(&file, lines.collect::<String>()).map_err(|e| e.to_string())?;
    let inspector = Inspector::start(&[&file.display().to_string()])?;
    page.go(&inspector.url)?;
    page.until("Number(document.querySelector('.timeline-head [role=status]')?.textContent.replace(/ of.*/, '').replaceAll(',', '')) > 9900")?;
    let seen = page.eval(
        "(async () => { const list = document.querySelector('.timeline .vlist'); const frame = () => new Promise(requestAnimationFrame); \
         let changes = 0; const observer = new MutationObserver((found) => { changes += found.length; }); \
         observer.observe(list, { childList: true, subtree: true, attributes: true, characterData: true }); \
         const seen = { rows: 0, changes: 0, empty: 0, deltas: [] }; list.scrollTop = 0; await frame(); await frame(); changes = 0; \
         let before = await frame(); \
         for (let top = 0; top < list.scrollHeight - list.clientHeight; top += list.clientHeight * 8) { \
           list.scrollTop = top; await frame(); const now = await frame(); seen.deltas.push((now - before) / 2); before = now; \
           seen.rows = Math.max(seen.rows, list.querySelectorAll('.vrow').length); seen.changes = Math.max(seen.changes, changes); changes = 0; \
           const { left, top: edge, height } = list.getBoundingClientRect(); \
           if (!document.elementFromPoint(left + 200, edge + height / 2)?.closest('.t-row')?.innerText.trim()) seen.empty++; } \
         observer.disconnect(); seen.deltas.sort((a, b) => a - b); \
         return { ...seen, screens: seen.deltas.length, median: seen.deltas[seen.deltas.length >> 1], deltas: undefined }; })()",
    )?;
    let (rows, changes) = (seen["rows"].as_u64().unwrap_or(u64::MAX), seen["changes"].as_u64().unwrap_or(u64::MAX));
    let is_smooth = seen["median"].as_f64().is_some_and(|median| median < FRAME);
    let is_whole = seen["screens"].as_u64().is_some_and(|screens| screens > 50) && seen["empty"] == 0;
    match (1..=ROWS).contains(&rows) && (1..=CHANGES).contains(&changes) && is_smooth && is_whole {
        true => sound::check(&page.record(), &[&inspector]),
        false => Err(format!("scrolling through 10,000 messages: {seen}")),
    }
}

fn dies(page: &Page) -> Result<(), Failure> {
    let file = scratch()?.join("mortal");
    fs::write(&file, "0").map_err(|e| e.to_string())?;
    let inspector = inspect(&format!("mortal \"{}\"", file.display()))?;
    open(page, &inspector)?;
    // It will fail at once for two more starts.
    fs::write(&file, "2").map_err(|e| e.to_string())?;
    place(page, "tools", "die")?;
    press(page, "main .actions", "Call")?;
    page.until("/^reconnecting/.test(document.querySelector('.state-text').textContent)")?;
    // The call has an end, too.
    page.until("/error/.test(document.querySelector('.side .result-state')?.textContent)")?;
    connected(page)?;
    page.eval("location.hash = '#/logs'")?;
    page.until("document.querySelector('main').innerText.includes('these are my last words')")?;
    place(page, "tools", "echo")?;
    press(page, "main .actions", "Call")?;
    page.until("document.querySelector('.side').innerText.includes('called with')")?;
    sound::check(&page.record(), &[&inspector])
}

fn never_starts(page: &Page) -> Result<(), Failure> {
    let inspector = Inspector::start(&["sh -c 'echo these are my last words >&2; exit 3'"])?;
    page.go(&inspector.url)?;
    page.until("document.body.innerText.includes('these are my last words')")?;
    page.until("document.querySelector('.state-dot.bad') && !/^connect/.test(document.querySelector('.state-text').textContent)")?;
    sound::check(&page.record(), &[&inspector])
}

fn killed(page: &Page) -> Result<(), Failure> {
    let inspector = inspect("flood")?;
    open(page, &inspector)?;
    inspector.kill();
    page.until("document.querySelector('.state-dot.bad') && /inspector/.test(document.querySelector('.state-text').textContent)")?;
    usable(page)
}

fn harmful(page: &Page) -> Result<(), Failure> {
    let site = Site::start()?;
    let inspector = inspect(&format!("text {}", site.port))?;
    open(page, &inspector)?;
    page.until("document.querySelector('main').innerText.includes('<script>')")?;
    for panel in super::scenarios::PANELS {
        page.eval(&format!("location.hash = '#/{panel}'"))?;
        page.until(&format!("location.hash === '#/{panel}' && document.querySelector('main').innerText.trim()"))?;
        unharmed(page, &site).map_err(|why| format!("{panel}: {why}"))?;
    }
    for tool in [text::NAME, "fields", "long", "answer", "fail"] {
        place(page, "tools", tool)?;
        page.until("document.querySelector('main').innerText.includes('<script>')")?;
        // Characters without a shape are visible.
        page.until("[...document.querySelectorAll('main .hidden-char')].some((one) => one.textContent === 'U+202E')")?;
        for _ in 0..2 {
            // The second time sends arguments that are wrong.
            press(page, "main .actions", "Call")?;
        }
        page.until("document.querySelector('.side .result-state .badge')")?;
        usable(page).map_err(|why| format!("{tool}: {why}"))?;
        unharmed(page, &site).map_err(|why| format!("{tool}: {why}"))?;
    }
    for (list, rows) in [("resources", 1), ("prompts", 0)] {
        page.eval(&format!("location.hash = '#/{list}'"))?;
        page.until(&format!("document.querySelectorAll('.list-slot .vrow').length > {rows}"))?;
        page.eval("[...document.querySelectorAll('.list-slot .vrow')].forEach((row) => row.click())")?;
        page.until("document.querySelector('main h2')")?;
        unharmed(page, &site).map_err(|why| format!("{list}: {why}"))?;
    }
    for view in ["sequence", "waterfall", "list"] {
        page.eval(&format!("document.querySelector('.timeline [data-mode={view}]').click()"))?;
        page.eval("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")?;
        unharmed(page, &site).map_err(|why| format!("{view}: {why}"))?;
    }
    sound::check(&page.record(), &[&inspector])
}

fn harmful_view(page: &Page) -> Result<(), Failure> {
    let site = Site::start()?;
    let inspector = inspect(&format!("text {}", site.port))?;
    open(page, &inspector)?;
    place(page, "tools", "view")?;
    press(page, "main .actions", "Call")?;
    page.until("document.querySelector('.side iframe')")?;
    // The view did run, in its own place.
    page.until_in(Some("://"), "document.title === 'tried'")?;
    std::thread::sleep(Duration::from_secs(2));
    let record = page.record();
    if record.refusals.is_empty() {
        return Err("no policy has refused anything, though the view tried".to_owned());
    }
    if let Some(dialog) = record.dialogs.first() {
        return Err(format!("the view has opened a dialog: {dialog}"));
    }
    if let Some(line) = site.asked().first() {
        return Err(format!("the view has asked another site for `{line}`"));
    }
    let ran = page.eval(&format!("window.{CANARY} ?? localStorage.getItem('view')"))?;
    if !ran.is_null() {
        return Err("the view has changed the page".to_owned());
    }
    sound::requests(&record, &[&inspector])?;
    usable(page)
}

fn no_target(page: &Page) -> Result<(), Failure> {
    let inspector = Inspector::start(&[])?;
    page.go(&inspector.url)?;
    page.until("location.hash === '#/connect' && document.getElementById('connect-to')")?;
    // A command is connected to from here.
    type_into(page, "document.getElementById('connect-to')", &format!("\"{}\" browser serve many", program("xtask")?))?;
    page.key("Enter")?;
    press(page, "main", "Connect")?;
    connected(page)?;
    sound::check(&page.record(), &[&inspector])
}
