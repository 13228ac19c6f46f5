//! What a scenario has, and the steps that many of them share.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::{
    cdp::Page,
    inspector::Inspector,
    subject::{Call, Fill, Lack, Proof, Subject},
};
use crate::Failure;

/// A page, and the inspector with a server that it belongs to.
pub(super) struct Stage<'a> {
    pub(super) page: Page,
    pub(super) inspector: &'a Inspector,
    pub(super) subject: &'static Subject,
    /// The other inspectors whose pages were opened: those of recordings.
    pub(super) others: RefCell<Vec<Inspector>>,
}

/// The end of a scenario that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// The server lacks what the scenario needs, for this reason.
    Lacks(&'static str),
}

/// The text of the column with results.
pub(super) const SIDE: &str = "document.querySelector('.side').innerText";

/// The menu of the revisions.
const REVISIONS: &str = "document.querySelector('select[aria-label=\"Protocol revision\"]')";

impl Stage<'_> {
    /// Opens the page, and waits until the target is connected in the best revision.
    pub(super) fn open(&self) -> Result<(), Failure> {
        self.page.go(&self.inspector.url)?;
        self.page.until("document.querySelector('.state-text')")?;
        if self.inspector.target()?["asked"] != "auto" {
            return self.revision("auto");
        }
        connected(&self.page)
    }

    /// Reconnects in a revision, by the menu in the bar.
    pub(super) fn revision(&self, revision: &str) -> Result<(), Failure> {
        choose(&self.page, REVISIONS, revision)?;
        let shown = format!("{REVISIONS}?.value === {}", json!(revision));
        self.page.until(&format!("document.querySelector('.state-text')?.textContent === 'connected' && {shown}"))?;
        self.listed()
    }

    /// Waits until the list of tools is there.
    pub(super) fn listed(&self) -> Result<(), Failure> {
        self.page.until("document.querySelector('[data-panel=tools] .nav-count')").map(drop)
    }

    /// Calls a tool with arguments as JSON, without waiting for its end.
    pub(super) fn call(&self, call: &Call) -> Result<(), Failure> {
        tool(&self.page, call.tool, call.arguments)?;
        press(&self.page, "main .actions", "Call")
    }

    /// Waits until the column with results has a text.
    pub(super) fn says(&self, text: &str) -> Result<(), Failure> {
        self.page.until(&format!("{SIDE}.includes({})", json!(text))).map(drop)
    }

    /// The number of messages with a property, on the wire between the inspector and the server.
    pub(super) fn sent(&self, is: impl Fn(&str, &Value) -> bool) -> Result<usize, Failure> {
        Ok(self.inspector.messages()?.iter().filter(|(direction, message)| is(direction, message)).count())
    }

    /// Waits until a message with a method was on the wire.
    pub(super) fn on_the_wire(&self, method: &str) -> Result<(), Failure> {
        for _ in 0..200 {
            if self.sent(|_, message| message["method"] == method)? > 0 {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Err(format!("`{method}` was not on the wire"))
    }

    /// Checks that the server lacks something, and says so.
    pub(super) fn lacks(&self, lack: &Lack) -> Result<Outcome, Failure> {
        self.open()?;
        self.listed()?;
        let is_true = match lack.proof {
            Proof::NoCapability(pointer) => self.has_no(pointer)?,
            Proof::AbsentIn(revision, pointer) => {
                self.revision(revision)?;
                self.has_no(pointer)?
            }
            Proof::NoTool(is) => {
                let tools = self.tools()?;
                !tools.is_empty() && !tools.iter().any(is)
            }
            Proof::NoRevision(revision) => {
                choose(&self.page, REVISIONS, revision)?;
                // The page says so, and does not seem connected.
                self.page.until("/no revision in common/.test(document.querySelector('.state-text').textContent)")?;
                self.revision("auto")?;
                !self.subject.revisions.contains(&revision)
            }
        };
        match is_true {
            true => Ok(Outcome::Lacks(lack.why)),
            false => Err(format!("`{}` is not true any more", lack.why)),
        }
    }

    /// Whether the capabilities of now have nothing at a JSON pointer.
    fn has_no(&self, pointer: &str) -> Result<bool, Failure> {
        let capability = self.inspector.target()?["capabilities"].pointer(pointer).cloned();
        Ok(matches!(capability, None | Some(Value::Null | Value::Bool(false))))
    }

    /// The tools that the server has listed.
    fn tools(&self) -> Result<Vec<Value>, Failure> {
        let messages = self.inspector.messages()?;
        let tools = messages.into_iter().flat_map(|(_, mut message)| match message["result"]["tools"].take() {
            Value::Array(tools) => tools,
            _ => Vec::new(),
        });
        Ok(tools.collect())
    }
}

/// Waits until the target is connected.
pub(super) fn connected(page: &Page) -> Result<(), Failure> {
    page.until("document.querySelector('.state-text')?.textContent === 'connected'").map(drop)
}

/// Goes to a place of the page, and waits until it has a title.
pub(super) fn place(page: &Page, panel: &str, name: &str) -> Result<(), Failure> {
    let (panel, name) = (json!(panel), json!(name));
    page.eval(&format!("location.hash = '#/' + {panel} + '/' + encodeURIComponent({name})"))?;
    page.until(&format!("document.querySelector('main h2')?.textContent === {name}")).map(drop)
}

/// Goes to a tool, and sets its arguments as JSON.
pub(super) fn tool(page: &Page, name: &str, arguments: &str) -> Result<(), Failure> {
    place(page, "tools", name)?;
    let text = json!(arguments);
    page.eval(&format!(
        "(() => {{ const area = document.querySelector('main .json-text'); area.value = {text}; \
         area.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
    ))
    .map(drop)
}

/// Presses the button with a text, in a part of the page.
pub(super) fn press(page: &Page, part: &str, label: &str) -> Result<(), Failure> {
    let label = json!(label);
    let find = format!(
        "[...document.querySelectorAll('{part} button')].find((one) => one.textContent.trim() === {label} && !one.disabled)"
    );
    // In one step, because the button may be drawn anew.
    page.until(&format!("(() => {{ const one = {find}; one?.click(); return !!one; }})()")).map(drop)
}

/// Chooses an option of a menu by its value or its text.
pub(super) fn choose(page: &Page, menu: &str, option: &str) -> Result<(), Failure> {
    let option = json!(option);
    let find = format!("[...{menu}.options].find((one) => one.value === {option} || one.textContent === {option})");
    page.until(&format!("{menu} && !!{find}"))?;
    page.eval(&format!(
        "(() => {{ const menu = {menu}; menu.value = {find}.value; \
         for (const kind of ['input', 'change']) menu.dispatchEvent(new Event(kind, {{ bubbles: true }})); }})()"
    ))
    .map(drop)
}

/// Types into a field, in place of its text.
pub(super) fn type_into(page: &Page, field: &str, text: &str) -> Result<(), Failure> {
    page.until(&format!("!!{field}"))?;
    page.eval(&format!("(() => {{ const field = {field}; field.focus(); field.select?.(); }})()"))?;
    page.type_text(text)
}

/// Fills in the field of a form at a JSON pointer.
pub(super) fn fill(page: &Page, pointer: &str, value: &Fill) -> Result<(), Failure> {
    let suffix: String = pointer.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let field = format!(
        "[...document.querySelectorAll('main [id^=form]')].findLast((one) => /^form\\d+{suffix}$/.test(one.id))"
    );
    page.until(&format!("!!{field}")).map_err(|why| format!("{pointer}: {why}"))?;
    match value {
        Fill::Text(text) => type_into(page, &field, text),
        Fill::Choose(option) => choose(page, &field, option),
        Fill::Check => page.eval(&format!("{field}.click()")).map(drop),
        Fill::AddItem => {
            let add =
                "[...one.querySelectorAll(':scope > button')].find((one) => one.textContent === 'add item').click()";
            page.eval(&format!("(() => {{ const one = {field}; {add}; }})()")).map(drop)
        }
    }
}

/// What the page saves and copies, read instead of written.
pub(super) struct Hooks<'a>(&'a Page);

impl<'a> Hooks<'a> {
    /// Takes over files and the clipboard of a page, until it is loaded anew.
    pub(super) fn install(page: &'a Page) -> Result<Self, Failure> {
        page.eval(
            "(() => { window.saved = null; window.copied = null; const make = URL.createObjectURL; \
             URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return make.call(URL, blob); }; \
             navigator.clipboard.writeText = async (text) => { window.copied = text; }; })()",
        )?;
        Ok(Self(page))
    }

    /// Waits for the file that is saved next, and returns its text.
    pub(super) fn saved(&self) -> Result<String, Failure> {
        self.take("saved")
    }

    /// Waits for the text that is copied next, and returns it.
    pub(super) fn copied(&self) -> Result<String, Failure> {
        self.take("copied")
    }

    fn take(&self, name: &str) -> Result<String, Failure> {
        let text = self.0.until(&format!("window.{name}"))?;
        self.0.eval(&format!("window.{name} = null"))?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }
}
