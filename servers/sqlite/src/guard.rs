//! Restrictions of untrusted statements.

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

/// The number of virtual machine steps between checks of the timeout.
const STEPS: i32 = 1_000;

/// Pragmas that only read the schema.
const READ_ONLY_PRAGMAS: [&str; 8] = [
    "data_version",
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Restricts a connection for untrusted statements, which are interrupted when `stop` is set or the timeout is over.
pub(crate) fn set(connection: &Connection, write: bool, limits: &Limits, stop: Arc<AtomicBool>) -> Result<()> {
    // The database itself may be malicious.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    if !write {
        connection.pragma_update(None, "query_only", true)?;
    }
    for (limit, most) in [
        // No step takes long, because no value is long; the timeout is checked between steps.
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
    // Last, because it denies further settings.
    connection.authorizer(Some(if write { changing } else { reading }))
}

fn reading(asked: AuthContext<'_>) -> Authorization {
    allow(match asked.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => is_harmless(function_name),
        AuthAction::Pragma { pragma_name, .. } => is_read_only(pragma_name),
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
        AuthAction::Pragma { pragma_name, .. } => is_read_only(pragma_name),
        _ => true,
    })
}

fn is_harmless(function: &str) -> bool {
    !["fts3_tokenizer", "load_extension"].iter().any(|name| function.eq_ignore_ascii_case(name))
}

fn is_read_only(pragma: &str) -> bool {
    READ_ONLY_PRAGMAS.iter().any(|name| pragma.eq_ignore_ascii_case(name))
}

fn allow(yes: bool) -> Authorization {
    if yes { Authorization::Allow } else { Authorization::Deny }
}
