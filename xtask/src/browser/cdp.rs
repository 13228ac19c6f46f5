//! A browser, driven over the Chrome DevTools Protocol.
//!
//! Chromium reads commands from one pipe and writes to another (`--remote-debugging-pipe`), so neither a driver nor a
//! WebSocket is needed.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::Failure;

/// How long anything on a page may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A running browser. It is killed when it is dropped.
pub(super) struct Browser {
    child: Child,
    commands: ChildStdin,
    events: Receiver<Value>,
    last: u64,
    profile: PathBuf,
}

/// A page of a browser.
pub(super) struct Page {
    browser: Browser,
    session: String,
    /// The URLs that were requested.
    pub(super) requests: Vec<String>,
    /// Errors of scripts, and what policies refused.
    pub(super) errors: Vec<String>,
}

/// Returns the browser of this machine.
pub(super) fn installed() -> Option<PathBuf> {
    let named = std::env::var_os("COUPLET_CHROMIUM").map(PathBuf::from);
    let usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].map(PathBuf::from);
    named.into_iter().chain(usual).find(|path| path.is_file())
}

impl Browser {
    pub(super) fn start(program: &Path, profile: &Path) -> Result<Self, Failure> {
        // The shell gives the pipes the numbers that the browser expects.
        let script = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"#;
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(program)
            .args(["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check"])
            .args(["--disable-gpu", "--disable-extensions", "--disable-background-networking", "--mute-audio"])
            // Tests run in containers, as root, with little shared memory.
            .args(["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("`{}` cannot be started: {e}", program.display()))?;
        let (Some(commands), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the browser has no pipes".to_owned());
        };
        let (sender, events) = mpsc::sync_channel(100_000);
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut message = Vec::new();
            while matches!(output.read_until(0, &mut message), Ok(1..)) {
                let text = message.strip_suffix(&[0]).unwrap_or(&message);
                if let Ok(value) = serde_json::from_slice(text)
                    && sender.send(value).is_err()
                {
                    return;
                }
                message.clear();
            }
        });
        Ok(Self { child, commands, events, last: 0, profile: profile.to_owned() })
    }

    /// Opens an empty page.
    pub(super) fn page(mut self) -> Result<Page, Failure> {
        let mut unused = Vec::new();
        let target = self.call(None, "Target.createTarget", &json!({ "url": "about:blank" }), &mut unused)?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call(None, "Target.attachToTarget", &attach, &mut unused)?;
        let session = session["sessionId"].as_str().unwrap_or_default().to_owned();
        let mut page = Page { browser: self, session, requests: Vec::new(), errors: Vec::new() };
        for domain in ["Page", "Runtime", "Network", "Log"] {
            page.call(&format!("{domain}.enable"), &json!({}))?;
        }
        Ok(page)
    }

    fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: &Value,
        others: &mut Vec<Value>,
    ) -> Result<Value, Failure> {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = session {
            command["sessionId"] = json!(session);
        }
        let gone = |e: &dyn std::fmt::Display| format!("the browser is gone: {e}");
        self.commands.write_all(format!("{command}\0").as_bytes()).map_err(|e| gone(&e))?;
        self.commands.flush().map_err(|e| gone(&e))?;
        let began = Instant::now();
        loop {
            let left = TIMEOUT.saturating_sub(began.elapsed());
            let message = self.events.recv_timeout(left).map_err(|e| format!("`{method}` is not answered: {e}"))?;
            match message["id"] == self.last {
                true if !message["error"].is_null() => return Err(format!("`{method}`: {}", message["error"])),
                true => return Ok(message["result"].clone()),
                false => others.push(message),
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.commands.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(5) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

impl Page {
    pub(super) fn call(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        let mut others = Vec::new();
        let session = self.session.clone();
        let outcome = self.browser.call(Some(&session), method, params, &mut others);
        others.iter().for_each(|event| self.note(event));
        outcome
    }

    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                self.requests.extend(params["request"]["url"].as_str().map(str::to_owned));
            }
            Some("Runtime.exceptionThrown") => self.errors.push(params["exceptionDetails"].to_string()),
            // What the network says about refused requests is in the page, too.
            Some("Log.entryAdded") if params["entry"]["level"] == "error" && params["entry"]["source"] != "network" => {
                self.errors.push(params["entry"].to_string());
            }
            _ => {}
        }
    }

    /// Goes to a URL.
    pub(super) fn go(&mut self, url: &str) -> Result<(), Failure> {
        self.call("Page.navigate", &json!({ "url": url })).map(drop)
    }

    /// Sets the size of the window, and the preferred colours.
    pub(super) fn look(&mut self, width: u32, height: u32, is_dark: bool) -> Result<(), Failure> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", &size)?;
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": features })).map(drop)
    }

    /// Evaluates an expression; promises are awaited.
    pub(super) fn eval(&mut self, expression: &str) -> Result<Value, Failure> {
        let order = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let outcome = self.call("Runtime.evaluate", &order)?;
        match &outcome["exceptionDetails"] {
            Value::Null => Ok(outcome["result"]["value"].clone()),
            details => Err(format!("`{expression}`: {}", details["exception"]["description"])),
        }
    }

    /// Waits until an expression is true.
    pub(super) fn until(&mut self, expression: &str) -> Result<(), Failure> {
        let began = Instant::now();
        let mut last;
        loop {
            match self.eval(expression) {
                Ok(Value::Null | Value::Bool(false)) => last = "not yet".to_owned(),
                Ok(Value::String(text)) if text.is_empty() => last = "nothing".to_owned(),
                Ok(_) => return Ok(()),
                Err(why) => last = why,
            }
            if began.elapsed() > TIMEOUT {
                let text = self.eval("document.body.innerText.slice(0, 3000)").unwrap_or_default();
                return Err(format!("waited in vain for `{expression}` ({last}); the page has:\n{text}"));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns a picture of the page, as Base64 of PNG.
    pub(super) fn picture(&mut self) -> Result<String, Failure> {
        let picture = self.call("Page.captureScreenshot", &json!({ "format": "png" }))?;
        Ok(picture["data"].as_str().unwrap_or_default().to_owned())
    }
}
