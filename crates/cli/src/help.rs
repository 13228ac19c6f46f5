//! Long help texts: the forms of TARGET, and examples. The exit codes are in `exit`.

/// The head of `couplet --help`.
pub(crate) const ABOUT: &str = "\
Command-line client for Model Context Protocol (MCP) servers

Most commands take a TARGET, which is one of:
  https://example.com/mcp   a URL
  \"node server.js\"          a command, as one argument (never run by a shell)
  server.py                 a script (.py, .js or .ts)
  mcp.json, mcp.json:name   a configuration file, or one server in it
  weather, cursor:weather   a server that a host on this machine has configured";

/// Examples of the whole program, and where to read on.
pub(crate) const COUPLET: &str = "\
Examples:
  couplet list \"node server.js\"
  couplet call https://example.com/mcp forecast city=Oslo days=3
  couplet run https://example.com/mcp
  couplet install \"node server.js\" --host cursor

See `couplet COMMAND --help` for more about a command, `couplet help TOPIC` for
what commands share.";

pub(crate) const LIST: &str = "\
Examples:
  couplet list \"node server.js\"
  couplet list https://example.com/mcp tools
  couplet list server.py forecast";

pub(crate) const CALL: &str = "\
Argument syntax:
  key=value         a value, converted to the type in the tool's schema
  key.member=value  a member of an object
  key=a key=b       a list
  key:=json         JSON, sent unchanged
  key=@file         a value from a file (key:=@file for JSON)
  key=@@text        a value that starts with @
  @file.json, @-    several arguments as a JSON object, from a file or stdin

Examples:
  couplet call \"node server.js\" forecast city=Oslo days=3
  couplet call https://example.com/mcp search tags=red tags=ripe price.to=3
  couplet call server.py chart @data.json -o charts/
  couplet call server.py order --answer size=large";

pub(crate) const CARD: &str = "\
Examples:
  couplet card https://example.com/mcp
  couplet card https://example.com/mcp --make com.example/weather > card.json";

pub(crate) const READ: &str = "\
Examples:
  couplet read server.py notes://today
  couplet read server.py 'notes://{name}' name=today
  couplet read server.py logo -o logo.png";

pub(crate) const PROMPT: &str = "\
Examples:
  couplet prompt server.py review language=Rust";

pub(crate) const COMPLETE: &str = "\
Examples:
  couplet complete server.py review language=Ru
  couplet complete server.py 'notes://{name}' name=to";

pub(crate) const LISTEN: &str = "\
Examples:
  couplet listen https://example.com/mcp
  couplet listen server.py notes://today -n 1";

pub(crate) const RUN: &str = "\
A session-based server gets one connection (for a command, one process) per
client session, up to --connections. Stateless clients share a connection until
the server first asks for input. A stateless client answers by retrying its
call; the call waits at the server meanwhile and runs once. It runs again from
the start if the retry comes after 10 minutes, reaches another `couplet run`, or
finds all connections in use. A server that exits is restarted, up to 5 times in
a row.

Examples:
  couplet run https://example.com/mcp               # a remote server over stdio
  couplet run \"node server.js\" --http 8080          # a stdio server over HTTP";

pub(crate) const GATEWAY: &str = "\
CONFIG has the servers under `mcpServers`, as most hosts write them; the file of
a host can be used unchanged. A tool is offered as `server__tool`. Changes of
the file take effect at once, without a restart of servers that did not change.

Over HTTP, callers need the token that is printed at the start, unless the
configuration says otherwise. Profiles are at /mcp/NAME.

The first definitions of each server are stored in a lock file beside CONFIG. A
tool that is new or different later is hidden until it is approved.

Examples:
  couplet gateway gateway.json
  couplet gateway ~/.cursor/mcp.json --http 7777
  couplet gateway check gateway.json --connect
  couplet gateway status";

pub(crate) const GATEWAY_PINS: &str = "\
Exit code 1 means that something differs.

Examples:
  couplet gateway pins diff gateway.json
  couplet gateway pins approve gateway.json files
  couplet gateway pins approve gateway.json files/read_file files/prompt:review
  couplet gateway pins check gateway.json";

pub(crate) const GATEWAY_CONSENT: &str = "\
Gateways with `\"consent\": \"local\"` or `\"elicit-or-local\"` ask here. Without
an option, each question is shown as it comes, until Ctrl-C; what is not
answered goes on waiting. Several terminals can be open: the first answer counts.

Answers:
  once      allow this call
  session   allow calls of this target until the session of the caller ends
  always    allow them until the definition changes or the gateway restarts
  deny      deny this call

ID is the process of the gateway and the number of the question.

Examples:
  couplet gateway consent
  couplet gateway consent --list --json
  couplet gateway consent --answer once 4711.3";

pub(crate) const GATEWAY_GRANTS: &str = "\
A grant is an answer `session` or `always`. It ends with the session, with the
definition of its target, or with the gateway. Once it is revoked, the next call
needs an answer.

Examples:
  couplet gateway grants
  couplet gateway grants --revoke 4711.2";

pub(crate) const OPENAPI: &str = "\
Each operation becomes a tool. SCHEME is the name of a security scheme in the
document; where none has that name, `bearer` and `basic` work. VALUE is a key or
a token, `user:password`, or `id:secret` for the client credentials of OAuth.

A filter has one or more conditions with commas between them; `*` stands for any
text. Credentials are sent to the origin of the API only, and the model cannot
see or change them. URLs of the document must be public, unless --allow-private
is used.

Examples:
  couplet openapi petstore.yaml --list
  couplet openapi petstore.yaml --include tag:pet --exclude method:delete
  couplet openapi api.json --auth api_key=env:API_KEY
  couplet openapi https://example.com/openapi.json --http 127.0.0.1:8080
  couplet openapi api.json --base-url http://localhost:3000/v1";

pub(crate) const INSPECT: &str = "\
Without a target, the page lists the servers of hosts on this machine. The page
is served at a loopback address and needs the token in the printed URL.

With --tap it is used in a host's configuration, in place of the server's own
command: everything is passed on unchanged, and shown live. The URL is printed
to standard error.

Examples:
  couplet inspect \"node server.js\"
  couplet inspect https://example.com/mcp weather
  couplet inspect session.jsonl                     # a recording of `tap`
  couplet inspect --tap -- node server.js";

pub(crate) const TAP: &str = "\
Use it in a host's configuration, in place of the server's own command.

Examples:
  couplet tap --log session.jsonl -- node server.js
  couplet tap --log session.jsonl my-server --verbose";

pub(crate) const REPLAY: &str = "\
Examples:
  couplet replay session.jsonl                      # act as the server, on stdio
  couplet replay session.jsonl --to \"node server.js\"
  couplet replay session.jsonl --to server.py --ignore result.content[0].text";

pub(crate) const BENCH: &str = "\
Latency in an open loop is measured from when a request was due, so that a slow
server cannot hide its queue.

Examples:
  couplet bench \"node server.js\"
  couplet bench https://example.com/mcp echo text=hello --rate 100,1000
  couplet bench server.py --ping --in-flight 16 --svg latency.svg";

pub(crate) const GENERATE: &str = "\
The client has a function for each tool, with types from its schemas, and for
each prompt and resource template. Nothing that the server says becomes code.

The same definitions give the same text, so that --check finds changes in CI.
In a directory, the file is named after the server.

Examples:
  couplet generate rust \"node server.js\" --out src/weather.rs
  couplet generate typescript https://example.com/mcp --out src/ --tests
  couplet generate python server.py --out weather.py --check";

pub(crate) const NEW: &str = "\
Examples:
  couplet new my-server";

pub(crate) const LOCK: &str = "\
Examples:
  couplet lock \"node server.js\"
  couplet lock \"node server.js\" --check
  couplet call \"node server.js\" forecast city=Oslo --locked";

pub(crate) const LOGIN: &str = "\
Examples:
  couplet login https://example.com/mcp
  couplet login https://example.com/mcp --device";

pub(crate) const INSTALL: &str = "\
Examples:
  couplet install \"node server.js\" --host cursor,codex -e API_KEY
  couplet install https://example.com/mcp --name weather --all
  couplet install my-server --host zed --dry-run";

pub(crate) const SYNC: &str = "\
Examples:
  couplet sync --from cursor --host codex,zed
  couplet sync --from cursor --all weather --dry-run";

pub(crate) const DOCTOR: &str = "\
Examples:
  couplet doctor
  couplet doctor cursor:weather
  couplet doctor \"node server.js\"";

pub(crate) const LINT: &str = "\
Examples:
  couplet lint \"node server.js\"
  couplet lint server.py --least warning --fail-on warning
  couplet lint --rules";

pub(crate) const TEST: &str = "\
A file has a target and calls, each with expected results:
  target = \"node server.js\"
  [[call]]
  tool = \"add\"
  arguments = { a = 1, b = 2 }
  expect.text = \"3\"

See docs/test.md for all keys. Exit code 1 means that a result differs.

Examples:
  couplet test tests/server.toml
  couplet test tests/*.toml --revision all --junit report.xml
  couplet test tests/server.toml --filter forecast --update";

pub(crate) const PACK: &str = "\
Examples:
  couplet pack
  couplet pack --binary target/release/my-server --ask ./my-server";

pub(crate) const VALIDATE: &str = "\
Examples:
  couplet validate session.jsonl
  couplet validate tool.json --type Tool";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  couplet completions bash > ~/.local/share/bash-completion/completions/couplet
  couplet completions zsh > ~/.zfunc/_couplet
  couplet completions fish > ~/.config/fish/completions/couplet.fish";

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory, Parser};
    use unicode_width::UnicodeWidthStr;

    use crate::command::Cli;

    /// The program and its subcommands, and theirs.
    fn commands() -> Vec<Command> {
        let mut program = Cli::command();
        program.build();
        fn all(command: &Command) -> Vec<Command> {
            std::iter::once(command.clone()).chain(command.get_subcommands().flat_map(all)).collect()
        }
        all(&program)
    }

    #[test]
    fn help_fits_80_columns() {
        for mut command in commands() {
            for help in [command.render_help(), command.render_long_help()] {
                let help = help.to_string();
                let wide: Vec<_> = help.lines().filter(|line| line.width() > 80).collect();
                assert!(wide.is_empty(), "`{}`: {wide:#?}", command.get_name());
            }
        }
    }

    #[test]
    fn examples_are_valid_command_lines() {
        let mut count = 0;
        for mut command in commands() {
            let help = command.render_long_help().to_string();
            for example in help.lines().filter_map(|line| line.strip_prefix("  couplet ")) {
                let words = shlex::split(&format!("couplet {example}")).expect("quotes are closed");
                // What a shell would take for itself.
                let words = words.into_iter().take_while(|word| !["#", ">"].contains(&word.as_str()));
                if let Err(error) = Cli::try_parse_from(words) {
                    panic!("`couplet {example}`: {error}");
                }
                count += 1;
            }
        }
        assert!(count > 30, "{count} examples");
    }

    #[test]
    fn commands_are_described_with_an_imperative() {
        for command in commands().into_iter().skip(1) {
            let about = command.get_about().expect("every command is described").to_string();
            let verb = about.split(' ').next().unwrap_or_default();
            assert!(!verb.ends_with('s') && verb.starts_with(char::is_uppercase), "`{}`: {about}", command.get_name());
            assert!(!about.ends_with('.'), "`{}`: {about}", command.get_name());
        }
    }
}
