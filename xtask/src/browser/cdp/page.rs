//! A page of a browser.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{
    record::{Context, Record},
    wire::{Wire, lock, watched},
};
use crate::Failure;

/// How long a page may take to become what is expected of it, on a machine that does much else.
const TIMEOUT: Duration = Duration::from_secs(45);

/// A page. It is closed when it is dropped.
pub(in crate::browser) struct Page {
    wire: Arc<Wire>,
    session: String,
    context: String,
    record: Arc<Mutex<Record>>,
}

impl Page {
    pub(super) fn attach(wire: &Arc<Wire>, target: &Value, context: String) -> Result<Self, Failure> {
        let attached = wire.call(None, "Target.attachToTarget", &json!({ "targetId": target, "flatten": true }))?;
        let session = attached["sessionId"].as_str().unwrap_or_default().to_owned();
        let record = Arc::default();
        wire.follow(&session, &record);
        let page = Self { wire: wire.clone(), session, context, record };
        for (method, params) in watched() {
            page.call(method, &params)?;
        }
        page.call("Emulation.setFocusEmulationEnabled", &json!({ "enabled": true }))?;
        page.look(1280, 800, false)?;
        Ok(page)
    }

    pub(in crate::browser) fn call(&self, method: &str, params: &Value) -> Result<Value, Failure> {
        self.wire.call(Some(&self.session), method, params)
    }

    /// Returns what the page has done so far.
    pub(in crate::browser) fn record(&self) -> Record {
        lock(&self.record).clone()
    }

    /// Goes to a URL.
    pub(in crate::browser) fn go(&self, url: &str) -> Result<(), Failure> {
        self.call("Page.navigate", &json!({ "url": url })).map(drop)
    }

    /// Sets the size of the window, and the preferred colours.
    pub(in crate::browser) fn look(&self, width: u32, height: u32, is_dark: bool) -> Result<(), Failure> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", &size)?;
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": features })).map(drop)
    }

    /// Evaluates an expression; promises are awaited.
    pub(in crate::browser) fn eval(&self, expression: &str) -> Result<Value, Failure> {
        self.evaluate(&self.session, expression, None)
    }

    /// Evaluates an expression in a frame of the page.
    pub(in crate::browser) fn eval_in(&self, context: &Context, expression: &str) -> Result<Value, Failure> {
        self.evaluate(&context.session, expression, Some(context.id))
    }

    fn evaluate(&self, session: &str, expression: &str, context: Option<u64>) -> Result<Value, Failure> {
        let mut order = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        if let Some(id) = context {
            order["contextId"] = json!(id);
        }
        let mut outcome = self.wire.call(Some(session), "Runtime.evaluate", &order)?;
        match &outcome["exceptionDetails"] {
            Value::Null => Ok(outcome["result"]["value"].take()),
            details => {
                let why = details["exception"]["description"].as_str().or(details["text"].as_str());
                Err(format!("`{}`: {}", short(expression), why.unwrap_or_default()))
            }
        }
    }

    /// Waits until an expression is true, and returns its value.
    pub(in crate::browser) fn until(&self, expression: &str) -> Result<Value, Failure> {
        self.until_in(None, expression)
    }

    /// Waits until an expression is true in a frame whose origin has this beginning, and returns its value.
    pub(in crate::browser) fn until_in(&self, origin: Option<&str>, expression: &str) -> Result<Value, Failure> {
        let began = Instant::now();
        let mut last;
        loop {
            let values: Vec<_> = match origin {
                None => vec![self.eval(expression)],
                Some(origin) => self.frames(origin).iter().map(|frame| self.eval_in(frame, expression)).collect(),
            };
            last = "not yet".to_owned();
            for value in values {
                match value {
                    Ok(Value::Null | Value::Bool(false)) => {}
                    Ok(Value::String(text)) if text.is_empty() => {}
                    Ok(Value::Number(number)) if number.as_f64() == Some(0.0) => {}
                    Ok(value) => return Ok(value),
                    Err(why) => last = why,
                }
            }
            if began.elapsed() > TIMEOUT {
                let text = self.eval("document.body.innerText.slice(0, 3000)").unwrap_or_default();
                let text = text.as_str().unwrap_or("nothing").to_owned();
                return Err(format!("waited in vain for `{}` ({last}); the page has:\n{text}", short(expression)));
            }
            thread::sleep(Duration::from_millis(40));
        }
    }

    /// The places for scripts whose origin has this beginning. Frames without an origin have `://`.
    fn frames(&self, origin: &str) -> Vec<Context> {
        let contexts = lock(&self.record).contexts.clone();
        contexts.into_iter().filter(|context| context.origin.starts_with(origin)).collect()
    }

    /// Types a text where the focus is.
    pub(in crate::browser) fn type_text(&self, text: &str) -> Result<(), Failure> {
        self.call("Input.insertText", &json!({ "text": text })).map(drop)
    }

    /// Presses a key: a character, or a name such as `Enter`.
    pub(in crate::browser) fn key(&self, key: &str) -> Result<(), Failure> {
        let mut down = json!({ "type": "keyDown", "key": key });
        if key.chars().count() == 1 {
            down["text"] = json!(key);
        }
        self.call("Input.dispatchKeyEvent", &down)?;
        self.call("Input.dispatchKeyEvent", &json!({ "type": "keyUp", "key": key })).map(drop)
    }

    /// Writes a picture of the page to a file, as PNG.
    pub(in crate::browser) fn picture(&self, path: &Path) -> Result<(), Failure> {
        let picture = self.call("Page.captureScreenshot", &json!({ "format": "png" }))?;
        let png = picture["data"].as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
        let png = png.ok_or("the browser made no picture")?;
        fs::write(path, png).map_err(|e| format!("`{}` cannot be written: {e}", path.display()))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.wire.call(None, "Target.disposeBrowserContext", &json!({ "browserContextId": self.context }));
        self.wire.release(&self.record);
    }
}

/// The beginning of an expression, for a report.
fn short(expression: &str) -> String {
    expression.chars().take(300).collect()
}
