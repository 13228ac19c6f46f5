//! `couplet repl`: an interactive session with completion.

mod complete;
mod editor;

use std::{sync::Arc, time::Duration};

use couplet::client::{Changes, Filter};
use couplet_serve::{Signal, Signals};
use rustyline::error::ReadlineError;

use self::{
    complete::Menu,
    editor::{Prompter, history},
};
use super::{
    TalkArgs, call::call, complete::reference, level, list::Offer, listen::changes, ping::once, prompt::prompt,
    read::read,
};
use crate::{
    arguments::nearest,
    exit::{Exit, Failure},
    output::{Output, text},
    show,
    target::{Session, TargetArgs, or_interrupted},
};

/// The arguments of `couplet repl`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    talk: TalkArgs,
}

/// The commands, their arguments and their descriptions.
pub(crate) const COMMANDS: &[(&str, &str, &str)] = &[
    ("list", "[tools|resources|prompts|NAME]", "list what the server offers"),
    ("call", "TOOL [key=value…]", "call a tool (`call` may be omitted)"),
    ("read", "URI [key=value…]", "read a resource"),
    ("prompt", "NAME [key=value…]", "get a prompt"),
    ("complete", "NAME argument[=typed]", "complete an argument"),
    ("listen", "[URI…]", "print changes until Ctrl-C"),
    ("log", "LEVEL", "set the minimum log level"),
    ("ping", "", "check that the server responds"),
    ("info", "", "show the server's capabilities"),
    ("help", "", "show this list"),
    ("quit", "", "end the session (or Ctrl-D)"),
];

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = args.talk.open(&args.target)?;
    Session::hold(opening, output, async |session: &Session| {
        output.note(&show::heading(session.client.server(), &session.target, output.err));
        output.note(&output.err.faint("Tab completes, `help` lists the commands, Ctrl-D quits."));
        let menu = Menu::new(session).await?;
        Repl { session, menu, output, changes: listen(session).await }.run().await
    })
    .await
}

/// Subscribes to changes of the lists, if the server supports it.
async fn listen(session: &Session) -> Option<Changes> {
    session.client.listen(Filter::new().tools().prompts().resources()).await.ok()
}

struct Repl<'a> {
    session: &'a Session,
    menu: Menu,
    output: &'a Arc<Output>,
    changes: Option<Changes>,
}

/// Whether to read another line.
enum Next {
    Line,
    End,
}

impl Repl<'_> {
    async fn run(mut self) -> Result<(), Failure> {
        let name = self.session.client.server().info.as_ref().map_or("couplet", |info| info.display_name());
        let prompt = format!("{}> ", text::cut(&text::line(name), 24));
        let mut prompter = Prompter::new(&self.menu, self.output)?;
        // A script gets the first error as its exit code; a user has seen it.
        let mut failed = None;
        loop {
            self.refresh().await?;
            let (back, line) = or_ended(prompter.ask(prompt.clone())).await?;
            prompter = back;
            let line = match line {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => {
                    self.output.note(
                        &self.output.err.faint("Ctrl-C stops a running command; `quit` or Ctrl-D ends the session."),
                    );
                    continue;
                }
                Err(_) => break,
            };
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            match or_interrupted(Box::pin(self.execute(line))).await {
                Ok(Next::Line) => {}
                Ok(Next::End) => break,
                Err(failure) if matches!(failure.exit, Exit::Unreachable | Exit::Terminated | Exit::HungUp) => {
                    return Err(failure);
                }
                Err(failure) => {
                    self.output.hide_bar();
                    failed = failed.or(Some(failure.exit));
                    self.report(failure);
                }
            }
        }
        prompter.save(history());
        match failed.filter(|_| !self.output.can_ask()) {
            Some(exit) => Err(Failure::silent(exit)),
            None => Ok(()),
        }
    }

    fn report(&self, failure: Failure) {
        if failure.exit == Exit::Interrupted {
            return self.output.note(&self.output.err.faint("interrupted"));
        }
        self.session.explain(failure).report(self.output);
    }

    /// Reloads the lists, if they have changed.
    async fn refresh(&mut self) -> Result<(), Failure> {
        let mut changed = false;
        while let Some(changes) = &mut self.changes {
            match tokio::time::timeout(Duration::ZERO, changes.next()).await {
                Ok(Some(_)) => changed = true,
                Ok(None) => self.changes = None,
                Err(_) => break,
            }
        }
        if changed { self.menu.reload(self.session).await } else { Ok(()) }
    }

    async fn execute(&self, line: &str) -> Result<Next, Failure> {
        let Some(words) = shlex::split(line) else {
            return Err(Failure::usage("cannot split the line into words").hint("check for a missing quote"));
        };
        let Some((command, rest)) = words.split_first() else { return Ok(Next::Line) };
        let (first, more) = rest.split_first().map_or((None, rest), |(first, more)| (Some(first.as_str()), more));
        let (session, output) = (self.session, self.output);
        match (command.as_str(), first) {
            ("quit" | "exit", _) => return Ok(Next::End),
            ("help" | "?", _) => output.print(&help(output))?,
            ("info", _) => output.print(&show::about(session.client.server(), &[], output.out))?,
            ("list" | "ls", what) => self.list(what).await?,
            ("call", Some(tool)) => self.call(tool, more).await?,
            ("read", Some(uri)) => read(session, uri, more, None, output).await?,
            ("prompt", Some(name)) => {
                let prompts = session.client.prompts().await?;
                prompt(session, &prompts, name, more, None, output).await?;
            }
            ("complete", Some(of)) => self.complete(of, more).await?,
            ("listen", _) => changes(session, rest, None, output).await?,
            ("log", Some(name)) => {
                let level =
                    level(name).map_err(|what| Failure::usage(format!("unknown log level `{name}`")).hint(what))?;
                session.client.set_log_level(level).await?;
            }
            ("ping", _) => {
                let took = once(&session.client).await?;
                output.print(&format!("answered in {:.1} ms\n", took.as_secs_f64() * 1e3))?;
            }
            ("call" | "read" | "prompt" | "complete" | "log", None) => {
                let (_, takes, _) = COMMANDS.iter().find(|(name, ..)| name == command).unwrap_or(&("", "", ""));
                return Err(
                    Failure::usage(format!("`{command}` needs an argument")).hint(format!("usage: {command} {takes}"))
                );
            }
            (tool, _) if self.menu.has_tool(tool) => self.call(tool, rest).await?,
            (unknown, _) => {
                let names = self.menu.tools();
                let known = COMMANDS.iter().map(|(name, ..)| *name).chain(names.iter().map(String::as_str));
                let failure = Failure::usage(format!("`{unknown}` is neither a command nor a tool"));
                return Err(match nearest(unknown, known) {
                    Some(near) => failure.hint(format!("did you mean `{near}`?")),
                    None => failure.hint("`help` lists the commands"),
                });
            }
        }
        Ok(Next::Line)
    }

    async fn list(&self, what: Option<&str>) -> Result<(), Failure> {
        let offer = Offer::of(self.session, what).await?;
        let page = match what {
            None | Some("tools" | "resources" | "prompts") => offer.to_text(self.output),
            Some(name) => offer.one(name, self.output)?,
        };
        self.output.print(page.trim_start_matches('\n'))?;
        offer.check(self.output)
    }

    async fn call(&self, tool: &str, words: &[String]) -> Result<(), Failure> {
        let tools = self.session.client.tools().await?;
        call(self.session, &tools, tool, words, None, self.output).await
    }

    async fn complete(&self, of: &str, words: &[String]) -> Result<(), Failure> {
        let Some(argument) = words.first() else {
            return Err(Failure::usage("`complete` needs an argument").hint("usage: complete NAME argument[=typed]"));
        };
        let (argument, typed) = argument.split_once('=').unwrap_or((argument, ""));
        let found = self.session.client.complete(reference(of), argument, typed).await?;
        found.values.iter().try_for_each(|value| self.output.print(&format!("{}\n", self.output.said(value))))
    }
}

/// Waits for a line, or for SIGTERM or SIGHUP. Ctrl-C is handled by the editor.
async fn or_ended<T>(line: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let Ok(mut signals) = Signals::new() else { return line.await };
    let ended = async {
        loop {
            match signals.next().await {
                Signal::Interrupt => {}
                signal => return signal,
            }
        }
    };
    tokio::select! {
        line = line => line,
        signal = ended => Err(Failure::silent(signal.into())),
    }
}

fn help(output: &Output) -> String {
    let entries: Vec<_> = COMMANDS
        .iter()
        .map(|(name, takes, does)| show::Entry {
            name: (*name).to_owned(),
            more: if takes.is_empty() { String::new() } else { format!(" {takes}") },
            description: (*does).to_owned(),
        })
        .collect();
    show::columns(&entries, output.out)
}
