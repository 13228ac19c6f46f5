//! `couplet generate`: a typed client of a server in Rust, TypeScript or Python.

mod files;

use std::{path::PathBuf, sync::Arc};

use clap::ValueEnum;
use couplet_generate::{Definitions, Generator, Language};
use serde_json::json;

use files::{File, Files};

use super::list::Offer;
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
    show,
    target::{Opening, Session, TargetArgs},
};

/// The arguments of `couplet generate`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Language, for the client of couplet, @modelcontextprotocol/client or mcp
    language: LanguageArg,
    #[command(flatten)]
    target: TargetArgs,
    /// File or directory to write (default: standard output)
    #[arg(short, long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Compare with the file instead of writing it; exit code 1 if it differs
    #[arg(long, requires = "out")]
    check: bool,
    /// Generate tests, too: beside the client, or in Rust as a part of it
    #[arg(long)]
    tests: bool,
    /// Name of the client's type (default: from the server's name)
    #[arg(long)]
    name: Option<String>,
}

/// A language on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LanguageArg {
    Rust,
    #[value(name = "typescript", alias = "ts")]
    TypeScript,
    Python,
}

impl From<LanguageArg> for Language {
    fn from(language: LanguageArg) -> Self {
        match language {
            LanguageArg::Rust => Self::Rust,
            LanguageArg::TypeScript => Self::TypeScript,
            LanguageArg::Python => Self::Python,
        }
    }
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let language = Language::from(args.language);
    if args.tests && args.out.is_none() && language != Language::Rust {
        return Err(Failure::usage("`--tests` needs `--out`: the tests are a file beside the client"));
    }
    let definitions = definitions(&args.target, output).await?;
    let generator = match &args.name {
        Some(name) => Generator::with_name(&definitions, name),
        None => Generator::new(&definitions),
    };
    let files = Files::of(&generator, language, args.out.as_deref(), args.tests)?;
    match &args.out {
        None if output.json => {
            output.print(&show::json_line(&json!({ "language": language.as_str(), "code": files.code() }))?)
        }
        None => output.print(files.code()),
        Some(_) if args.check => check(&files, output),
        Some(_) => write(&generator, &files, output),
    }
}

/// Requests the lists. All of them must be complete, as a list that fails would be a client without its functions.
async fn definitions(target: &TargetArgs, output: &Arc<Output>) -> Result<Definitions, Failure> {
    Session::with(Opening::of(target)?, output, async |session: &Session| {
        let offer = Offer::of(session, None).await?;
        offer.check(output)?;
        let mut definitions = Definitions::new().tools(offer.tools).prompts(offer.prompts).templates(offer.templates);
        definitions.server = session.client.server().info.as_ref().map(|info| info.name.clone());
        Ok(definitions)
    })
    .await
}

fn check(files: &Files, output: &Output) -> Result<(), Failure> {
    let mut different = Vec::new();
    for file in &files.list {
        if !file.is_current()? {
            different.push(format!("`{}`", file.path.display()));
        }
    }
    if different.is_empty() {
        return match output.json {
            true => output.print(&show::json_line(&json!({ "current": true }))?),
            false => Ok(()),
        };
    }
    let what = format!("the server differs from {}", different.join(" and "));
    Err(Failure::new(Exit::Refused, what).hint("generate it again, without --check"))
}

fn write(generator: &Generator, files: &Files, output: &Output) -> Result<(), Failure> {
    files.list.iter().try_for_each(File::write)?;
    if output.json {
        let paths: Vec<_> = files.list.iter().map(|file| &file.path).collect();
        return output.print(&show::json_line(&json!({ "files": paths, "functions": generator.functions() }))?);
    }
    let functions = text::count(generator.functions(), "function", "functions");
    for file in &files.list {
        let path = text::line(&file.path.to_string_lossy());
        let about = if file.is_tests { "tests" } else { &functions };
        output.print(&format!("{} {path}: {about}\n", output.out.good("generated:")))?;
    }
    Ok(())
}
