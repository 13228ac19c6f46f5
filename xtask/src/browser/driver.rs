//! A page for other commands, with a hand that clicks and types.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::cdp::{self, Browser, Page};
use crate::Failure;

/// A page of a browser of its own.
pub(crate) struct Driver {
    page: Page,
    // It ends after its page.
    browser: Browser,
}

impl Driver {
    /// Returns the browser of this machine.
    pub(crate) fn installed() -> Option<PathBuf> {
        cdp::installed()
    }

    /// Starts a browser with an empty page of 1280x800 pixels. The profile is removed in the end.
    pub(crate) fn start(program: &Path, profile: &Path) -> Result<Self, Failure> {
        let browser = Browser::start(program, profile)?;
        let page = browser.page()?;
        page.look(1280, 800, false)?;
        Ok(Self { page, browser })
    }

    /// Returns the id of the browser's first process.
    pub(crate) fn id(&self) -> u32 {
        self.browser.id()
    }

    /// Goes to a URL.
    pub(crate) fn go(&self, url: &str) -> Result<(), Failure> {
        self.page.go(url)
    }

    /// Evaluates an expression.
    pub(crate) fn eval(&self, expression: &str) -> Result<Value, Failure> {
        self.page.eval(expression)
    }

    /// Waits until an expression is true, and returns its value.
    pub(crate) fn until(&self, expression: &str) -> Result<Value, Failure> {
        self.page.until(expression)
    }

    /// Writes a picture of the page to a file, as PNG.
    pub(crate) fn picture(&self, path: &Path) -> Result<(), Failure> {
        self.page.picture(path)
    }

    /// Clicks into the middle of an element, which an expression names, as soon as it is there and holds still.
    pub(crate) fn click(&self, element: &str) -> Result<(), Failure> {
        let place = self.until(&format!(
            "(async () => {{ const place = () => {{ const element = {element}; if (!element) return null; \
             element.scrollIntoView({{ block: 'nearest' }}); const {{ x, y, width, height }} = element.getBoundingClientRect(); \
             const [left, top] = [x + width / 2, y + height / 2]; const hit = width && document.elementFromPoint(left, top); \
             return hit && (element.contains(hit) || hit.contains(element)) ? [left, top] : null; }}; \
             const before = JSON.stringify(place()); \
             for (let frame = 0; frame < 3; frame++) {{ await new Promise(requestAnimationFrame); \
             if (JSON.stringify(place()) !== before) return null; }} return JSON.parse(before); }})()"
        ))?;
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.page.call("Input.dispatchMouseEvent", &event)?;
        }
        Ok(())
    }

    /// Types a text, key by key.
    pub(crate) fn type_text(&self, text: &str) -> Result<(), Failure> {
        for key in text.chars() {
            let code = u32::from(key.to_ascii_uppercase());
            self.press(&json!({ "key": key, "text": key, "windowsVirtualKeyCode": code }))?;
        }
        Ok(())
    }

    /// Presses a key with Ctrl: a letter, or `Enter`.
    pub(crate) fn ctrl(&self, key: &str) -> Result<(), Failure> {
        let code = code(key);
        let commands = if key == "a" { json!(["selectAll"]) } else { json!([]) };
        self.press(&json!({ "key": key, "modifiers": 2, "windowsVirtualKeyCode": code, "commands": commands }))
    }

    /// Presses `Enter` or `Tab`.
    pub(crate) fn key(&self, key: &str) -> Result<(), Failure> {
        let text = if key == "Enter" { "\r" } else { "" };
        self.press(&json!({ "key": key, "code": key, "text": text, "windowsVirtualKeyCode": code(key) }))
    }

    fn press(&self, key: &Value) -> Result<(), Failure> {
        let mut event = key.clone();
        event["type"] = json!("keyDown");
        self.page.call("Input.dispatchKeyEvent", &event)?;
        event["type"] = json!("keyUp");
        event["text"] = json!("");
        event["commands"] = json!([]);
        self.page.call("Input.dispatchKeyEvent", &event).map(drop)
    }
}

/// The number of a key.
fn code(key: &str) -> u32 {
    match key {
        "Enter" => 13,
        "Tab" => 9,
        letter => letter.chars().next().map_or(0, |c| u32::from(c.to_ascii_uppercase())),
    }
}
