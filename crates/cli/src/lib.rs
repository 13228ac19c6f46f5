//! `couplet`: any server of the Model Context Protocol from the command line, in any revision, on any transport.
//!
//! ```text
//! couplet list "node server.js"
//! couplet call https://example.com/mcp forecast city=Oslo days=3
//! couplet run https://example.com/mcp            # a remote server for hosts that know only stdio
//! couplet tap --log talk.jsonl -- my-server      # between a host and a server, writing down what they say
//! couplet bench "node server.js" --rate 100,1000 # how long it lets people wait
//! couplet new my-server                          # a server to begin with
//! ```
//!
//! # Exit codes
//!
//! They are the same for every command, and stay what they are. With `--json`, a failure is one line on standard error:
//! `{"error":{"exit":2,"kind":"usage","message":"…"}}`, with `details`, `hint` and `rpc` where there are any.
//!
//! | code | kind | meaning |
//! |---|---|---|
//! | 0 | | all went well |
//! | 1 | `refused` | the tool or the server answered with an error, or a check found something wrong |
//! | 2 | `usage` | the command line is wrong: an option, a tool, an argument, the name of a server |
//! | 3 | `unreachable` | a server cannot be started or reached, or is gone; an address cannot be listened at |
//! | 4 | `protocol` | the other side does not speak the protocol, or not what was asked for |
//! | 5 | `timeout` | no answer came in time |
//! | 6 | `unanswered` | a question needs a person, and there is no terminal, or they refused |
//! | 7 | `unauthorized` | the server wants to know who asks |
//! | 8 | `file` | a file here cannot be read or written |
//! | 129 | `hung-up` | SIGHUP: the terminal is gone |
//! | 130 | `interrupted` | Ctrl-C (SIGINT) |
//! | 143 | `terminated` | SIGTERM |
//!
//! # How it is made
//!
//! * `command` has the subcommands as one enum; each has a module in `commands`.
//! * `target` finds out what TARGET is and opens a `Session` with it.
//! * `arguments` makes JSON of `key=value`, with the help of a schema.
//! * `questions` asks the person at the terminal what servers ask.
//! * `show` turns what comes back into text, `output` puts it where it belongs.
//! * `logs` lets the libraries' log lines out.
//! * `exit` is the table of exit codes, and the one type of failure.
//!
//! Invariants:
//!
//! * Standard output has results and nothing else; everything that is said about them goes to standard error.
//! * What a server says never reaches a terminal as it is: control characters are shown, not sent.
//! * No command line is ever given to a shell.
//! * No runtime is started, and nothing is read, before a command needs it.
//!
//! This crate knows the public API of `couplet` and terminals. It must not know revisions: it asks the client.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod arguments;
mod command;
mod commands;
mod exit;
mod logs;
mod output;
mod questions;
mod show;
mod target;

pub use command::main;
