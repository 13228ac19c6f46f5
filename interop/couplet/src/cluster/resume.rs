//! Streams that are resumed after a replica was killed: what the store has of them is heard once.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use couplet::{ProtocolVersion, client::Filter, core::Change, prelude::*};
use couplet_interop::{expect, ledger};
use serde_json::json;

use crate::{
    Cluster, Outcome,
    paused::signal,
    raw,
    stream::{self, Heard},
};

/// How many events are heard before a replica is killed.
pub(crate) const BEFORE: usize = 10;
/// How often a session is opened until it is at the wanted replica.
const ATTEMPTS: usize = 32;
/// A session without an owner is taken over after its lease, of 15 seconds.
const LIMIT: Duration = Duration::from_secs(60);

impl Cluster {
    /// The replica that passes a stream on is killed: the call goes on at its owner, and so does the stream at another
    /// replica, to its end.
    pub(crate) async fn resume_forwarded(&self) -> Outcome<String> {
        let session = raw::open(&self.url, self.version).await?;
        let owner = self.process_of(&session).await?;
        let mut others = Vec::new();
        for replica in &self.replicas {
            let process = self.process_at(replica).await?;
            if process != owner {
                others.push((replica.clone(), process));
            }
        }
        let [(first, killed), (second, _)] = &others[..] else { return Err("two other replicas are needed".into()) };
        let (heard, id) = (Heard::default(), format!("resume-forwarded-{owner}"));
        let arguments = json!({ "id": id, "to": 60, "millis": 50 });
        let reading = tokio::spawn({
            let (first, session, version, heard) = (first.clone(), session.clone(), self.version, heard.clone());
            async move { stream::count(&first, &session, version, &arguments, &heard).await }
        });
        until(|| heard.progress().len() >= BEFORE).await?;
        signal("KILL", *killed)?;
        expect("the status of the call", reading.await??, 200)?;
        let (before, last) = (heard.progress().len(), heard.last()?);
        expect("whether the stream broke before its end", before < 60, true)?;
        let resumed = stream::resume(second, &session, self.version, &last, &heard);
        expect("the status of the resumed stream", within(resumed).await??, 200)?;
        expect("the progress", heard.progress(), (1..=60).collect())?;
        expect("the result", heard.result().as_deref(), Some("counted to 60"))?;
        expect("the executions", ledger::count(&format!("begin {id}"))?, 1)?;
        Ok(format!(
            "a stream of 60 events was passed on by a replica that was killed after {before}: none lost or doubled"
        ))
    }

    /// The owner of sessions is killed. Another replica takes them over and sends the rest of what is stored; the answers
    /// of calls that ran are lost, which clients learn; listeners go on.
    pub(crate) async fn resume(&self) -> Outcome<String> {
        let (client, owner) = self.connect_to(None).await?;
        let (listener, _) = self.connect_to(Some(owner)).await?;
        let session = self.session_at(owner).await?;
        let mut changes = listener.listen(Filter::new().resource("replica://note")).await?;

        let raw_heard = Heard::default();
        let reading = tokio::spawn({
            let (url, session, version, heard) = (self.url.clone(), session.clone(), self.version, raw_heard.clone());
            let arguments = json!({ "id": format!("resume-{owner}"), "to": 400, "millis": 50 });
            async move { stream::count(&url, &session, version, &arguments, &heard).await }
        });
        let heard = Arc::new(Mutex::new(Vec::new()));
        let calling = tokio::spawn(watch(client, format!("resume-client-{owner}"), heard.clone()));
        let progress = || heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
        until(|| raw_heard.progress().len() >= BEFORE).await?;
        // From here on its events are only stored.
        reading.abort();
        let before = raw_heard.progress().len();
        until(|| progress().len() >= 3 * BEFORE).await?;
        signal("KILL", owner)?;

        self.stored(&session, &raw_heard).await?;
        expect("whether events came from the store", raw_heard.progress().len() > before, true)?;
        let Err(why) = within(calling).await?? else { return Err("a call of a killed replica has a result".into()) };
        let progress = progress();
        expect("the progress of the client", &progress, &(1..=progress.len() as u64).collect())?;
        for id in [format!("resume-{owner}"), format!("resume-client-{owner}")] {
            expect("the executions", ledger::count(&format!("begin {id}"))?, 1)?;
        }
        self.goes_on(&mut changes).await?;
        Ok(format!(
            "an owner was killed: of {} stored events {before} were heard before and the others afterwards, none lost or \
             doubled; a client heard {} in order and then `{why}`; a listener went on",
            raw_heard.progress().len(),
            progress.len()
        ))
    }

    /// Resumes a stream until there is nothing more, and compares what was heard with what is stored.
    async fn stored(&self, session: &str, heard: &Heard) -> Outcome {
        for _ in 0..3 {
            let last = heard.last()?;
            let status = within(stream::resume(&self.url, session, self.version, &last, heard)).await??;
            match status {
                200 if heard.last()? != last => {}
                // There is nothing after it, and the call that ran is lost.
                400 => break,
                other => return Err(format!("the status of the resumed stream is {other}").into()),
            }
        }
        expect("the progress", heard.progress(), (1..=heard.progress().len() as u64).collect())?;
        let (first, rest) = match &heard.all()[..] {
            [(first, _), rest @ ..] => (first.clone(), rest.to_vec()),
            [] => return Err("there was no event".into()),
        };
        let again = Heard::default();
        within(stream::resume(&self.url, session, self.version, &first, &again)).await??;
        Ok(expect("everything that is stored", again.all(), rest)?)
    }

    /// A listener whose session was taken over hears of changes.
    async fn goes_on(&self, changes: &mut couplet::client::Changes) -> Outcome {
        let other = self.connect().await?;
        let work = async {
            loop {
                other.call("touch", ()).await?.into_result()?;
                match tokio::time::timeout(Duration::from_secs(2), changes.next()).await {
                    Ok(Some(Change::Updated(uri))) if uri == "replica://note" => return Ok(()),
                    Ok(change) => return Err(format!("the listener heard {change:?}").into()),
                    Err(_) => {}
                }
            }
        };
        within(work).await?
    }

    /// A client with a session, which a process owns.
    async fn connect_to(&self, owner: Option<u32>) -> Outcome<(Client, u32)> {
        for attempt in 0..ATTEMPTS {
            self.turn(attempt).await?;
            let client = self.connect().await?;
            let process = client.call("whoami", ()).await?.into_result()?.text().parse()?;
            if owner.is_none_or(|owner| owner == process) {
                return Ok((client, process));
            }
            client.close().await?;
        }
        Err("no session was opened at that replica".into())
    }

    /// A session that a process owns.
    async fn session_at(&self, owner: u32) -> Outcome<String> {
        for attempt in 0..ATTEMPTS {
            self.turn(attempt).await?;
            let session = raw::open(&self.url, self.version).await?;
            if self.process_of(&session).await? == owner {
                return Ok(session);
            }
        }
        Err("no session was opened at that replica".into())
    }

    /// Requests that only turn the load balancer: attempts of always as many requests as there are replicas would begin at
    /// the same replica each time, so after every four of them there is one request more.
    async fn turn(&self, attempt: usize) -> Outcome {
        for _ in 0..attempt / 4 {
            raw::ping(&self.url, "none", self.version).await?;
        }
        Ok(())
    }

    /// The process of a replica.
    pub(crate) async fn process_at(&self, replica: &str) -> Outcome<u32> {
        let client = Client::new("cluster", "1.0.0").versions([ProtocolVersion::V2026_07_28]);
        let client = client.connect(couplet::http::connect(replica)).await?;
        Ok(client.call("whoami", ()).await?.into_result()?.text().parse()?)
    }
}

/// Calls `count`, and notes its progress.
async fn watch(client: Client, id: String, heard: Arc<Mutex<Vec<u64>>>) -> Result<String, String> {
    let call = client.call("count", json!({ "id": id, "to": 400, "millis": 50 })).timeout(None);
    let call = call.on_progress(move |progress| {
        heard.lock().unwrap_or_else(PoisonError::into_inner).push(progress.progress as u64);
    });
    let result = call.await.map_err(|error| error.to_string())?;
    result.into_result().map(|result| result.text()).map_err(|error| error.to_string())
}

pub(crate) async fn until(holds: impl Fn() -> bool) -> Outcome {
    let work = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within(work).await
}

pub(crate) async fn within<T>(work: impl Future<Output = T>) -> Outcome<T> {
    Ok(tokio::time::timeout(LIMIT, work).await.map_err(|_| format!("it took more than {LIMIT:?}"))?)
}
