//! Many sessions, many streams, many handshakes.

use std::{
    fmt::{self, Display},
    sync::Arc,
    time::{Duration, Instant},
};

use couplet_http::server::HttpLimits;
use http::Method;
use serde_json::Value;
use tokio::{sync::Mutex, task::JoinSet};

use crate::peer::{
    Peer,
    http::{Events, Http, called, in_session, initialize, request, text_of},
    memory::{say, within_open_files},
};

/// How many connections share the work.
const WORKERS: usize = 8;

#[tokio::test]
async fn memory_comes_back_after_10_000_sessions_and_2_000_streams() {
    let streams = within_open_files(2_000);
    let room: [(&str, &dyn Display); 3] =
        [("sessions", &10_001), ("streams", &(streams + 1)), ("connections", &(streams + 100))];
    let peer = Peer::server(&room).await;
    come_and_go(&peer, 1_000, streams / 10).await;
    let few = settled(&peer).await;
    let began = Instant::now();
    let full = come_and_go(&peer, 10_000, streams).await;
    let once = settled(&peer).await;
    say(&format!("10,000 sessions and {streams} streams came and went in {:.1?}", began.elapsed()));
    come_and_go(&peer, 10_000, streams).await;
    let twice = settled(&peer).await;
    let each = (full.held - few.held) as f64 / 10_000.0 / 1024.0;
    say(&format!(
        "after 1,000 sessions {few}; with all open {full}, {each:.1} kB a session; after {once}; again {twice}"
    ));
    // What is held comes back to where it was after a few sessions.
    assert!(once.held <= few.held + few.held / 5, "{few}, then {once}");
    assert!(twice.held <= few.held + few.held / 5, "{few}, then {twice}");
    // The system's allocator keeps pages in which a little is still held, here and there. It uses them again.
    assert!(twice.resident <= once.resident + once.resident / 2, "{once}, then {twice}");
}

/// What a server has in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    /// What it has allocated and not freed, in bytes.
    held: u64,
    /// What the system gave it, in kB; 0 where that cannot be known.
    resident: u64,
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} kB held, {} kB resident", self.held / 1024, self.resident)
    }
}

async fn measure(peer: &Peer, http: &mut Http) -> Memory {
    let held = http.stats().await["held"].as_u64().expect("it is a number");
    Memory { held, resident: peer.memory().unwrap_or_default() }
}

/// Opens sessions and streams, looks what there is in memory, and closes them again.
async fn come_and_go(peer: &Peer, sessions: usize, streams: usize) -> Memory {
    let mut http = Http::connect(&peer.address).await;
    let ids = open_sessions(peer, sessions).await;
    assert_eq!(ids.len(), sessions);
    let mut open = open_streams(peer, &ids[..streams]).await;
    let stats = http.stats().await;
    assert_eq!((stats["sessions"].as_u64(), stats["streams"].as_u64()), (Some(sessions as u64), Some(streams as u64)));
    let full = measure(peer, &mut http).await;
    // One half of the streams is left by the client, the other ends with its session.
    drop(open.split_off(streams / 2));
    delete(peer, ids).await;
    for (_, mut stream) in open {
        assert_eq!(stream.next().await, None, "the stream of a session ends with it");
    }
    http.until(|stats| stats["sessions"] == 0 && stats["streams"] == 0).await;
    full
}

async fn open_sessions(peer: &Peer, count: usize) -> Vec<String> {
    let mut work = JoinSet::new();
    for worker in 0..WORKERS {
        let address = peer.address.clone();
        work.spawn(async move {
            let mut http = Http::connect(&address).await;
            let mut ids = Vec::new();
            for _ in (worker..count).step_by(WORKERS) {
                ids.push(http.open_session().await);
            }
            ids
        });
    }
    work.join_all().await.concat()
}

async fn open_streams(peer: &Peer, ids: &[String]) -> Vec<(Http, Events)> {
    let mut open = Vec::new();
    for id in ids {
        let mut http = Http::connect(&peer.address).await;
        let mut stream = http.send(request(Method::GET, &in_session(id), &Value::Null)).await.events();
        stream.next().await.expect("a stream begins with where it is");
        open.push((http, stream));
    }
    open
}

async fn delete(peer: &Peer, ids: Vec<String>) {
    let ids = Arc::new(Mutex::new(ids));
    let mut work = JoinSet::new();
    for _ in 0..WORKERS {
        let (address, ids) = (peer.address.clone(), ids.clone());
        work.spawn(async move {
            let mut http = Http::connect(&address).await;
            loop {
                let Some(id) = ids.lock().await.pop() else { return };
                let reply = http.send(request(Method::DELETE, &in_session(&id), &Value::Null)).await;
                assert_eq!(reply.0.status(), 204);
            }
        });
    }
    work.join_all().await;
}

/// What is in memory once it does not get less any more: connections end a little later than their streams.
async fn settled(peer: &Peer) -> Memory {
    let mut http = Http::connect(&peer.address).await;
    let mut least = measure(peer, &mut http).await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = measure(peer, &mut http).await;
        least = Memory { held: least.held.min(now.held), resident: least.resident.min(now.resident) };
    }
    least
}

#[tokio::test]
async fn twenty_thousand_handshakes_leave_a_small_server_that_serves() {
    let peer = Peer::server(&[]).await;
    let mut http = Http::connect(&peer.address).await;
    let session = http.open_session().await;
    let bare = peer.memory();
    let began = Instant::now();
    let mut work = JoinSet::new();
    for _ in 0..WORKERS {
        let address = peer.address.clone();
        work.spawn(async move {
            let mut http = Http::connect(&address).await;
            for _ in 0..20_000 / WORKERS {
                let reply = http.send(request(Method::POST, &[], &initialize())).await;
                assert_eq!(reply.0.status(), 200, "each takes the place of one that was never used");
                reply.bytes().await;
            }
        });
    }
    work.join_all().await;
    let most = HttpLimits::default().sessions;
    let (now, peak) = (peer.memory(), peer.peak());
    say(&format!(
        "20,000 handshakes in {:.1?}: {bare:?} kB before, {now:?} kB after, {peak:?} kB at most",
        began.elapsed()
    ));
    assert!(peak.is_none_or(|kb| kb < 60_000), "{peak:?} kB");
    // Whoever was there before is still served, and so is whoever needs no session.
    assert_eq!(text_of(&http.send(called("hello", 7, Some(&session))).await.json().await), "Hello!");
    assert_eq!(Http::connect(&peer.address).await.tool("hello").await, "Hello!");
    assert_eq!(http.stats().await["sessions"], most);
}
