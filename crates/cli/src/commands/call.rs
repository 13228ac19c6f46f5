//! `couplet call`: calls a tool, with progress, elicitation, sampling and tasks.

use std::{path::PathBuf, sync::Arc};

use couplet::{
    ProtocolVersion,
    client::ToolResult,
    tasks::{CallTask, Called},
    types::{RpcError, Tool, UrlElicitationRequiredData, code},
};

use super::{TalkArgs, list::unknown, progress::Bar};
use crate::{
    arguments::{Schema, Tree, collect},
    completion::lists::remember_tools,
    exit::{Exit, Failure},
    output::{Output, text},
    show::{self, Renderer, Saver},
    target::{LockArgs, Opening, Session, TargetArgs},
};

/// The arguments of `couplet call`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Name of the tool
    tool: String,
    /// Arguments of the tool: key=value, key:=json, key=@file, @file.json or @-
    arguments: Vec<String>,
    /// File or directory for images and other binary content; a path that ends with / is created
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    talk: TalkArgs,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = Opening { lock: args.lock.file(), ..args.talk.open(&args.target)? };
    Session::with(opening, output, async |session: &Session| {
        let tools = session.client.tools().await?;
        remember_tools(&session.target, &tools);
        call(session, &tools, &args.tool, &args.arguments, args.output, output).await
    })
    .await
}

/// Converts the arguments for a tool, as its schema requires.
pub(crate) fn arguments(tools: &[Tool], name: &str, words: &[String]) -> Result<Tree, Failure> {
    match tools.iter().find(|tool| tool.name == name) {
        Some(tool) => collect(words, &Schema::new(&tool.input_schema)),
        None => Err(unknown("tool", name, tools.iter().map(|tool| tool.name.as_str()))),
    }
}

/// Calls a tool and prints the result.
pub(crate) async fn call(
    session: &Session,
    tools: &[Tool],
    name: &str,
    words: &[String],
    wanted: Option<PathBuf>,
    output: &Arc<Output>,
) -> Result<(), Failure> {
    let arguments = arguments(tools, name, words)?;
    let result = send(session, name, &arguments, output).await?;
    let failed = result.is_error();
    let result = result.into_inner();
    if output.json {
        output.print(&show::json_line(&result)?)?;
    } else {
        let mut renderer = Renderer::new(output, Saver::new(wanted, name));
        let page = renderer.result(&result.content, result.structured_content.as_ref())?;
        match failed {
            // The text of a failed call is an error message, not a result.
            true => return Err(failed_tool(name, page.trim_end(), session.client.server().version)),
            false => output.print(&page)?,
        }
    }
    if failed { Err(Failure::silent(Exit::Refused)) } else { Ok(()) }
}

/// Creates the error for a failed tool. If its message names the revision, another revision is suggested.
fn failed_tool(name: &str, said: &str, version: ProtocolVersion) -> Failure {
    let failure = Failure::new(Exit::Refused, format!("the tool `{name}` failed: {said}"));
    let other = ProtocolVersion::ALL.iter().copied().rev().find(|other| *other != version);
    match other.filter(|_| said.contains(version.as_str())) {
        Some(other) => failure.hint(format!("the server may support this in another revision: --revision {other}")),
        None => failure,
    }
}

async fn send(session: &Session, name: &str, arguments: &Tree, output: &Arc<Output>) -> Result<ToolResult, Failure> {
    let bar = Bar::new(output, name);
    let called = session.client.call_task(name, arguments).on_progress(move |progress| bar.show(&progress)).await;
    let result = match called {
        Ok(called) => {
            if let Called::Task(task) = &called
                && !task.ended_at_once()
            {
                output.note(&output.err.faint(format!("running as the task {}", text::line(task.id()))));
            }
            called.wait().await
        }
        Err(error) => Err(error),
    };
    output.hide_bar();
    result.map_err(|error| url_required(error.into()))
}

/// Explains the error of a server that requires URL elicitation first.
fn url_required(failure: Failure) -> Failure {
    let wanted = |rpc: &RpcError| {
        let data = rpc.data.as_ref().filter(|_| rpc.code == code::URL_ELICITATION_REQUIRED)?;
        data.parse::<UrlElicitationRequiredData>().ok()
    };
    let Some(data) = failure.rpc().and_then(wanted) else { return failure };
    let mut failure = Failure::new(Exit::Unanswered, "the server requires a visit to a URL first");
    for ask in data.elicitations {
        failure = failure.detail(format!("{} {}", ask.message, ask.url.unwrap_or_default()));
    }
    failure.hint("open the URL if you trust it, then call the tool again")
}
