//! The servers that the page is tested with, and what each of them has for a scenario.

use serde_json::Value;

/// A server.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: &'static str,
    /// The revisions that it supports, of the five.
    pub(super) revisions: &'static [&'static str],
    pub(super) echo: Call,
    pub(super) form: Form,
    pub(super) nested: Offer<Form>,
    pub(super) slow: Call,
    pub(super) elicits: Form,
    /// What the result of `elicits` has after the user declined.
    pub(super) declined: &'static str,
    pub(super) elicits_stateless: Offer<()>,
    pub(super) elicits_url: Call,
    pub(super) samples: Call,
    pub(super) completes: Completion,
    pub(super) resource: Resource,
    pub(super) updates: Offer<Call>,
    /// A task of the extension, in a revision without sessions.
    pub(super) task: Offer<Task>,
    /// A task of 2025-11-25.
    pub(super) session_task: Offer<Task>,
    pub(super) view: Offer<View>,
    pub(super) logs: Logs,
}

/// A feature, or its absence.
#[derive(Debug)]
pub(super) enum Offer<T> {
    Has(T),
    Lacks(Lack),
}

/// A feature that a server lacks. It is looked for all the same, so that the reason stays true.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lack {
    pub(super) why: &'static str,
    pub(super) proof: Proof,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Proof {
    /// No tool is of this kind.
    NoTool(fn(&Value) -> bool),
    /// The capabilities have nothing at this JSON pointer.
    NoCapability(&'static str),
    /// The revision is not supported.
    NoRevision(&'static str),
    /// The capabilities have nothing at this JSON pointer in this revision.
    AbsentIn(&'static str, &'static str),
}

/// A tool with its arguments as JSON, and a part of its result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) arguments: &'static str,
    pub(super) says: &'static str,
}

/// A tool whose form is filled in, and a part of its result.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) tool: &'static str,
    /// Fields by their JSON pointers.
    pub(super) fields: &'static [(&'static str, Fill)],
    pub(super) says: &'static str,
}

/// How a field is filled in.
#[derive(Debug)]
pub(super) enum Fill {
    Text(&'static str),
    Choose(&'static str),
    Check,
    AddItem,
}

/// A prompt: an argument with the beginning that is typed, the value that the server suggests, the other arguments, and a
/// part of the messages.
#[derive(Debug)]
pub(super) struct Completion {
    pub(super) prompt: &'static str,
    pub(super) typed: &'static str,
    pub(super) value: &'static str,
    pub(super) others: &'static [&'static str],
    pub(super) says: &'static str,
}

/// A resource, a template with a value for its variable, and parts of their contents.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) uri: &'static str,
    pub(super) says: &'static str,
    pub(super) template: &'static str,
    pub(super) value: &'static str,
    pub(super) template_says: &'static str,
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) call: Call,
    /// Arguments with which it does not end by itself soon.
    pub(super) long: &'static str,
    /// The choice in the form of its question, if it asks one.
    pub(super) question: Option<(&'static str, Fill)>,
}

#[derive(Debug)]
pub(super) struct View {
    pub(super) call: Call,
    /// An expression that is true in the view when it has its result.
    pub(super) shows: &'static str,
    /// A button in the view, and the tool that it calls.
    pub(super) button: Option<(&'static str, &'static str)>,
}

#[derive(Debug)]
pub(super) struct Logs {
    pub(super) call: Call,
    /// Whether a call sends a message of each level; otherwise the levels are random.
    pub(super) all_levels: bool,
}

const ALL: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

const fn call(tool: &'static str, arguments: &'static str, says: &'static str) -> Call {
    Call { tool, arguments, says }
}

const NO_OBJECT: Lack = Lack { why: "no tool takes an object", proof: Proof::NoTool(takes_object) };

const STATELESS: Lack =
    Lack { why: "it supports no revision without sessions", proof: Proof::NoRevision("2026-07-28") };

/// The forms of both servers with the name `everything`, which have the same contract.
const ANNOTATED: Form = Form {
    tool: "get-annotated-message",
    fields: &[("/messageType", Fill::Choose("error")), ("/includeImage", Fill::Check)],
    says: "Error: Operation failed",
};

const CONTRACT_ELICITS: Form = Form {
    tool: "trigger-elicitation-request",
    fields: &[
        ("/name", Fill::Text("Ada Lovelace")),
        ("/check", Fill::Check),
        ("/integer", Fill::Text("36")),
        ("/untitledSingleSelectEnum", Fill::Choose("Phoebe")),
    ],
    says: "Ada Lovelace",
};

const CONTRACT_COMPLETES: Completion =
    Completion { prompt: "completable-prompt", typed: "Eng", value: "Engineering", others: &["Alice"], says: "Alice" };

const CONTRACT_RESOURCE: Resource = Resource {
    uri: "demo://resource/static/document/features.md",
    says: "Features",
    template: "demo://resource/dynamic/text/{resourceId}",
    value: "7",
    template_says: "Resource 7",
};

const CONTRACT_TASK: Task = Task {
    call: call("simulate-research-query", r#"{"topic":"tides","ambiguous":true}"#, "Research Report: tides"),
    long: r#"{"topic":"tides","ambiguous":true}"#,
    question: Some(("/interpretation", Fill::Choose("Historical perspective"))),
};

pub(super) static OURS: Subject = Subject {
    name: "couplet everything",
    revisions: ALL,
    echo: call("echo", r#"{"message":"spoken by the browser"}"#, "Echo: spoken by the browser"),
    form: ANNOTATED,
    nested: Offer::Has(Form {
        tool: "plan-journey",
        fields: &[
            ("/journey/traveller", Fill::Text("Ada")),
            ("/journey/by", Fill::Choose("ship")),
            ("/journey/stops", Fill::AddItem),
            ("/journey/stops/0/city", Fill::Text("Oslo")),
            ("/journey/stops/0/nights", Fill::Text("3")),
            ("/journey/stops", Fill::AddItem),
            ("/journey/stops/1/city", Fill::Text("Bergen")),
        ],
        says: "Ada goes by ship: Oslo for 3, Bergen for 1",
    }),
    slow: call("trigger-long-running-operation", r#"{"duration":60,"steps":300}"#, "of 300"),
    elicits: CONTRACT_ELICITS,
    declined: "declined",
    elicits_stateless: Offer::Has(()),
    elicits_url: call("trigger-url-elicitation", r#"{"url":"https://login.example/consent"}"#, "decline"),
    samples: call("trigger-sampling-request", r#"{"prompt":"Say something."}"#, "Say something."),
    completes: CONTRACT_COMPLETES,
    resource: CONTRACT_RESOURCE,
    updates: Offer::Has(call("toggle-subscriber-updates", "{}", "Started")),
    task: Offer::Has(CONTRACT_TASK),
    session_task: Offer::Has(CONTRACT_TASK),
    view: Offer::Has(View {
        call: call("show-clock", "{}", "A clock is shown"),
        shows: r"/\d\d:\d\d:\d\d UTC/.test(document.getElementById('time')?.textContent)",
        button: Some(("refresh", "refresh-clock")),
    }),
    logs: Logs { call: call("toggle-simulated-logging", "{}", "Logged one message of each level"), all_levels: true },
};

pub(super) static NPM: Subject = Subject {
    name: "npm server-everything",
    revisions: &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"],
    echo: call("echo", r#"{"message":"spoken by the browser"}"#, "Echo: spoken by the browser"),
    form: ANNOTATED,
    nested: Offer::Lacks(NO_OBJECT),
    slow: call("trigger-long-running-operation", r#"{"duration":60,"steps":300}"#, "of 300"),
    elicits: CONTRACT_ELICITS,
    declined: "declined",
    elicits_stateless: Offer::Lacks(STATELESS),
    elicits_url: call("trigger-url-elicitation", r#"{"url":"https://login.example/consent"}"#, "decline"),
    samples: call("trigger-sampling-request", r#"{"prompt":"Say something."}"#, "Say something."),
    completes: CONTRACT_COMPLETES,
    resource: CONTRACT_RESOURCE,
    updates: Offer::Has(call("toggle-subscriber-updates", "{}", "Started")),
    task: Offer::Lacks(STATELESS),
    session_task: Offer::Has(CONTRACT_TASK),
    view: Offer::Lacks(Lack { why: "no tool has a view", proof: Proof::NoTool(has_view) }),
    logs: Logs { call: call("toggle-simulated-logging", "{}", "simulated"), all_levels: false },
};

pub(super) static FASTMCP: Subject = Subject {
    name: "FastMCP",
    revisions: ALL,
    echo: call("echo", r#"{"message":"spoken by the browser"}"#, "Echo: spoken by the browser"),
    form: Form {
        tool: "count",
        fields: &[("/to", Fill::Text("3")), ("/pause", Fill::Text("0.01"))],
        says: "counted to 3",
    },
    nested: Offer::Has(Form {
        tool: "plan",
        fields: &[
            ("/trip/traveller", Fill::Text("Ada")),
            ("/trip/by", Fill::Choose("ship")),
            ("/trip/stops", Fill::AddItem),
            ("/trip/stops/0/city", Fill::Text("Oslo")),
            ("/trip/stops/0/nights", Fill::Text("3")),
            ("/trip/stops", Fill::AddItem),
            ("/trip/stops/1/city", Fill::Text("Bergen")),
        ],
        says: "Ada goes by ship: Oslo for 3, Bergen for 1",
    }),
    slow: call("count", r#"{"to":300,"pause":0.2}"#, "of 300"),
    elicits: Form {
        tool: "greet",
        fields: &[("/name", Fill::Text("Ada")), ("/age", Fill::Text("36"))],
        says: "Hello Ada, 36",
    },
    declined: "action: decline",
    elicits_stateless: Offer::Has(()),
    elicits_url: call("consent", r#"{"url":"https://login.example/consent"}"#, "action: decline"),
    samples: call("poem", r#"{"about":"rust"}"#, "Write a poem about rust."),
    completes: Completion {
        prompt: "explain",
        typed: "ti",
        value: "timber",
        others: &[],
        says: "Explain timber, please.",
    },
    resource: Resource {
        uri: "panels://greeting",
        says: "Hello from a resource",
        template: "panels://greeting/{name}",
        value: "Ada",
        template_says: "Hello, Ada!",
    },
    updates: Offer::Lacks(Lack {
        why: "FastMCP does not offer subscriptions to resources",
        proof: Proof::NoCapability("/resources/subscribe"),
    }),
    task: Offer::Has(Task {
        call: call("research", r#"{"topic":"tides"}"#, "All about tides"),
        long: r#"{"topic":"tides","seconds":60}"#,
        question: None,
    }),
    session_task: Offer::Lacks(Lack {
        why: "FastMCP has the tasks of 2026-07-28 only",
        proof: Proof::AbsentIn("2025-11-25", "/tasks"),
    }),
    view: Offer::Has(View {
        call: call("card", r#"{"name":"Grace"}"#, "The card of Grace"),
        shows: "document.getElementById('text')?.textContent === 'The card of Grace'",
        button: None,
    }),
    logs: Logs { call: call("speak", "{}", "spoken"), all_levels: true },
};

fn takes_object(tool: &Value) -> bool {
    let properties = tool["inputSchema"]["properties"].as_object();
    let mut properties = properties.into_iter().flat_map(|properties| properties.values());
    properties.any(|property| property["type"] == "object" || property["$ref"].is_string())
}

fn has_view(tool: &Value) -> bool {
    tool["_meta"]["ui"].is_object()
}
