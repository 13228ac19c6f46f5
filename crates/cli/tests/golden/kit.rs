//! Helpers: run the command, and compare its output with files.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

/// The timeout of steps that take no time unless something is broken.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// The server of most tests.
pub(crate) fn shop() -> String {
    example("shop")
}

/// The server that is measured.
pub(crate) fn mill() -> String {
    example("mill")
}

/// The server that violates the protocol.
pub(crate) fn odd() -> String {
    example("odd")
}

/// Cargo builds the examples together with the tests, next to them.
fn example(name: &str) -> String {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(2).unwrap();
    let program = target.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "`{}` is not built: run `cargo test -p couplet-cli`", program.display());
    program.display().to_string()
}

/// Creates the command in a clean environment.
pub(crate) fn couplet() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_couplet"));
    for name in
        ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "TMUX", "TERM_PROGRAM", "KITTY_WINDOW_ID", "COLUMNS", "RUST_LOG"]
    {
        command.env_remove(name);
    }
    command.envs(places()).stdin(Stdio::null());
    command
}

/// Returns variables that keep the command away from the user's own files.
pub(crate) fn places() -> [(&'static str, &'static str); 4] {
    [
        ("TMPDIR", TEMPORARY),
        ("XDG_STATE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/state")),
        ("HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/person")),
        ("XDG_CONFIG_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/person/.config")),
    ]
}

const TEMPORARY: &str = env!("CARGO_TARGET_TMPDIR");

/// Runs the command: standard output, standard error, exit code.
pub(crate) fn run(args: &[&str]) -> String {
    show(args, &couplet().args(args).output().unwrap())
}

/// Runs the command with standard input.
pub(crate) fn run_with(args: &[&str], input: &str) -> String {
    let mut command = couplet();
    let mut child =
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    show(args, &child.wait_with_output().unwrap())
}

/// Formats a command and its output.
pub(crate) fn show(args: &[&str], output: &Output) -> String {
    let words: Vec<_> = args.iter().map(|word| shlex::try_quote(word).unwrap()).collect();
    let mut text = format!("$ couplet {}\n", words.join(" "));
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        text.push_str(&format!("! {line}\n"));
    }
    text.push_str(&format!("[exit {}]\n", output.status.code().map_or("none".to_owned(), |code| code.to_string())));
    plain(&text)
}

/// Masks what differs between runs: paths of programs, times, ports, random names.
pub(crate) fn plain(text: &str) -> String {
    let text = text.replace(&shop(), "shop").replace(&mill(), "mill").replace(&odd(), "odd");
    let text = text.replace(env!("CARGO_BIN_EXE_couplet"), "couplet");
    let text = numbers_before(&text, " ms");
    let text = text.replace(&format!("{TEMPORARY}/couplet-"), "TMP/couplet-");
    let made_up = [("TMP/couplet-", "N"), ("127.0.0.1:", "PORT"), ("as the task ", "ID"), ("(os error ", "N")];
    made_up.iter().fold(text, |text, (mark, with)| after(&text, mark, with))
}

/// Replaces the number before a mark.
fn numbers_before(text: &str, mark: &str) -> String {
    let mut pieces = text.split(mark).map(str::to_owned).collect::<Vec<_>>();
    let last = pieces.len() - 1;
    for piece in &mut pieces[..last] {
        let kept = piece.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        piece.replace_range(kept.., "N");
    }
    pieces.join(mark)
}

/// Replaces the name after a mark.
fn after(text: &str, mark: &str, with: &str) -> String {
    let mut pieces = text.split(mark);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')).unwrap_or(piece.len());
        out.push_str(mark);
        out.push_str(if end == 0 { "" } else { with });
        out.push_str(&piece[end..]);
    }
    out
}

/// Compares with a file; with `UPDATE_GOLDEN=1` the file is written.
#[track_caller]
pub(crate) fn golden(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/expected");
    couplet_testing::assert_golden(folder.join(format!("{name}.txt")), text);
}

/// Compares the output of several commands with one file.
#[track_caller]
pub(crate) fn check(name: &str, commands: &[&[&str]]) {
    let text: Vec<String> = commands.iter().map(|args| run(args)).collect();
    golden(name, &text.join("\n"));
}

/// A directory for one test. It is left behind if the test fails.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("golden-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
