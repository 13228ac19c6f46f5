//! How this client goes on while replicas of the server are rolled (SIGTERM) or killed (SIGKILL).
//!
//! A step that ends with a definite error is repeated, by the same client while replicas are rolled, and by a new one while
//! they are killed. A wrong value ends the program at once, and so does a lost session while replicas are only rolled.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::{Client, Handler, Outcome, Step, Wrong, check_server, connect, expect, text, tool};

/// How often a step may fail in a row.
const ATTEMPTS: usize = 20;
/// How long a step may take. A replica may take the answer of one call with it, and not every SDK reports a 503.
const LIMIT: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(300);

/// The calls whose executions are counted, each with an id of its own.
pub(crate) struct Calls {
    name: String,
    begun: AtomicU64,
    /// What a callback has found.
    wrong: Mutex<Option<String>>,
}

impl Calls {
    fn new_id(&self) -> String {
        format!("{}-{}", self.name, self.begun.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// The id that an elicitation is about: it has to be one of a call of this client.
    ///
    /// # Errors
    /// If it is not.
    pub(crate) fn asked(&self, message: &str) -> Result<String, String> {
        let id = message.trim_start_matches("Confirm ");
        let own = id.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix('-')?.parse().ok());
        if own.is_some_and(|number: u64| number <= self.begun.load(Ordering::SeqCst)) {
            return Ok(id.to_owned());
        }
        let wrong = format!("the elicitation of another client: {message}");
        *self.wrong.lock().unwrap_or_else(PoisonError::into_inner) = Some(wrong.clone());
        Err(wrong)
    }
}

struct Run {
    is_killed: bool,
    calls: Arc<Calls>,
    until: Instant,
    at: usize,
    attempts: usize,
    failures: usize,
    timeouts: usize,
}

/// The steps of the suite, and two whose executions are counted.
const STEPS: usize = Step::SUITE.len() + 2;

pub(crate) async fn run(is_killed: bool, (revision, url): (&str, &str), name: &str, seconds: u64) -> Outcome {
    let calls = Arc::new(Calls { name: name.to_owned(), begun: AtomicU64::new(0), wrong: Mutex::default() });
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut run = Run { is_killed, calls, until, at: 0, attempts: 0, failures: 0, timeouts: 0 };
    let mut clients = 0;
    while !run.is_over() {
        clients += 1;
        if clients > 1 && !is_killed {
            return Err("the session was lost".into());
        }
        let handler = Handler { counted: Some(run.calls.clone()), ..Handler::default() };
        let opened = timeout(LIMIT, connect(&handler, revision, url)).await;
        if let Some(client) = run.noted("connect", opened).await? {
            check_server(&client)?;
            run.go_on(&client, &handler).await?;
            if !matches!(timeout(LIMIT, client.cancel()).await, Ok(Ok(_))) {
                println!("close failed");
            }
        }
    }
    let Run { at, failures, timeouts, .. } = run;
    println!("rounds {} clients {clients} failures {failures} timeouts {timeouts}", at / STEPS);
    match run.calls.wrong.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(wrong) => Err(wrong.into()),
        None => Ok(()),
    }
}

impl Run {
    fn is_over(&self) -> bool {
        let wrong = self.calls.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.is_some() || Instant::now() >= self.until
    }

    /// Goes on with this client, until it is over or the client is of no use any more.
    async fn go_on(&mut self, client: &Client, handler: &Handler) -> Outcome {
        while !self.is_over() {
            let at = self.at % STEPS;
            let (name, outcome) = match Step::SUITE.get(at) {
                Some(step) => (step.name(), timeout(LIMIT, step.run(client, handler)).await),
                None if at == STEPS - 1 => ("confirm", timeout(LIMIT, confirm(client, &self.calls)).await),
                None => ("mark", timeout(LIMIT, mark(client, handler, &self.calls)).await),
            };
            if self.noted(name, outcome).await?.is_some() {
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

async fn mark(client: &Client, handler: &Handler, calls: &Calls) -> Outcome {
    let id = calls.new_id();
    handler.forget_progress();
    let result = client.call_tool(tool("mark", json!({ "id": id }))).await?;
    expect("the text", text(&result)?, format!("marked {id}"))?;
    let all = [1.0, 2.0, 3.0].map(|n| (n, Some(3.0), Some(format!("{id} {n}"))));
    expect("the progress", handler.heard().await, all.to_vec())?;
    println!("answered {id}");
    Ok(())
}

async fn confirm(client: &Client, calls: &Calls) -> Outcome {
    let id = calls.new_id();
    let result = client.call_tool(tool("confirm", json!({ "id": id }))).await?;
    expect("the text", text(&result)?, format!("confirmed {id}"))?;
    println!("answered {id}");
    Ok(())
}
