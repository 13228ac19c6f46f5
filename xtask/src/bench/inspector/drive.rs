//! What a user does in each inspector, step by step, and what is to be seen then.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::peers::Peer;
use crate::{Failure, browser::Driver};

/// The effort for something that a user wants.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effort {
    pub(super) clicks: u32,
    /// Times at which the user types: one, however many keys follow each other.
    pub(super) keys: u32,
    pub(super) seconds: f64,
}

impl Effort {
    /// Both efforts, one after the other.
    pub(super) fn and(self, other: Self) -> Self {
        Self { clicks: self.clicks + other.clicks, keys: self.keys + other.keys, seconds: self.seconds + other.seconds }
    }
}

/// What is visible without scrolling, at 1280x800.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Visible {
    pub(super) tools: u64,
    pub(super) messages: u64,
    pub(super) texts: u64,
}

impl Visible {
    /// The most of each.
    pub(super) fn most(self, other: Self) -> Self {
        Self {
            tools: self.tools.max(other.tools),
            messages: self.messages.max(other.messages),
            texts: self.texts.max(other.texts),
        }
    }
}

/// A hand on a page, whose moves are counted.
pub(super) struct Hand<'a> {
    page: &'a Driver,
    effort: Effort,
    types: bool,
}

/// The last element with a text, as JavaScript.
fn with_text(text: &str) -> String {
    let text = json!(text);
    format!(
        "[...document.querySelectorAll('button, label, p, span, div')].filter((one) => one.offsetParent && \
         one.innerText?.trim() === {text}).at(-1)"
    )
}

/// The field with a label that begins with a text.
fn field(label: &str) -> String {
    let label = json!(label);
    format!(
        "document.getElementById([...document.querySelectorAll('label')].find((one) => one.offsetParent && \
         one.innerText.trim().startsWith({label}))?.htmlFor ?? '')"
    )
}

impl<'a> Hand<'a> {
    pub(super) fn new(page: &'a Driver) -> Self {
        Self { page, effort: Effort::default(), types: false }
    }

    fn click(&mut self, element: &str) -> Result<(), Failure> {
        self.effort.clicks += 1;
        self.types = false;
        self.page.click(element)
    }

    /// Clicks, and again if it had no effect: a page that is being drawn may lose a click. It counts once.
    fn click_to(&mut self, element: &str, effect: &str) -> Result<(), Failure> {
        self.click(element)?;
        for _ in 0..3 {
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(3) {
                if self.page.eval(effect)? == true {
                    return Ok(());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            self.page.click(element)?;
        }
        self.page.until(effect).map(drop)
    }

    fn typing(&mut self) -> &Driver {
        if !self.types {
            self.effort.keys += 1;
        }
        self.types = true;
        self.page
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.typing().type_text(text)
    }

    /// The effort until a text is on the page; the next begins then.
    fn sees(&mut self, began: Instant, text: &str) -> Result<Effort, Failure> {
        let text = json!(text);
        self.page.until(&format!("document.body.innerText.includes({text})"))?;
        self.types = false;
        Ok(Effort { seconds: began.elapsed().as_secs_f64(), ..std::mem::take(&mut self.effort) })
    }

    /// Counts the texts that are visible, those that are names of tools, and those that are methods of messages.
    pub(super) fn visible(&mut self, tools: &[String]) -> Result<Visible, Failure> {
        let names = json!(tools);
        let found = self.page.eval(&format!(
            "(() => {{ const names = new Set({names}); const seen = {{ tools: new Set(), messages: 0, texts: 0 }}; \
             const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); \
             for (let node = walk.nextNode(); node; node = walk.nextNode()) {{ \
               const text = node.data.trim(); if (!text) continue; \
               const range = document.createRange(); range.selectNodeContents(node); \
               const {{ left, top, width, height }} = range.getBoundingClientRect(); \
               const [x, y] = [left + width / 2, top + height / 2]; \
               if (!width || x < 0 || y < 0 || x > innerWidth || y > innerHeight) continue; \
               const hit = document.elementFromPoint(x, y); \
               if (!hit || !(hit.contains(node) || node.parentElement.contains(hit))) continue; \
               seen.texts++; if (names.has(text)) seen.tools.add(text); \
               if (/^(initialize|[a-z]+\\/[a-z_/]+)$/i.test(text)) seen.messages++; }} \
             return {{ ...seen, tools: seen.tools.size }}; }})()"
        ))?;
        let number = |name: &str| found[name].as_u64().unwrap_or(0);
        Ok(Visible { tools: number("tools"), messages: number("messages"), texts: number("texts") })
    }

    /// Does a task. They follow each other on one page.
    pub(super) fn task(&mut self, peer: Peer, number: usize, began: Instant) -> Result<Effort, Failure> {
        let (moves, text) = match peer {
            Peer::Couplet => OURS[number],
            Peer::Official => OFFICIAL[number],
        };
        moves(self)?;
        self.sees(began, text)
    }

    /// Calls the tool of the first task again, and waits for the result.
    pub(super) fn call_again(&mut self, peer: Peer) -> Result<(), Failure> {
        match peer {
            Peer::Couplet => {
                let count = "document.querySelectorAll('.history-row').length + performance.getEntriesByType('resource').length";
                let before: Value = self.page.eval(count)?;
                self.page.ctrl("Enter")?;
                self.page.until(&format!(
                    "{count} > {before} && document.querySelector('.main .actions .primary')?.textContent === 'Call'"
                ))
            }
            Peer::Official => {
                self.page.click("document.querySelector('[aria-label=\"Close results\"]')")?;
                self.page.click(&with_text("Execute Tool"))?;
                self.page.until("!!document.querySelector('[aria-label=\"Close results\"]')")
            }
        }
        .map(drop)
    }
}

/// What the tasks are called in the table.
pub(super) const TASKS: [&str; 5] = [
    "from the start of the process to the first result: `get-sum` with a = 2, b = 3",
    "the same call with b = 40",
    "what exactly was sent",
    "`trigger-error` with kind = protocol: the error as the server has sent it",
    "`trigger-long-running-operation`: its notifications, while it runs",
];

/// The moves of a task, and the text that is seen when it is done.
type Task = (fn(&mut Hand<'_>) -> Result<(), Failure>, &'static str);

const OURS: [Task; 5] = [
    (
        |hand| {
            hand.click(
                "[...document.querySelectorAll('.list .row-label')].find((one) => one.innerText === 'get-sum')",
            )?;
            hand.page.until("document.activeElement.matches('.main .form *')")?;
            hand.write("2")?;
            hand.typing().key("Tab")?;
            hand.write("3")?;
            hand.typing().ctrl("Enter")
        },
        "is 5.",
    ),
    (
        |hand| {
            hand.typing().ctrl("a")?;
            hand.write("40")?;
            hand.typing().ctrl("Enter")
        },
        "is 42.",
    ),
    (|hand| hand.click("document.querySelector('.side .links a')"), "clientCapabilities"),
    (
        |hand| {
            hand.write("/trigger-error")?;
            hand.typing().key("Enter")?;
            hand.page.until("document.activeElement.matches('.main .form select')")?;
            hand.write("p")?;
            hand.typing().ctrl("Enter")
        },
        "-32602",
    ),
    (
        |hand| {
            hand.page.eval("document.activeElement.blur()")?;
            hand.write("/long-running")?;
            hand.typing().key("Enter")?;
            hand.page.until("document.activeElement.matches('.main .form *')")?;
            hand.typing().ctrl("Enter")
        },
        "notifications/progress",
    ),
];

const EXECUTE: &str = "Execute Tool";
/// The first message that is not expanded.
const EXPAND: &str = "document.querySelector('[aria-label=Expand]')";
/// Whether there is a form.
const READY: &str = "[...document.querySelectorAll('button')].some((one) => one.innerText === 'Execute Tool')";
const SEARCH: &str = "[...document.querySelectorAll('input')].find((one) => one.type === 'text' && one.offsetParent && \
     one.getBoundingClientRect().x < 350)";

const OFFICIAL: [Task; 5] = [
    (
        |hand| {
            hand.click(
                "document.querySelector('input[aria-label^=\"Connect or disconnect\"]')?.closest('label, div')",
            )?;
            hand.click_to(&with_text("Tools"), &format!("!!{}", with_text("get-sum")))?;
            hand.click_to(&with_text("get-sum"), READY)?;
            hand.click(&field("a"))?;
            hand.write("2")?;
            hand.typing().key("Tab")?;
            hand.write("3")?;
            hand.click(&with_text(EXECUTE))
        },
        "is 5.",
    ),
    (
        |hand| {
            hand.click("document.querySelector('[aria-label=\"Close results\"]')")?;
            hand.click(&field("b"))?;
            hand.typing().ctrl("a")?;
            hand.write("40")?;
            hand.click(&with_text(EXECUTE))
        },
        "is 42.",
    ),
    (
        |hand| {
            hand.click_to(&with_text("Protocol"), &format!("!!{EXPAND}"))?;
            hand.click_to(EXPAND, "document.body.innerText.includes('progressToken')")
        },
        "progressToken",
    ),
    (
        |hand| {
            hand.click(SEARCH)?;
            hand.write("trigger-error")?;
            hand.click_to(&with_text("trigger-error"), &format!("!!{}", field("kind")))?;
            hand.click_to(&field("kind"), &format!("!!{}", with_text("protocol")))?;
            hand.click(&with_text("protocol"))?;
            hand.click(&with_text(EXECUTE))?;
            hand.page.until("document.body.innerText.includes('as you asked')")?;
            hand.click_to(EXPAND, "document.body.innerText.includes('-32602')")
        },
        "-32602",
    ),
    (
        |hand| {
            hand.click(SEARCH)?;
            hand.typing().ctrl("a")?;
            hand.write("long-running")?;
            hand.click_to(&with_text("trigger-long-running-operation"), &format!("!!{}", field("duration")))?;
            hand.click(&with_text(EXECUTE))
        },
        "NOTIFICATIONS/PROGRESS",
    ),
];
