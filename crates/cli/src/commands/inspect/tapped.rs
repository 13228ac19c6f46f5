//! `couplet inspect --tap`: what a host starts instead of a server.
//!
//! The bytes are passed on by threads, as `couplet tap` does; the inspector has a thread with a runtime of its own, so
//! that nothing the page does can delay them.

use std::{sync::Arc, thread};

use couplet_inspector::{Inspector, PassiveTarget, PlaceKind};
use tokio::sync::oneshot;

use super::{Args, find::Finder, start};
use crate::{
    command::run_to_end,
    commands::tap,
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
    let _ended = Ended(target.clone());
    tap::pass(&command, Arc::new(move |direction, line| target.message(direction, line.to_vec())))
}

/// Says that there will be no more messages.
struct Ended(PassiveTarget);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.ended("the server has ended");
    }
}
