//! An owner that is paused for longer than its lease, and wakes after another replica has taken its session over.

use std::{process::Command, time::Duration};

use couplet_interop::{expect, ledger};
use serde_json::{Value, json};

use crate::{Cluster, Outcome, raw, scenarios::written};

/// Longer than a lease.
const LEASE: Duration = Duration::from_secs(40);

impl Cluster {
    /// The owner sends nothing in a session that it has lost.
    pub(crate) async fn paused(&self) -> Outcome<String> {
        let session = raw::open(&self.url, self.version).await?;
        let owner = self.process_of(&session).await?;
        let id = format!("paused-{}-{owner}", self.version);
        let running = tokio::spawn({
            let (url, session, version, id) = (self.url.clone(), session.clone(), self.version, id.clone());
            async move { raw::call(&url, &session, version, "pay", &json!({ "id": id, "millis": 2000 })).await }
        });
        written(&format!("begin {id}")).await?;
        signal("STOP", owner)?;
        let taken = self.taken_over(&session).await;
        signal("CONT", owner)?;
        let next = taken?;
        expect("whether another process owns the session", next != owner, true)?;
        let answer = running.await?.unwrap_or_default();
        if answer.contains(&format!("paid {id}")) {
            return Err(format!("the paused owner has answered: {answer}").into());
        }
        expect("the owner after the first one woke", self.process_of(&session).await?, next)?;
        let done = ledger::count(&format!("paid {id}"))?;
        Ok(format!("taken over from a paused owner, which sent nothing when it woke (its handler ended {done} times)"))
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

/// Sends a signal to a process.
pub(crate) fn signal(name: &str, process: u32) -> Outcome {
    let status = Command::new("kill").args(["-s", name, &process.to_string()]).status()?;
    expect("whether the signal was sent", status.success(), true)?;
    Ok(())
}
