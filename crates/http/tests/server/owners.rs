//! Whatever becomes of replicas and of their store, a session runs at one of them at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::RequestContext;
use couplet_http::server::{Endpoint, HttpRequest};
use couplet_server::{
    Ctx, Server,
    extract::{Request, State},
    tool,
};
use serde_json::json;

use crate::{
    store::{Fault, TestStore},
    support::{POLLING, Session, call},
};

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// The calls of all replicas: for each session the replicas that began calls, in order.
#[derive(Default)]
struct Calls {
    begun: HashMap<String, Vec<usize>>,
    moves: usize,
    wrong: Vec<String>,
}

#[derive(Clone)]
struct Replica {
    number: usize,
    calls: Arc<Mutex<Calls>>,
}

impl Replica {
    /// Notes that a call begins; returns its number in the session.
    fn begin(&self, session: &str) -> usize {
        let mut calls = self.calls.lock().unwrap();
        let begun = calls.begun.entry(session.to_owned()).or_default();
        let moves = begun.last().is_some_and(|last| *last != self.number);
        begun.push(self.number);
        let number = begun.len();
        calls.moves += usize::from(moves);
        number
    }

    /// Checks that no other replica has begun a call since this one began.
    fn check(&self, session: &str, since: usize) {
        let mut calls = self.calls.lock().unwrap();
        let later = calls.begun[session][since..].iter().find(|other| **other != self.number).copied();
        if let Some(other) = later {
            calls.wrong.push(format!("a call at {} goes on after one at {other} began", self.number));
        }
    }
}

/// Works for some time, in small steps.
async fn work(State(replica): State<Replica>, request: Request<HttpRequest>, ctx: Ctx) -> &'static str {
    let session = request.session_id().unwrap().to_owned();
    let since = replica.begin(&session);
    for step in 0..100 {
        replica.check(&session, since);
        if step % 10 == 0 {
            ctx.progress(f64::from(step) / 100.0, "working").await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    replica.check(&session, since);
    "done"
}

fn replica(number: usize, calls: &Arc<Mutex<Calls>>, store: &Arc<TestStore>) -> Endpoint {
    let state = Replica { number, calls: calls.clone() };
    let server: Server<Replica> = Server::new("test", "1.0.0").tool(tool("work", work));
    Endpoint::new(server.with_state(state).build()).sessions(store.clone()).events(store.clone())
}

async fn run(seed: u64) -> (usize, usize, Vec<String>) {
    let (calls, store, mut dice) = (Arc::default(), Arc::new(TestStore::default()), Dice(seed));
    let replicas: Vec<_> = (0..3).map(|number| replica(number, &calls, &store)).collect();
    let mut sessions = Vec::new();
    for replica in &replicas {
        sessions.push(Session::open(replica, POLLING).await);
    }
    for id in 1..400 {
        let at = &replicas[usize::try_from(dice.roll(3)).unwrap()];
        let session = sessions[usize::try_from(dice.roll(3)).unwrap()].at(at);
        match dice.roll(12) {
            0 => store.break_all(Fault::Fails),
            1 => store.break_all(Fault::Hangs),
            2 => at.release_sessions().await,
            3..=5 => store.mend(),
            _ => {
                let message = call(id, "tools/call", &json!({ "name": "work", "_meta": { "progressToken": id } }));
                tokio::spawn(async move {
                    let mut reply = session.post(&message).await;
                    while reply.body.piece().await.is_some() {}
                });
            }
        }
        tokio::time::sleep(Duration::from_millis(dice.roll(6000))).await;
    }
    let calls = calls.lock().unwrap();
    (calls.begun.values().map(Vec::len).sum(), calls.moves, calls.wrong.clone())
}

#[tokio::test(start_paused = true)]
async fn a_session_runs_at_one_replica_at_a_time() {
    for seed in 1..=8 {
        let (begun, moves, wrong) = run(seed).await;
        assert!(wrong.is_empty(), "seed {seed}: {wrong:?}");
        assert!(begun > 20 && moves > 3, "seed {seed}: {begun} calls, {moves} moves");
    }
}
