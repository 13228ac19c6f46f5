//! Everything that a page did, as the browser saw it.

use serde_json::Value;

/// A request of a page or of a frame in it.
#[derive(Clone, Debug)]
pub(in crate::browser) struct Request {
    id: String,
    pub(in crate::browser) url: String,
    /// `Document`, `Script`, `Fetch` and so on.
    pub(in crate::browser) kind: String,
    /// The URL of the document that made the request; for a document, its own.
    pub(in crate::browser) document: String,
    /// Why the browser did not send it: `csp`, for example.
    pub(in crate::browser) blocked: Option<String>,
}

/// A place where scripts run.
#[derive(Clone, Debug)]
pub(in crate::browser) struct Context {
    pub(super) session: String,
    pub(super) id: u64,
    pub(in crate::browser) origin: String,
}

/// Everything that a page and its frames did.
#[derive(Clone, Debug, Default)]
pub(in crate::browser) struct Record {
    pub(in crate::browser) requests: Vec<Request>,
    /// Errors of scripts, and reports of the browser.
    pub(in crate::browser) errors: Vec<String>,
    /// Reports that a policy has refused something.
    pub(in crate::browser) refusals: Vec<String>,
    /// Messages of dialogs.
    pub(in crate::browser) dialogs: Vec<String>,
    pub(in crate::browser) contexts: Vec<Context>,
}

impl Record {
    pub(super) fn note(&mut self, session: &str, method: &str, params: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match method {
            "Network.requestWillBeSent" => self.requests.push(Request {
                id: text(&params["requestId"]),
                url: text(&params["request"]["url"]),
                kind: text(&params["type"]),
                document: text(&params["documentURL"]),
                blocked: None,
            }),
            "Network.webSocketCreated" | "Network.webTransportCreated" => self.requests.push(Request {
                id: text(&params["requestId"]),
                url: text(&params["url"]),
                kind: "Socket".to_owned(),
                document: String::new(),
                blocked: None,
            }),
            "Network.loadingFailed" if params["blockedReason"].is_string() => {
                let id = text(&params["requestId"]);
                let request = self.requests.iter_mut().rfind(|request| request.id == id);
                request
                    .into_iter()
                    .for_each(|request| request.blocked = params["blockedReason"].as_str().map(str::to_owned));
            }
            "Runtime.exceptionThrown" => self.errors.push(params["exceptionDetails"].to_string()),
            "Log.entryAdded" => self.entry(&params["entry"]),
            "Page.javascriptDialogOpening" => self.dialogs.push(text(&params["message"])),
            "Inspector.targetCrashed" => self.errors.push("the page has crashed".to_owned()),
            _ => self.context(session, method, params),
        }
    }

    fn entry(&mut self, entry: &Value) {
        let is_refusal = entry["source"] == "security"
            || entry["text"].as_str().is_some_and(|text| text.contains("Content Security Policy"));
        match entry["level"].as_str() {
            _ if is_refusal => self.refusals.push(entry.to_string()),
            // Requests that failed are in the page, too.
            Some("error") if entry["source"] != "network" => self.errors.push(entry.to_string()),
            _ => {}
        }
    }

    fn context(&mut self, session: &str, method: &str, params: &Value) {
        match method {
            "Runtime.executionContextCreated" => {
                let (id, origin) = (&params["context"]["id"], &params["context"]["origin"]);
                self.contexts.push(Context {
                    session: session.to_owned(),
                    id: id.as_u64().unwrap_or_default(),
                    origin: origin.as_str().unwrap_or_default().to_owned(),
                });
            }
            "Runtime.executionContextDestroyed" => {
                let id = params["executionContextId"].as_u64();
                self.contexts.retain(|context| context.session != session || Some(context.id) != id);
            }
            "Runtime.executionContextsCleared" => self.contexts.retain(|context| context.session != session),
            "Target.detachedFromTarget" => {
                let gone = params["sessionId"].as_str().unwrap_or_default();
                self.contexts.retain(|context| context.session != gone);
            }
            _ => {}
        }
    }
}
