//! `couplet`: a command-line client for Model Context Protocol servers, in any revision, over any transport.
//!
//! ```text
//! couplet list "node server.js"
//! couplet call https://example.com/mcp forecast city=Oslo days=3
//! couplet run https://example.com/mcp             # a remote server, for hosts that support only stdio
//! couplet tap --log session.jsonl -- my-server    # records the messages between a host and a server
//! couplet bench "node server.js" --rate 100,1000  # latency at each rate
//! couplet new my-server                           # a new server project
//! ```
//!
//! # Exit codes
//!
//! Exit codes are the same for every command, and stable. With `--json`, an error is one line on standard error:
//! `{"error":{"exit":2,"kind":"usage","message":"…"}}`, with `details`, `hint` and `rpc` if available.
//!
//! | code | kind | meaning |
//! |---|---|---|
//! | 0 | | success |
//! | 1 | `refused` | error from the tool or server, or failed check |
//! | 2 | `usage` | invalid command line: option, argument, tool or server name |
//! | 3 | `unreachable` | server not started, unreachable or gone; address in use |
//! | 4 | `protocol` | protocol error, or unsupported revision or feature |
//! | 5 | `timeout` | timeout |
//! | 6 | `unanswered` | user input required without a terminal, or declined |
//! | 7 | `unauthorized` | authentication required |
//! | 8 | `file` | local file not readable or writable |
//! | 129 | `hung-up` | hangup (SIGHUP) |
//! | 130 | `interrupted` | interrupt (SIGINT, Ctrl-C) |
//! | 143 | `terminated` | termination (SIGTERM) |
//!
//! # Modules
//!
//! * `command` has the subcommands as one enum; each has a module in `commands`. `help` has the longer help texts,
//!   `topics` those of `couplet help`.
//! * `target` resolves TARGET and opens a `Session` with the server.
//! * `arguments` converts `key=value` to JSON, guided by a schema.
//! * `completion` has the candidates for words, in the shell and in `couplet repl`.
//! * `questions` answers elicitation and sampling requests at the terminal.
//! * `show` renders results as text; `output` writes them to the right stream.
//! * `logs` sends the libraries' log lines to standard error.
//! * `exit` has the exit codes and the error type.
//!
//! Invariants:
//!
//! * Standard output has results only; notes, warnings and errors go to standard error.
//! * Text from a server never reaches a terminal unescaped: control characters are made visible.
//! * No command line is ever passed to a shell.
//! * No runtime is started, and nothing is read, before a command needs it.
//!
//! This crate knows the public API of `couplet`, and terminals. It must not know revisions: it asks the client.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod arguments;
mod command;
mod commands;
mod completion;
mod exit;
mod help;
mod logs;
mod output;
mod questions;
mod show;
mod target;
mod threads;
mod topics;

pub use command::main;
