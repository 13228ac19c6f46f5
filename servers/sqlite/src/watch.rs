//! Change detection: writes of this server, and of other processes on the same file.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use couplet::{
    Error, ErrorKind,
    prelude::*,
    server::{ServerHandle, WeakServerHandle},
};
use rusqlite::Connection;

use crate::{
    database::Database,
    names,
    schema::{self, Entry},
};

/// The poll interval.
const PACE: Duration = Duration::from_secs(1);

/// The last known state.
struct Seen {
    /// Held open: `data_version` changes when another connection writes.
    connection: Connection,
    version: i64,
    tables: BTreeMap<String, Entry>,
}

/// Adds a resource for each table, and starts polling.
pub(crate) async fn start(server: &ServerHandle, database: Arc<Database>) -> couplet::Result<()> {
    let (first, broken) =
        (database.clone(), |e| Error::new(ErrorKind::Config, "cannot read the schema").with_source(e));
    let opened = tokio::task::spawn_blocking(move || {
        let mut seen = Seen { connection: first.connect(false)?, version: 0, tables: BTreeMap::new() };
        seen.tables = seen.look()?.unwrap_or_default();
        Ok::<_, rusqlite::Error>(seen)
    });
    let seen = opened.await.expect("reading a schema does not panic").map_err(broken)?;
    list(server, &database, &BTreeMap::new(), &seen.tables);
    tokio::spawn(watch(server.downgrade(), database, seen));
    Ok(())
}

async fn watch(server: WeakServerHandle, database: Arc<Database>, mut seen: Seen) {
    loop {
        // At a write by this server, or after the poll interval.
        let _ = tokio::time::timeout(PACE, database.changed.notified()).await;
        let looked = tokio::task::spawn_blocking(move || (seen.look(), seen)).await;
        let (Some(server), Ok((changed, back))) = (server.upgrade(), looked) else { return };
        seen = back;
        // A read may fail while another process holds a lock; the next poll retries.
        if let Ok(Some(tables)) = changed {
            list(&server, &database, &seen.tables, &tables);
            notify(&server, &seen.tables, &tables);
            seen.tables = tables;
        }
    }
}

impl Seen {
    /// Polls once, and returns the tables if anything has changed.
    fn look(&mut self) -> rusqlite::Result<Option<BTreeMap<String, Entry>>> {
        let version = self.connection.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        if version == self.version {
            return Ok(None);
        }
        let entries = schema::entries(&self.connection)?;
        self.version = version;
        Ok(Some(entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect()))
    }
}

/// Updates the resources to match the tables.
fn list(server: &ServerHandle, database: &Arc<Database>, old: &BTreeMap<String, Entry>, new: &BTreeMap<String, Entry>) {
    for gone in old.keys().filter(|name| !new.contains_key(*name)) {
        server.remove_resource(&names::schema_of(gone));
    }
    for entry in new.values().filter(|entry| !old.contains_key(&entry.name)) {
        let (database, name) = (database.clone(), entry.name.clone());
        let read = move || crate::resources::sql(database.clone(), name.clone());
        let listed = resource(names::schema_of(&entry.name), read)
            .name(entry.name.as_str())
            .description(format!("The statements that create the {} `{}`.", entry.kind, entry.name))
            .mime_type("application/sql");
        // A name that is not valid in a URI is served by the template only.
        let _ = server.add_resource(listed.subscribable());
    }
}

/// Notifies subscribers. SQLite does not say which rows have changed, so all tables are reported.
fn notify(server: &ServerHandle, old: &BTreeMap<String, Entry>, new: &BTreeMap<String, Entry>) {
    if old != new {
        server.updated(names::SCHEMA);
    }
    let all = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    for name in all {
        if old.get(name) != new.get(name) {
            server.updated(names::schema_of(name));
        }
        server.updated(names::rows_of(name));
    }
}
