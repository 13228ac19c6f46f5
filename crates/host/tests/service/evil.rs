//! A server that says what it likes.

use std::sync::{Arc, Mutex};

use couplet_core::{BoxFuture, Call, Change, Description, Hub, Inputs, JsonText, Reply, ResultBody, Service};
use couplet_host::names::Kind;
use couplet_types::{Implementation, ProtocolVersion, RequestMethod, ServerCapabilities};
use serde_json::{Value, json};

type Handler = Box<dyn Fn(Call) -> BoxFuture<'static, Reply> + Send + Sync>;

/// A service by hand. Clones are the same.
#[derive(Clone)]
pub(crate) struct Evil(Arc<Inner>);

struct Inner {
    version: ProtocolVersion,
    hub: Hub,
    tools: Mutex<Value>,
    resources: Mutex<Value>,
    templates: Mutex<Value>,
    prompts: Mutex<Value>,
    instructions: Mutex<Option<String>>,
    handler: Handler,
    /// The way to the client of the last call, which outlives it.
    lasting: Mutex<Option<(Inputs, Call)>>,
}

impl Evil {
    pub(crate) fn new(
        version: ProtocolVersion,
        tools: Value,
        resources: Value,
        handler: impl Fn(Call) -> BoxFuture<'static, Reply> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            version,
            hub: Hub::new(),
            tools: Mutex::new(tools),
            resources: Mutex::new(resources),
            templates: Mutex::new(json!([])),
            prompts: Mutex::new(json!([])),
            instructions: Mutex::default(),
            handler: Box::new(handler),
            lasting: Mutex::default(),
        }))
    }

    /// A server with these tools, whose result is its name.
    pub(crate) fn named(name: &'static str, version: ProtocolVersion, tools: &[&str]) -> Self {
        let tools = tools.iter().map(|tool| json!({ "name": tool, "inputSchema": { "type": "object" } })).collect();
        Self::new(version, tools, json!([]), move |call| {
            let tool = call.tool_name().unwrap_or_default();
            let text = format!("{name}: {tool}");
            Box::pin(async move { value(&json!({ "content": [{ "type": "text", "text": text }] })) })
        })
    }

    pub(crate) fn service(&self) -> Arc<dyn Service> {
        Arc::new(self.clone())
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.0.hub
    }

    /// Replaces the tools, and notifies.
    pub(crate) fn set_tools(&self, tools: Value) {
        self.set(Kind::Tool, tools);
    }

    /// Replaces the definitions of a kind, and notifies.
    pub(crate) fn set(&self, kind: Kind, definitions: Value) {
        let (list, change) = match kind {
            Kind::Prompt => (&self.0.prompts, Change::Prompts),
            Kind::Template => (&self.0.templates, Change::Resources),
            _ => (&self.0.tools, Change::Tools),
        };
        *list.lock().unwrap() = definitions;
        self.0.hub.send(change);
    }

    /// Sets the instructions, which a client receives when it connects.
    pub(crate) fn set_instructions(&self, text: &str) {
        *self.0.instructions.lock().unwrap() = Some(text.to_owned());
    }

    /// Sets the resource templates.
    pub(crate) fn templates(self, templates: &[&str]) -> Self {
        let listed = templates.iter().map(|template| json!({ "uriTemplate": template, "name": template }));
        *self.0.templates.lock().unwrap() = listed.collect();
        self
    }

    /// The way to the client of the last call.
    pub(crate) fn lasting(&self) -> (Inputs, Call) {
        self.0.lasting.lock().unwrap().clone().unwrap()
    }
}

pub(crate) fn value(result: &Value) -> Reply {
    Reply::Complete(ResultBody::json(&JsonText::new(result.to_string()).unwrap()))
}

impl Service for Evil {
    fn describe(&self) -> Arc<Description> {
        let can: ServerCapabilities = serde_json::from_value(json!({
            "tools": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "prompts": { "listChanged": true },
        }))
        .unwrap();
        let mut about = Description::new(Implementation::new("evil", "1"), can);
        about.versions = vec![self.0.version];
        about.instructions.clone_from(&self.0.instructions.lock().unwrap());
        Arc::new(about)
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let reply = match call.known() {
            Some(RequestMethod::ListTools) => value(&json!({ "tools": *self.0.tools.lock().unwrap() })),
            Some(RequestMethod::ListResources) => value(&json!({ "resources": *self.0.resources.lock().unwrap() })),
            Some(RequestMethod::ListResourceTemplates) => {
                value(&json!({ "resourceTemplates": *self.0.templates.lock().unwrap() }))
            }
            Some(RequestMethod::ListPrompts) => value(&json!({ "prompts": *self.0.prompts.lock().unwrap() })),
            _ => {
                *self.0.lasting.lock().unwrap() = Some((call.inputs.lasting(), call.clone()));
                return (self.0.handler)(call);
            }
        };
        Box::pin(std::future::ready(reply))
    }

    fn hub(&self) -> &Hub {
        &self.0.hub
    }
}
