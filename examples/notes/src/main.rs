//! A server with state: created at startup, shared by its handlers, cleaned up at shutdown. Notes are resources that can
//! be subscribed to; a middleware counts the calls; the names of notes are completed.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use couplet::{
    ProtocolVersion,
    client::Filter,
    core::{Call, Change, Reply},
    prelude::*,
    server::{Next, NotFound, extract::Completing},
    types::CompletionReference,
};
use serde_json::json;

type Notes = Arc<Mutex<BTreeMap<String, String>>>;

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// Writes a note.
#[tool(idempotent)]
async fn write(name: String, text: String, State(notes): State<Notes>, ctx: Ctx) -> String {
    notes.lock().expect("no handler panicked").insert(name.clone(), text);
    ctx.server().updated(format!("notes://{name}"));
    format!("`{name}` is written")
}

/// A note.
#[resource("notes://{name}", mime_type = "text/plain", subscribable, complete(name = names))]
fn note(name: String, State(notes): State<Notes>) -> Result<String, NotFound> {
    notes.lock().expect("no handler panicked").get(&name).cloned().ok_or(NotFound)
}

/// Sums up a note.
#[prompt(complete(name = names))]
fn sum_up(name: String, State(notes): State<Notes>) -> String {
    let text = notes.lock().expect("no handler panicked").get(&name).cloned().unwrap_or_default();
    format!("Sum up in one sentence: {text}")
}

/// Completes the name of a note.
fn names(typed: Completing, State(notes): State<Notes>) -> Vec<String> {
    let notes = notes.lock().expect("no handler panicked");
    notes.keys().filter(|name| name.starts_with(&typed.value)).cloned().collect()
}

async fn count(call: Call, next: Next) -> Reply {
    CALLS.fetch_add(1, Ordering::SeqCst);
    next.run(call).await
}

fn server() -> Server<Notes> {
    Server::new("notes", "1.0.0").tool(write).resource(note).prompt(sum_up).middleware(count)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    for &version in ProtocolVersion::ALL {
        let notes = Notes::default();
        let client = Client::new("demo", "1.0.0")
            .versions([version])
            .connect(server().with_state(notes.clone()).build())
            .await?;
        let mut changes = client.listen(Filter::new().resource("notes://today")).await?;

        client.call("write", json!({ "name": "today", "text": "rain" })).await?.into_result()?;
        assert_eq!(changes.next().await, Some(Change::Updated("notes://today".into())));
        assert_eq!(client.read("notes://today").await?.all_text(), "rain");
        assert!(client.read("notes://tomorrow").await.is_err(), "there is no such note");

        let completion = client.complete(CompletionReference::prompt("sum_up"), "name", "to").await?;
        assert_eq!(completion.values, ["today"]);
        println!(
            "{version}: {} note, {} calls so far",
            notes.lock().expect("no handler panicked").len(),
            CALLS.load(Ordering::SeqCst)
        );
        client.close().await?;
    }
    assert!(CALLS.load(Ordering::SeqCst) >= 20);
    lifespan().await
}

/// The same server, with setup and cleanup of its state.
async fn lifespan() -> couplet::Result<()> {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (reader, writer) = tokio::io::split(theirs);
    let ended = Arc::new(AtomicUsize::new(0));
    let on_end = ended.clone();
    let serving = tokio::spawn(
        server()
            .lifespan(
                || async { Ok::<_, std::io::Error>(Notes::default()) },
                move |notes: Notes| async move {
                    on_end.store(notes.lock().expect("no handler panicked").len(), Ordering::SeqCst);
                },
            )
            .serve(couplet::stdio::pipe(reader, writer)),
    );
    let (reader, writer) = tokio::io::split(ours);
    let client = Client::new("demo", "1.0.0").connect(couplet::stdio::pipe(reader, writer)).await?;
    client.call("write", json!({ "name": "last", "text": "words" })).await?.into_result()?;
    client.close().await?;
    serving.await.expect("the server does not panic")?;
    assert_eq!(ended.load(Ordering::SeqCst), 1, "the state was put away with one note in it");
    Ok(())
}
