//! What a statement may do.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use rusqlite::{
    Connection, Result,
    config::DbConfig,
    hooks::{AuthAction, AuthContext, Authorization},
    limits::Limit,
};

use crate::database::Limits;

/// After how many steps of SQLite's machine the time is looked at.
const STEPS: i32 = 1_000;

/// Settings that tell something about the database, and change nothing.
const TELLING: [&str; 8] = [
    "data_version",
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Makes a connection safe for statements from anybody: it ends when `stop` says so, or the time is over.
pub(crate) fn set(connection: &Connection, write: bool, limits: &Limits, stop: Arc<AtomicBool>) -> Result<()> {
    // A database may have been made to harm whoever reads it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    if !write {
        connection.pragma_update(None, "query_only", true)?;
    }
    for (limit, most) in [
        // No single step of the machine takes long, because no value is long; time is looked at between the steps.
        (Limit::SQLITE_LIMIT_LENGTH, 8 << 20),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 100_000),
        (Limit::SQLITE_LIMIT_COLUMN, 500),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
        (Limit::SQLITE_LIMIT_VDBE_OP, 250_000),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 10),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    let end = Instant::now() + limits.time;
    connection.progress_handler(STEPS, Some(move || stop.load(Ordering::Relaxed) || Instant::now() >= end))?;
    // From here on nothing else can be set.
    connection.authorizer(Some(if write { changing } else { reading }))
}

fn reading(asked: AuthContext<'_>) -> Authorization {
    allow(match asked.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => is_harmless(function_name),
        AuthAction::Pragma { pragma_name, .. } => tells(pragma_name),
        _ => false,
    })
}

fn changing(asked: AuthContext<'_>) -> Authorization {
    allow(match asked.action {
        AuthAction::Attach { .. } | AuthAction::Detach { .. } | AuthAction::Unknown { .. } => false,
        // Each call is a transaction of its own.
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => false,
        AuthAction::CreateVtable { .. } => false,
        AuthAction::Function { function_name } => is_harmless(function_name),
        AuthAction::Pragma { pragma_name, .. } => tells(pragma_name),
        _ => true,
    })
}

fn is_harmless(function: &str) -> bool {
    !["fts3_tokenizer", "load_extension"].iter().any(|name| function.eq_ignore_ascii_case(name))
}

fn tells(pragma: &str) -> bool {
    TELLING.iter().any(|name| pragma.eq_ignore_ascii_case(name))
}

fn allow(yes: bool) -> Authorization {
    if yes { Authorization::Allow } else { Authorization::Deny }
}
