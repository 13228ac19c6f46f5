//! An owner that is paused for longer than its lease, and wakes after another replica has taken its session over.

use std::{process::Command, time::Duration};

use couplet::ProtocolVersion;
use couplet_interop::{expect, ledger};
use serde_json::{Value, json};

use crate::{
    Cluster, Outcome, raw, resume,
    scenarios::written,
    stream::{self, Heard},
};

/// Longer than a lease.
const LEASE: Duration = Duration::from_secs(40);
/// How many events the stream would have: it has not ended when its owner is paused.
const EVENTS: usize = 2000;

impl Cluster {
    /// The owner sends nothing in a session that it has lost, and stores no events of it.
    pub(crate) async fn paused(&self) -> Outcome<String> {
        let session = raw::open(&self.url, self.version).await?;
        let owner = self.process_of(&session).await?;
        let others = self.others(owner).await?;
        let (id, streamed) = (format!("paused-{owner}-pay"), format!("paused-{owner}-count"));
        let running = tokio::spawn({
            let (url, session, version, id) = (self.url.clone(), session.clone(), self.version, id.clone());
            async move { raw::call(&url, &session, version, "pay", &json!({ "id": id, "millis": 2000 })).await }
        });
        let heard = Heard::default();
        let reading = tokio::spawn({
            let (url, session, version, heard) = (self.url.clone(), session.clone(), self.version, heard.clone());
            let arguments = json!({ "id": streamed, "to": EVENTS, "millis": 20 });
            async move { stream::count(&url, &session, version, &arguments, &heard).await }
        });
        written(&format!("begin {id}")).await?;
        resume::until(|| heard.progress().len() >= resume::BEFORE).await?;
        // From here on events are only stored.
        reading.abort();
        signal("STOP", owner)?;
        let before = async {
            let next = self.taken_over(&session).await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>((
                next,
                stored(&others, &session, self.version, &heard).await?,
            ))
        };
        let before = before.await;
        signal("CONT", owner)?;
        let (next, before) = before?;
        expect("whether another process owns the session", next != owner, true)?;
        let answer = running.await?.unwrap_or_default();
        if answer.contains(&format!("paid {id}")) {
            return Err(format!("the paused owner has answered: {answer}").into());
        }
        expect("the owner after the first one woke", self.process_of(&session).await?, next)?;
        let ended = self.over(&streamed).await?;
        // The owner has had its turn, and other requests after it.
        for replica in &self.replicas {
            self.process_at(replica).await?;
        }
        let after = stored(&others, &session, self.version, &heard).await?;
        expect("the stored events after the first owner woke", after, before.clone())?;
        expect("whether its stream is without its end", before.len() < EVENTS, true)?;
        let done = ledger::count(&format!("paid {id}"))?;
        Ok(format!(
            "taken over from a paused owner, which sent nothing when it woke (its handler ended {done} times), {ended} and \
             stored no event after the {} that there were",
            before.len()
        ))
    }

    /// The URLs of the replicas that are not this process.
    async fn others(&self, process: u32) -> Outcome<Vec<String>> {
        let mut others = Vec::new();
        for replica in &self.replicas {
            if self.process_at(replica).await? != process {
                others.push(replica.clone());
            }
        }
        Ok(others)
    }

    /// Waits until the session is served again.
    async fn taken_over(&self, session: &str) -> Outcome<u32> {
        let work = async {
            loop {
                if let Ok(Ok(process)) = tokio::time::timeout(Duration::from_secs(5), self.process_of(session)).await {
                    return process;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        };
        Ok(tokio::time::timeout(LEASE, work).await.map_err(|_| "the session was not taken over")?)
    }

    /// The process that owns a session.
    pub(crate) async fn process_of(&self, session: &str) -> Outcome<u32> {
        let answer = raw::call(&self.url, session, self.version, "whoami", &json!({})).await?;
        let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
        let json = body.lines().find(|line| line.contains("jsonrpc")).ok_or_else(|| format!("no answer: {answer}"))?;
        let json: Value = serde_json::from_str(json.trim_start_matches("data:").trim())?;
        let text = json["result"]["content"][0]["text"].as_str().and_then(|text| text.parse().ok());
        Ok(text.ok_or_else(|| format!("no process: {json}"))?)
    }
}

/// The events of a stream that are stored after its first one, as each of these replicas says.
async fn stored(
    replicas: &[String],
    session: &str,
    version: ProtocolVersion,
    heard: &Heard,
) -> Outcome<Vec<(String, Value)>> {
    let all = heard.all();
    let (first, _) = all.first().ok_or("there was no event")?;
    let mut stored: Option<Vec<(String, Value)>> = None;
    for replica in replicas {
        let again = Heard::default();
        expect(
            "the status of a stream",
            resume::within(stream::resume(replica, session, version, first, &again)).await??,
            200,
        )?;
        expect("the stored events at another replica", &again.all(), stored.as_ref().unwrap_or(&again.all()))?;
        stored = Some(again.all());
    }
    let stored = stored.ok_or("there is no other replica")?;
    // What was heard is there as well.
    expect("the events that were heard", stored.get(..all.len() - 1), Some(&all[1..]))?;
    Ok(stored)
}

/// Sends a signal to a process.
pub(crate) fn signal(name: &str, process: u32) -> Outcome {
    let status = Command::new("kill").args(["-s", name, &process.to_string()]).status()?;
    expect("whether the signal was sent", status.success(), true)?;
    Ok(())
}
