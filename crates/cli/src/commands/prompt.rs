//! `couplet prompt`: the messages of a prompt.

use std::{path::PathBuf, sync::Arc};

use couplet::types::Prompt;

use super::{TalkArgs, list::unknown};
use crate::{
    arguments::{Offered, strings},
    completion::lists::remember_prompts,
    exit::Failure,
    output::Output,
    show::{self, Renderer, Saver},
    target::{Session, TargetArgs},
};

/// The arguments of `couplet prompt`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Name of the prompt
    prompt: String,
    /// Arguments of the prompt: key=value
    arguments: Vec<String>,
    /// File or directory for images and other binary content; a path that ends with / is created
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    talk: TalkArgs,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = args.talk.open(&args.target)?;
    Session::with(opening, output, async |session: &Session| {
        let prompts = session.client.prompts().await?;
        remember_prompts(&session.target, &prompts);
        prompt(session, &prompts, &args.prompt, &args.arguments, args.output, output).await
    })
    .await
}

/// Gets a prompt and prints its messages.
pub(crate) async fn prompt(
    session: &Session,
    prompts: &[Prompt],
    name: &str,
    words: &[String],
    wanted: Option<PathBuf>,
    output: &Arc<Output>,
) -> Result<(), Failure> {
    let Some(prompt) = prompts.iter().find(|prompt| prompt.name == name) else {
        return Err(unknown("prompt", name, prompts.iter().map(|prompt| prompt.name.as_str())));
    };
    let offered: Vec<_> = prompt.arguments.iter().flatten().map(offered).collect();
    let given = strings(words, &offered)?;
    let result = session.client.prompt(name, given).await?;
    if output.json {
        return output.print(&show::json_line(&result)?);
    }
    let mut renderer = Renderer::new(output, Saver::new(wanted, name));
    for message in &result.messages {
        let role = message.role.as_str();
        let said = renderer.block(&message.content)?;
        output.print(&format!("{} {said}", output.out.strong(format!("{role}:"))))?;
    }
    Ok(())
}

fn offered(argument: &couplet::types::PromptArgument) -> Offered<'_> {
    Offered {
        name: &argument.name,
        description: argument.description.as_deref(),
        required: argument.required == Some(true),
    }
}
