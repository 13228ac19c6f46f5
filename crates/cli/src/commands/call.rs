//! `couplet call`: one call of a tool, with all that happens on the way.

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
    exit::{Exit, Failure},
    output::{Output, text},
    show::{self, Renderer, Saver},
    target::{Session, TargetArgs},
};

/// What to call.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// The tool
    tool: String,
    /// key=value as the schema of the tool says, key:=json as it is; key=@file and key:=@file take the value from a file,
    /// @file.json and @- (standard input) all of them
    arguments: Vec<String>,
    /// Where pictures and other files go: a file, or a folder (one that ends with / is made)
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    talk: TalkArgs,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = args.talk.open(&args.target)?;
    Session::with(opening, output, async |session: &Session| {
        let tools = session.client.tools().await?;
        call(session, &tools, &args.tool, &args.arguments, args.output, output).await
    })
    .await
}

/// The arguments of a tool that the server has, as its schema takes them.
pub(crate) fn arguments(tools: &[Tool], name: &str, words: &[String]) -> Result<Tree, Failure> {
    match tools.iter().find(|tool| tool.name == name) {
        Some(tool) => collect(words, &Schema::new(&tool.input_schema)),
        None => Err(unknown("tool", name, tools.iter().map(|tool| tool.name.as_str()))),
    }
}

/// Calls a tool and prints what comes of it.
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
            // What a tool says when it fails is no result.
            true => return Err(failed_tool(name, page.trim_end(), session.client.server().version)),
            false => output.print(&page)?,
        }
    }
    if failed { Err(Failure::silent(Exit::Refused)) } else { Ok(()) }
}

/// A tool that failed. Some cannot do in a revision what they can do in others, and say so.
fn failed_tool(name: &str, said: &str, version: ProtocolVersion) -> Failure {
    let failure = Failure::new(Exit::Refused, format!("the tool `{name}` failed: {said}"));
    let other = ProtocolVersion::ALL.iter().copied().rev().find(|other| *other != version);
    match other.filter(|_| said.contains(version.as_str())) {
        Some(other) => failure.hint(format!("the server may be able to do it in another revision: --revision {other}")),
        None => failure,
    }
}

async fn send(session: &Session, name: &str, arguments: &Tree, output: &Arc<Output>) -> Result<ToolResult, Failure> {
    let bar = Bar::new(output, name);
    let called = session.client.call_task(name, arguments).on_progress(move |progress| bar.show(&progress)).await;
    let result = match called {
        Ok(called) => {
            if let Called::Task(task) = &called {
                output.note(&output.err.faint(format!("it goes on as the task {}", text::line(task.id()))));
            }
            called.wait().await
        }
        Err(error) => Err(error),
    };
    output.hide_bar();
    result.map_err(|error| to_visit(error.into()))
}

/// A server may want pages to be visited first, and say so in an error.
fn to_visit(failure: Failure) -> Failure {
    let wanted = |rpc: &RpcError| {
        let data = rpc.data.as_ref().filter(|_| rpc.code == code::URL_ELICITATION_REQUIRED)?;
        data.parse::<UrlElicitationRequiredData>().ok()
    };
    let Some(data) = failure.rpc().and_then(wanted) else { return failure };
    let mut failure = Failure::new(Exit::Unanswered, "the server wants you to visit a page first");
    for ask in data.elicitations {
        failure = failure.detail(format!("{} {}", ask.message, ask.url.unwrap_or_default()));
    }
    failure.hint("visit it if you know it, then call the tool again")
}
