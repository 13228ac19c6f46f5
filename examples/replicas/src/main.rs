//! Two replicas of one server: a session that one of them opened is used through the other, which forwards its requests.
//!
//! Without an argument the replicas are in one process, and so is their store. With the URL of a Redis
//! (`redis://`, `rediss://`, `redis+sentinel://`, `redis+cluster://`) the store is there, as it is in production.

use std::sync::Arc;

use couplet::{
    core::MemoryBus,
    http::server::{EventStore, HttpTransport, MemorySessions, Replica, SessionStore},
    prelude::*,
    redis::{Keys, Redis, RedisBus, RedisEvents, RedisSessions},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// 32 random bytes, the same for all replicas. In production they come from a file of secrets.
const KEY: [u8; 32] = [7; 32];

/// Says where the call ran.
#[tool]
fn place(State(name): State<&'static str>) -> &'static str {
    name
}

/// What the replicas share.
#[derive(Clone)]
struct Shared {
    sessions: Arc<dyn SessionStore>,
    events: Option<Arc<dyn EventStore>>,
    redis: Option<Redis>,
    bus: MemoryBus,
}

fn shared() -> couplet::Result<Shared> {
    let bus = MemoryBus::new();
    let Some(url) = std::env::args().nth(1) else {
        return Ok(Shared { sessions: Arc::new(MemorySessions::new()), events: None, redis: None, bus });
    };
    let redis = Redis::builder(&url, Keys::new(KEY)).prefix("example:").build()?;
    let sessions = Arc::new(RedisSessions::new(&redis));
    Ok(Shared { sessions, events: Some(Arc::new(RedisEvents::new(&redis))), redis: Some(redis), bus })
}

/// Starts a replica, and returns its address.
async fn start(name: &'static str, shared: Shared) -> couplet::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let replica = Replica::new(format!("http://{address}/mcp"), KEY)?;
    let server = Server::new("replicated", "1.0.0").request_state_key(KEY).tool(place).with_state(name);
    let server = match &shared.redis {
        Some(redis) => server.change_bus(RedisBus::new(redis)),
        None => server.change_bus(shared.bus),
    };
    let transport = HttpTransport::from_listener(listener).endpoint(move |endpoint| {
        let endpoint = endpoint.sessions(shared.sessions).replica(replica);
        match shared.events {
            Some(events) => endpoint.events(events),
            None => endpoint,
        }
    });
    tokio::spawn(server.serve(transport));
    Ok(address)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let shared = shared()?;
    let (first, second) = (start("first", shared.clone()).await?, start("second", shared).await?);

    // A client of 2025-11-25 opens a session at the first replica.
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"demo","version":"1.0.0"}}}"#;
    let answer = post(&first, "", hello).await?;
    let mut headers = answer.lines().filter_map(|line| line.split_once(": "));
    let session = headers.find(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id")).map(|(_, id)| id);
    let session = format!("mcp-session-id: {}\r\n", session.expect("a session is open"));
    post(&first, &session, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;

    // The load balancer sends the next request to the second one. The call runs where the session is.
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"place","arguments":{}}}"#;
    let answer = post(&second, &session, call).await?;
    assert!(answer.contains("first"), "{answer}");
    println!("the second replica forwarded the call to the first");
    Ok(())
}

/// Sends a message, and returns the whole answer.
async fn post(address: &str, headers: &str, body: &str) -> couplet::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
