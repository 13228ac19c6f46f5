//! `couplet inspect --tap`: what a host starts instead of a server.
//!
//! The bytes are passed on by threads, as `couplet tap` does; the inspector has a thread with a runtime of its own, so
//! that nothing the page does can delay them.

use std::{sync::Arc, thread, time::Duration};

use couplet_inspector::{Inspector, PassiveTarget, PlaceKind};
use tokio::sync::oneshot;

use super::{Args, find::Finder, start};
use crate::{
    command::run_to_end,
    commands::tap::{self, Errors},
    exit::{Exit, Failure},
    output::Output,
    questions,
};

pub(super) fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let (ready, started) = oneshot::channel();
    let (opens, command) = (args.open, args.command.clone());
    let finder = Arc::new(Finder::new(&args.connection, output));
    thread::spawn(move || {
        let served = run_to_end(async {
            let (inspector, serving) = start(&args, finder).await?;
            if ready.send(Ok::<Inspector, Failure>(inspector)).is_ok() {
                serving.await;
            }
            Ok(())
        });
        // It failed before it was ready, so the sender is gone and the other side knows.
        drop(served);
    });
    let cannot = || Failure::new(Exit::Unreachable, "cannot start the inspector");
    let inspector = started.blocking_recv().map_err(|_| cannot())??;
    let words = command.join(" ");
    let name = command.first().map_or("server", String::as_str);
    let name = name.rsplit(['/', std::path::MAIN_SEPARATOR]).next().unwrap_or(name);
    let target = inspector.add_passive(name, &words, PlaceKind::Tap);
    target.connected("messages between a host and the server");
    let url = inspector.url();
    output.note(&format!("inspector: {url}"));
    if opens {
        let _ = questions::open(&url);
    }
    let (messages, lines) = (target.clone(), target.clone());
    let outcome = tap::pass(
        &command,
        Arc::new(move |direction, line| messages.message(direction, line.to_vec())),
        Errors::Reported(Box::new(move |line| lines.stderr(String::from_utf8_lossy(line)))),
    );
    end(&target, &outcome);
    match outcome? {
        0 => Ok(()),
        // The exit code of the server is passed on to the host.
        code => std::process::exit(code),
    }
}

/// Says that there will be no more messages, and lets a page that is open read it.
fn end(target: &PassiveTarget, outcome: &Result<i32, Failure>) {
    const LAST_EVENTS: Duration = Duration::from_millis(300);
    target.ended(match outcome {
        Ok(0) => "the server has ended".to_owned(),
        Ok(code) => format!("the server has ended with status {code}"),
        Err(failure) if failure.message.is_empty() => "the host has ended the server".to_owned(),
        Err(failure) => failure.message.clone(),
    });
    thread::sleep(LAST_EVENTS);
}
