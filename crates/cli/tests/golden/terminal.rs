//! The command on a pseudo-terminal, read as a screen.
#![cfg(unix)]

use std::{
    fs,
    io::{Read, Write},
    path::Path,
    sync::{Arc, mpsc},
    thread,
    time::Instant,
};

use crate::kit::{Folder, TIMEOUT, golden, places, plain, shop};

const ROWS: u16 = 40;
const COLUMNS: u16 = 90;

/// Effects on a terminal besides text.
#[derive(Default)]
pub(crate) struct Tricks(usize);

impl vt100::Callbacks for Tricks {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.0 += 1;
    }

    fn set_window_title(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0 += 1;
    }
}

/// The command on a terminal of its own.
pub(crate) struct Terminal {
    keyboard: Arc<pty_process::blocking::Pty>,
    output: mpsc::Receiver<Vec<u8>>,
    screen: vt100::Parser<Tricks>,
    child: std::process::Child,
}

impl Terminal {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_with(args, &[])
    }

    pub(crate) fn start_with(args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start_in(Path::new("."), args, variables)
    }

    pub(crate) fn start_in(folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start_program(env!("CARGO_BIN_EXE_couplet"), folder, args, variables)
    }

    /// Starts another program, such as a shell.
    pub(crate) fn start_program(program: &str, folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let (pty, pts) = pty_process::blocking::open().unwrap();
        pty.resize(pty_process::Size::new(ROWS, COLUMNS)).unwrap();
        let mut command = pty_process::blocking::Command::new(program).args(args);
        for name in
            ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "TMUX", "STY", "TERM_PROGRAM", "KITTY_WINDOW_ID", "COLUMNS"]
        {
            command = command.env_remove(name);
        }
        command =
            command.current_dir(folder).env("TERM", "xterm-256color").envs(places()).envs(variables.iter().copied());
        let child = command.spawn(pts).unwrap();
        let pty = Arc::new(pty);
        let reader = pty.clone();
        let (sender, output) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Reading fails when the terminal is closed.
            while let Ok(count @ 1..) = (&*reader).read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = vt100::Parser::new_with_callbacks(
            ROWS.try_into().unwrap(),
            COLUMNS.try_into().unwrap(),
            0,
            Tricks::default(),
        );
        Self { keyboard: pty, output, screen, child }
    }

    /// Waits until the screen has a text.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.text().contains(text) {
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(_) => panic!("`{text}` is not there:\n{}", self.text()),
            }
        }
    }

    /// Waits until all rows together are as they should be: a text may go on in the next row.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, is_right: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !is_right(&self.screen.screen().rows(0, COLUMNS).collect::<String>()) {
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(_) => panic!("{what}:\n{}", self.text()),
            }
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        (&*self.keyboard).write_all(keys.as_bytes()).unwrap();
    }

    /// Answers a question: waits for it, types, and presses Enter.
    #[track_caller]
    fn answer(&mut self, question: &str, words: &str) {
        self.wait_for(question);
        self.press(&format!("{words}\r"));
    }

    /// What is on the screen.
    fn text(&self) -> String {
        let text = self.screen.screen().contents();
        plain(&text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"))
    }

    /// A text that is too long for a line of the screen, from where it begins to the next line that is not full.
    pub(crate) fn joined(&self, begins: &str) -> String {
        let screen = self.screen.screen();
        let mut text = String::new();
        for row in screen.rows(0, COLUMNS).skip_while(|row| !row.starts_with(begins)) {
            let full = row.chars().count() == usize::from(COLUMNS);
            text.push_str(&row);
            if !full {
                break;
            }
        }
        text
    }

    /// The same, with the colours.
    pub(crate) fn painted(&self) -> String {
        let text = self.screen.screen().contents_formatted();
        plain(&text.replace('\u{1b}', "␛").replace("\r\n", "\n"))
    }

    /// Waits for the end, and gives what can be seen then.
    pub(crate) fn end(&mut self) -> String {
        let deadline = Instant::now() + TIMEOUT;
        while let Ok(bytes) = self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.screen.process(&bytes);
        }
        let code = self.child.wait().unwrap().code();
        format!("{}\n[exit {}]\n", self.text().trim_end(), code.map_or("none".to_owned(), |code| code.to_string()))
    }
}

#[track_caller]
fn check(name: &str, args: &[&str]) {
    golden(&format!("terminal-{name}"), &Terminal::start(args).end());
}

#[test]
fn lists_fit_the_screen_and_are_painted() {
    let shop = shop();
    let mut terminal = Terminal::start(&["list", &shop]);
    let text = terminal.end();
    golden("terminal-list", &text);
    let mut terminal = Terminal::start(&["list", &shop, "forecast"]);
    terminal.end();
    golden("terminal-colours", &format!("{}\n", terminal.painted()));
}

#[test]
fn results() {
    let shop = shop();
    check("forecast", &["call", &shop, "forecast", "city=Oslo"]);
    check("links", &["call", &shop, "links"]);
    check("picture", &["call", &shop, "picture"]);
    check("logo", &["read", &shop, "shop://logo"]);
    check("fail", &["call", &shop, "fail"]);
    check("chatter", &["call", &shop, "chatter"]);
    check("prompt", &["prompt", &shop, "greet", "name=Ada"]);
    check("discover", &["discover", &shop]);
}

#[test]
fn a_server_cannot_play_tricks_on_the_terminal() {
    let shop = shop();
    let mut terminal = Terminal::start(&["call", &shop, "trick"]);
    golden("terminal-trick", &terminal.end());
    assert_eq!(terminal.screen.callbacks().0, 0, "neither the title nor the bell is the server's");
}

#[test]
fn pictures_are_shown_where_a_terminal_can() {
    let shop = shop();
    let mut terminal = Terminal::start_with(&["call", &shop, "picture"], &[("TERM", "xterm-kitty")]);
    let mut bytes = Vec::new();
    while let Ok(more) = terminal.output.recv_timeout(TIMEOUT) {
        bytes.extend(more);
    }
    assert!(String::from_utf8_lossy(&bytes).contains("\u{1b}_Ga=T,f=100,m=0;iVBOR"), "{bytes:?}");
    assert!(terminal.child.wait().unwrap().success());
}

#[test]
fn progress_is_a_bar_while_it_lasts() {
    let (shop, folder) = (shop(), Folder::new("progress"));
    let release = folder.file("release");
    let mut terminal = Terminal::start(&["call", &shop, "slow", &format!("until={release}")]);
    terminal.wait_for("50%");
    terminal.wait_for("waiting for");
    golden("terminal-progress", &format!("{}\n", terminal.text().trim_end()));
    fs::write(&release, "").unwrap();
    assert_eq!(terminal.end(), "done\n[exit 0]\n", "the bar is gone");
}

#[test]
fn ctrl_c_cancels() {
    let shop = shop();
    let mut terminal = Terminal::start(&["call", &shop, "slow", "until=/there/is/no/such/file"]);
    terminal.wait_for("50%");
    terminal.press("\u{3}");
    assert!(terminal.end().ends_with("[exit 130]\n"));
}

#[test]
fn a_form_is_filled_in_in_every_revision_that_has_them() {
    let shop = shop();
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let mut terminal = Terminal::start(&["call", &shop, "order", "--revision", revision]);
        terminal.answer("what:", "tea");
        terminal.answer("size:", "huge");
        terminal.wait_for("choose one of Small, Large\n  size:");
        terminal.press("2\r");
        terminal.answer("count:", "12");
        terminal.wait_for("at most 9\n  count:");
        terminal.press("2\r");
        terminal.answer("present:", "");
        terminal.answer("send?", "");
        golden("terminal-form", &terminal.end());
    }
}

#[test]
fn a_form_can_be_refused() {
    let shop = shop();
    for (keys, expected) in [("no\r", "declined"), ("\u{3}", "did not answer")] {
        let mut terminal = Terminal::start(&["call", &shop, "order"]);
        terminal.answer("what:", "tea");
        terminal.answer("size:", "1");
        terminal.answer("count:", "1");
        terminal.answer("present:", "yes");
        terminal.wait_for("send?");
        terminal.press(keys);
        let text = terminal.end();
        assert!(text.contains(expected) && text.ends_with("[exit 1]\n"), "{text}");
    }
}

#[test]
fn a_page_is_shown_before_it_is_visited() {
    let shop = shop();
    let mut terminal = Terminal::start(&["call", &shop, "pay"]);
    terminal.answer("cancel]", "visited");
    golden("terminal-visit", &terminal.end());
    let mut terminal = Terminal::start(&["call", &shop, "pay"]);
    terminal.answer("cancel]", "");
    assert!(terminal.end().contains("not paid"));
}

#[test]
fn a_person_plays_the_model() {
    let shop = shop();
    for revision in ["2025-06-18", "2026-07-28"] {
        let mut terminal = Terminal::start(&["call", &shop, "poem", "about=rust", "--revision", revision]);
        terminal.answer("\n  >", "iron oxide");
        terminal.wait_for("iron oxide\n  >");
        terminal.press("\r");
        golden("terminal-poem", &terminal.end());
    }
    let mut terminal = Terminal::start(&["call", &shop, "poem", "about=rust"]);
    terminal.answer("\n  >", "");
    golden("terminal-poem-refused", &terminal.end());
}

#[test]
fn a_session_completes_and_remembers() {
    let (shop, folder) = (shop(), Folder::new("session"));
    let state = folder.file("state");
    let mut terminal = Terminal::start_with(&["repl", &shop], &[("XDG_STATE_HOME", &state)]);
    terminal.wait_for("\nshop>");
    terminal.press("forec\t");
    terminal.wait_for("shop> forecast");
    terminal.press(" ci\tOslo un\tF\r");
    terminal.wait_for("\"high\": 53.0\n}\nshop>");
    terminal.press("prompt greet name=Gr\t\r");
    terminal.wait_for("Greet Grace, politely.\nshop>");
    terminal.press("hire name=bob\r");
    terminal.wait_for("bob works here now\nshop>");
    terminal.press("bo\t\r");
    terminal.wait_for("at your service\nshop>");
    terminal.press("\u{4}");
    golden("terminal-repl", &terminal.end());
    let history = fs::read_to_string(folder.file("state/couplet/history")).unwrap();
    assert!(history.contains("forecast city=Oslo unit=F\n"), "{history}");
}
