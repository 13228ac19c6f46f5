//! A browser, driven over the Chrome DevTools Protocol.
//!
//! Chromium reads commands from one pipe and writes to another (`--remote-debugging-pipe`), so neither a driver nor a
//! WebSocket is needed. One browser has any number of pages, each with a storage of its own and a thread that drives it.

mod page;
mod record;
mod wire;

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::Failure;
pub(super) use page::Page;
pub(super) use record::{Record, Request};
use wire::Wire;

/// A name that leads to this machine, as that of a site which controls its own DNS could.
pub(super) const REBOUND: &str = "rebound.example";

/// A running browser. It is killed when it is dropped.
pub(super) struct Browser {
    child: Mutex<Child>,
    wire: Arc<Wire>,
    profile: PathBuf,
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
            // Pages work at the same time, each as if it were in front.
            .args(["--disable-background-timer-throttling", "--disable-renderer-backgrounding"])
            .args(["--disable-backgrounding-occluded-windows", "--disable-component-update"])
            // No name leads off this machine.
            .arg(format!("--host-resolver-rules=MAP {REBOUND} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("`{}` cannot be started: {e}", program.display()))?;
        let (Some(commands), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the browser has no pipes".to_owned());
        };
        let wire = Arc::new(Wire::new(commands));
        let reader = wire.clone();
        thread::spawn(move || reader.read(output));
        Ok(Self { child: Mutex::new(child), wire, profile: profile.to_owned() })
    }

    /// Returns the id of its first process.
    pub(super) fn id(&self) -> u32 {
        self.child.lock().unwrap_or_else(|e| e.into_inner()).id()
    }

    /// Opens an empty page with a storage of its own.
    pub(super) fn page(&self) -> Result<Page, Failure> {
        let context = self.wire.call(None, "Target.createBrowserContext", &json!({ "disposeOnDetach": true }))?;
        let context = context["browserContextId"].as_str().unwrap_or_default().to_owned();
        let order = json!({ "url": "about:blank", "browserContextId": context, "newWindow": true });
        let target = self.wire.call(None, "Target.createTarget", &order)?;
        Page::attach(&self.wire, &target["targetId"], context)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.wire.send(None, "Browser.close", &json!({}));
        let child = self.child.get_mut().unwrap_or_else(|e| e.into_inner());
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(5) {
            if !matches!(child.try_wait(), Ok(None)) {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let _ = child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
