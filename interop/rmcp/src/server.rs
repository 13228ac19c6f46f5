//! The server of the interop suite, with `rmcp`: `rmcp-server stdio` or `rmcp-server http <port>`.
//!
//! It looks at what arrives: a client that sends something else than the suite tells it to gets an error.

mod long;
mod shared;

use std::{env, fmt::Debug, sync::Arc};

use rmcp::{
    ErrorData, Json, RoleServer, ServerHandler, ServiceExt, elicit_safe,
    handler::server::{tool::InputResponses, wrapper::Parameters},
    model::*,
    prompt, prompt_handler, prompt_router,
    service::{RequestContext, SubscriptionContext},
    tool, tool_handler, tool_router,
    transport::{
        stdio,
        streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use shared::Shared;

const QUESTION: &str = "Who are you?";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["stdio", ..] => drop(Interop::default().serve(stdio()).await?.waiting().await?),
        ["http", port] => {
            let sessions = Arc::new(LocalSessionManager::default());
            let interop = Interop::default();
            let service = StreamableHttpService::new(move || Ok(interop.clone()), sessions, Default::default());
            let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
        }
        _ => return Err("usage: rmcp-server stdio | http <port>".into()),
    }
    Ok(())
}

#[derive(Clone, Default)]
struct Interop(Arc<Shared>);

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct To {
    to: u32,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Person {
    name: String,
    age: i64,
}

elicit_safe!(Person);

#[derive(Deserialize, JsonSchema)]
struct Id {
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    topic: String,
}

#[tool_router]
impl Interop {
    #[tool(description = "Adds two integers.")]
    async fn add(&self, Parameters(Numbers { a, b }): Parameters<Numbers>) -> Result<Json<Sum>, ErrorData> {
        expect("the numbers", (a, b), (2, 3))?;
        Ok(Json(Sum { sum: a + b }))
    }

    #[tool(description = "Counts, and tells how far it is.")]
    async fn count(
        &self,
        Parameters(To { to }): Parameters<To>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        expect("the number", to, 3)?;
        let token = context.meta.get_progress_token().ok_or_else(|| wrong("nobody asked for progress"))?;
        for n in 1..=to {
            let progress = ProgressNotificationParam::new(token.clone(), n.into());
            let progress = progress.with_total(to.into()).with_message(format!("step {n}"));
            context.peer.notify_progress(progress).await.map_err(|e| wrong(e.to_string()))?;
        }
        Ok(format!("counted to {to}"))
    }

    #[tool(description = "Asks for a name and greets.")]
    async fn greet(
        &self,
        InputResponses(responses): InputResponses,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let person = if context.protocol_version() == Some(ProtocolVersion::V_2026_07_28) {
            let Some(responses) = responses else { return Ok(question()?.into()) };
            let answer = responses.get("person").ok_or_else(|| wrong("no answer"))?;
            expect("the action", answer["action"].as_str(), Some("accept"))?;
            serde_json::from_value(answer["content"].clone()).map_err(|e| wrong(e.to_string()))?
        } else {
            let answer = context.peer.elicit::<Person>(QUESTION).await.map_err(|e| wrong(e.to_string()))?;
            answer.ok_or_else(|| wrong("no answer"))?
        };
        expect("the answer", &person, &Person { name: "Ada".to_owned(), age: 36 })?;
        let greeting = format!("Hello {}, {}", person.name, person.age);
        Ok(CallToolResult::success(vec![ContentBlock::text(greeting)]).into())
    }

    #[tool(description = "Asks the model of the client for the id.")]
    async fn ask(
        &self,
        Parameters(Id { id }): Parameters<Id>,
        InputResponses(responses): InputResponses,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        long::ask(id, responses.as_ref(), &context).await
    }

    #[tool(description = "Waits to be cancelled.")]
    async fn wait(&self, Parameters(Id { id }): Parameters<Id>, context: RequestContext<RoleServer>) -> String {
        long::wait(&self.0, id, &context).await
    }

    #[tool(description = "Says what became of a call of `wait`.")]
    async fn waited(&self, Parameters(Id { id }): Parameters<Id>) -> String {
        self.0.waited(&id).to_owned()
    }

    #[tool(description = "Reports a step at which the stream is cut, and two more afterwards.")]
    async fn stall(
        &self,
        Parameters(Id { id }): Parameters<Id>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        long::stall(&id, &context).await
    }

    #[tool(description = "Reports that the greeting has changed.")]
    async fn touch(&self, context: RequestContext<RoleServer>) -> Result<String, ErrorData> {
        self.0.touch(&context).await
    }

    #[tool(description = "Asks for the id, as a task.")]
    async fn job(&self, Parameters(Id { id }): Parameters<Id>) -> Result<CallToolResponse, ErrorData> {
        Ok(self.0.job(id))
    }
}

#[prompt_router]
impl Interop {
    #[prompt(description = "Asks for an explanation.")]
    async fn explain(&self, Parameters(Topic { topic }): Parameters<Topic>) -> Result<GetPromptResult, ErrorData> {
        expect("the topic", topic.as_str(), "MCP")?;
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, format!("Explain {topic}, please."))]))
    }
}

#[tool_handler(router = Self::tool_router())]
#[prompt_handler(router = Self::prompt_router())]
impl ServerHandler for Interop {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_resources_subscribe();
        let capabilities = capabilities.enable_prompts().enable_completions().enable_tasks().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("interop", "1.0.0"))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let greeting = Resource::new("interop://greeting", "greeting").with_mime_type("text/plain");
        Ok(ListResourcesResult::with_all_items(vec![greeting]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        expect("the URI", request.uri.as_str(), "interop://greeting")?;
        let contents = ResourceContents::text("Hello from a resource", request.uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let topics = ["MCP", "tides"].into_iter().filter(|topic| topic.starts_with(&request.argument.value));
        let topics = CompletionInfo::new(topics.map(str::to_owned).collect()).map_err(wrong)?;
        Ok(CompleteResult::new(topics))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        expect("the URI", request.uri.as_str(), shared::GREETING)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        expect("the URI", request.uri.as_str(), shared::GREETING)
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.0.listen(context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.0.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.tasks.update_task(&request.task_id, request.input_responses)
    }
}

/// What the server answers in the revision in which it cannot ask.
fn question() -> Result<InputRequiredResult, ErrorData> {
    let form = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: QUESTION.to_owned(),
        requested_schema: ElicitationSchema::from_type::<Person>().map_err(|e| wrong(e.to_string()))?,
    };
    let request = InputRequest::Elicitation(ElicitRequest::new(form));
    Ok(InputRequiredResult::new(Some(InputRequests::from_iter([("person".to_owned(), request)])), None))
}

fn expect<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Result<(), ErrorData> {
    if found == expected { Ok(()) } else { Err(wrong(format!("{what}: {found:?}, not {expected:?}"))) }
}

fn wrong(what: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(what.into(), None)
}
