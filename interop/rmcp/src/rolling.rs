//! How this client goes on while replicas of the server are rolled (SIGTERM) or killed (SIGKILL).
//!
//! A step that ends with a definite error is repeated, by the same client while replicas are rolled, and by a new one while
//! they are killed. A wrong value ends the program at once, and so does a lost session while replicas are only rolled.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::time::{sleep, timeout};

use crate::{Client, Handler, Outcome, Step, Wrong, calls::Calls, check_server, connect, script::Script, steps};

/// How often a step may fail in a row.
const ATTEMPTS: usize = 20;
/// How long a step may take. A replica may take the answer of one call with it, and not every SDK reports a 503.
const LIMIT: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(300);
/// How long a client goes on after its time until it has done each step.
const MORE: Duration = Duration::from_secs(25);

struct Run {
    is_killed: bool,
    calls: Arc<Calls>,
    steps: Vec<String>,
    until: Instant,
    at: usize,
    attempts: usize,
    failures: usize,
    timeouts: usize,
}

pub(crate) async fn run(
    is_killed: bool,
    (revision, url): (&str, &str),
    (calls, script): (Arc<Calls>, Option<Arc<Script>>),
    seconds: u64,
) -> Outcome {
    let steps = steps::wanted();
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut run = Run { is_killed, calls, steps, until, at: 0, attempts: 0, failures: 0, timeouts: 0 };
    let mut clients = 0;
    while !run.is_over() {
        clients += 1;
        if clients > 1 && !is_killed {
            return Err("the session was lost".into());
        }
        let handler = Handler::new(run.calls.clone(), script.clone());
        let opened = timeout(LIMIT, connect(&handler, revision, url)).await;
        if let Some(client) = run.noted("connect", opened).await? {
            check_server(&client, &handler)?;
            run.go_on(&client, &handler).await?;
            if !matches!(timeout(LIMIT, client.cancel()).await, Ok(Ok(_))) {
                println!("close failed");
            }
        }
    }
    let Run { at, failures, timeouts, .. } = run;
    println!("rounds {} clients {clients} failures {failures} timeouts {timeouts}", at / run.steps.len());
    run.calls.check()
}

impl Run {
    fn is_over(&self) -> bool {
        let more = if self.at < self.steps.len() { MORE } else { Duration::ZERO };
        self.calls.check().is_err() || Instant::now() >= self.until + more
    }

    /// Goes on with this client, until it is over or the client is of no use any more.
    async fn go_on(&mut self, client: &Client, handler: &Handler) -> Outcome {
        while !self.is_over() {
            let name = self.steps[self.at % self.steps.len()].clone();
            let outcome = timeout(LIMIT, one(&name, client, handler)).await;
            if self.noted(&name, outcome).await?.is_some() {
                self.at += 1;
            } else if self.is_killed {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Notes what came of something. Returns nothing if it has to be repeated.
    async fn noted<T>(
        &mut self,
        name: &str,
        outcome: Result<Outcome<T>, tokio::time::error::Elapsed>,
    ) -> Outcome<Option<T>> {
        let error = match outcome {
            Ok(Ok(value)) => {
                self.attempts = 0;
                return Ok(Some(value));
            }
            Ok(Err(error)) if error.is::<Wrong>() => return Err(error),
            Ok(Err(error)) => error,
            Err(_) => {
                self.timeouts += 1;
                format!("{name}: no answer within {LIMIT:?}").into()
            }
        };
        println!("failed {name} {error}");
        self.failures += 1;
        self.attempts += 1;
        if self.attempts > ATTEMPTS {
            return Err(format!("{name} failed {} times: {error}", self.attempts).into());
        }
        sleep(PAUSE).await;
        Ok(None)
    }
}

async fn one(name: &str, client: &Client, handler: &Handler) -> Outcome {
    match &handler.script {
        Some(script) => script.one(name, client, handler).await,
        None => Step::named(name)?.run(client, handler, true).await,
    }
}
