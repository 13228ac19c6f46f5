//! A pipe between a client and a server that is listened to.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use couplet::stdio::{Pipe, pipe};
use couplet_core::{Limits, Service, Transport};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, duplex, split},
    task::JoinHandle,
};

use crate::{
    rows::Row,
    schema::{self, From},
};

/// What each side sends in the course of the scenario, and in which revisions: the tables of the specification.
const TOLD: &[(From, &str, &str)] = &[
    (From::Client, "initialize", "xxxx-"),
    (From::Client, "server/discover", "----x"),
    (From::Client, "ping", "xxxx-"),
    (From::Client, "tools/list", "xxxxx"),
    (From::Client, "tools/call", "xxxxx"),
    (From::Client, "resources/list", "xxxxx"),
    (From::Client, "resources/templates/list", "xxxxx"),
    (From::Client, "resources/read", "xxxxx"),
    (From::Client, "resources/subscribe", "xxxx-"),
    (From::Client, "resources/unsubscribe", "xxxx-"),
    (From::Client, "subscriptions/listen", "----x"),
    (From::Client, "prompts/list", "xxxxx"),
    (From::Client, "prompts/get", "xxxxx"),
    (From::Client, "completion/complete", "xxxxx"),
    (From::Client, "logging/setLevel", "xxxx-"),
    (From::Client, "notifications/initialized", "xxxx-"),
    (From::Client, "notifications/cancelled", "xxxxx"),
    (From::Client, "notifications/roots/list_changed", "xxxx-"),
    (From::Server, "sampling/createMessage", "xxxx-"),
    (From::Server, "roots/list", "xxxx-"),
    (From::Server, "elicitation/create", "--xx-"),
    (From::Server, "notifications/elicitation/complete", "---x-"),
    (From::Server, "notifications/progress", "xxxxx"),
    (From::Server, "notifications/message", "xxxxx"),
    (From::Server, "notifications/tools/list_changed", "xxxxx"),
    (From::Server, "notifications/prompts/list_changed", "xxxxx"),
    (From::Server, "notifications/resources/list_changed", "xxxxx"),
    (From::Server, "notifications/resources/updated", "xxxxx"),
    (From::Server, "notifications/subscriptions/acknowledged", "----x"),
];

type Transcript = Arc<Mutex<Vec<(From, Value)>>>;

/// Somebody who listens.
pub(crate) struct Tap {
    heard: Transcript,
    tasks: Vec<JoinHandle<()>>,
}

impl Tap {
    /// Serves a server, and returns the other end of its pipe.
    pub(crate) fn new(server: impl Service) -> (Self, Pipe) {
        let heard = Transcript::default();
        let (client, near) = duplex(64 * 1024);
        let (far, service) = duplex(64 * 1024);
        let (near_reader, near_writer) = split(near);
        let (far_reader, far_writer) = split(far);
        let (reader, writer) = split(service);
        let serving = pipe(reader, writer).serve(Arc::new(server), Limits::default());
        let tasks = vec![
            tokio::spawn(listen(From::Client, near_reader, far_writer, heard.clone())),
            tokio::spawn(listen(From::Server, far_reader, near_writer, heard.clone())),
            tokio::spawn(async { serving.await.expect("the server ends well") }),
        ];
        let (reader, writer) = split(client);
        (Self { heard, tasks }, pipe(reader, writer))
    }

    /// Waits for the end, and checks all that was said.
    pub(crate) async fn check(self, row: &Row) {
        for task in self.tasks {
            task.await.expect("both sides end");
        }
        let heard = std::mem::take(&mut *self.heard.lock().expect("nobody panics while holding it"));
        let mut told = BTreeSet::new();
        let mut asked: HashMap<(bool, String), String> = HashMap::new();
        for (from, message) in &heard {
            let by_client = *from == From::Client;
            let id = message.get("id").map(Value::to_string);
            match (message.get("method").and_then(Value::as_str), id) {
                (Some(method), Some(id)) => {
                    schema::request(row.version, *from, message);
                    told.insert((by_client, method));
                    let again = asked.insert((by_client, id), method.to_owned());
                    assert_eq!(again, None, "{}: an id was used twice: {message}", row.version);
                }
                (Some(method), None) => {
                    schema::notification(row.version, *from, message);
                    told.insert((by_client, method));
                }
                (None, Some(id)) => {
                    let method = asked.get(&(!by_client, id)).unwrap_or_else(|| panic!("nobody asked: {message}"));
                    schema::response(row.version, method, message);
                    for question in message["result"]["inputRequests"].as_object().into_iter().flat_map(|q| q.values())
                    {
                        schema::question(row.version, question);
                    }
                }
                (None, None) => panic!("{}: nothing was asked: {message}", row.version),
            }
        }
        let expected = TOLD.iter().filter(|t| row.is_in(t.2)).map(|t| (t.0 == From::Client, t.1)).collect();
        assert_eq!(told, expected, "{}: who said what", row.version);
    }
}

/// Passes lines on, and keeps them.
async fn listen(from: From, reader: impl AsyncRead + Unpin, mut writer: impl AsyncWrite + Unpin, heard: Transcript) {
    let mut lines = BufReader::new(reader).lines();
    while let Some(line) = lines.next_line().await.expect("lines of text") {
        let message = serde_json::from_str(&line).expect("a line is a message");
        heard.lock().expect("nobody panics while holding it").push((from, message));
        // Whoever has hung up does not mind.
        let _ = writer.write_all(format!("{line}\n").as_bytes()).await;
    }
    let _ = writer.shutdown().await;
}
