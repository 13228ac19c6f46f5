//! Colors.

use std::{env, ffi::OsStr, fmt::Display, io::IsTerminal};

use anstyle::{AnsiColor, Style};

use super::Colour;

/// The style of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    pub(crate) colour: bool,
    /// Whether the stream is a terminal.
    pub(crate) terminal: bool,
}

impl Paint {
    /// Decides whether to use colors: `--color` first, then `NO_COLOR` and `CLICOLOR_FORCE`, then the terminal.
    pub(crate) fn of(wish: Colour, stream: &impl IsTerminal) -> Self {
        let terminal = stream.is_terminal();
        let colour = match wish {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => decide(terminal, |name| env::var_os(name)),
        };
        Self { colour, terminal }
    }

    pub(crate) fn strong(self, text: impl Display) -> String {
        self.with(Style::new().bold(), text)
    }

    pub(crate) fn faint(self, text: impl Display) -> String {
        self.with(Style::new().dimmed(), text)
    }

    pub(crate) fn name(self, text: impl Display) -> String {
        self.with(AnsiColor::Cyan.on_default(), text)
    }

    pub(crate) fn good(self, text: impl Display) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// Styles removed text.
    pub(crate) fn removed(self, text: impl Display) -> String {
        self.with(AnsiColor::Red.on_default(), text)
    }

    pub(crate) fn warning(self, text: impl Display) -> String {
        self.with(AnsiColor::Yellow.on_default().bold(), text)
    }

    pub(crate) fn error(self, text: impl Display) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    fn with(self, style: Style, text: impl Display) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}

fn decide<V: AsRef<OsStr>>(terminal: bool, variable: impl Fn(&str) -> Option<V>) -> bool {
    let set = |name: &str| variable(name).is_some_and(|value| !value.as_ref().is_empty());
    let is = |name: &str, wanted: &str| variable(name).is_some_and(|value| value.as_ref() == wanted);
    if set("NO_COLOR") {
        return false;
    }
    if set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") {
        return true;
    }
    terminal && !is("TERM", "dumb") && !is("CLICOLOR", "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(terminal: bool, variables: &[(&str, &str)], expected: bool) {
        let look_up = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        assert_eq!(decide(terminal, look_up), expected, "{terminal} {variables:?}");
    }

    #[test]
    fn the_environment_decides() {
        check(true, &[], true);
        check(false, &[], false);
        check(true, &[("NO_COLOR", "1")], false);
        check(true, &[("NO_COLOR", "")], true);
        check(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false);
        check(false, &[("CLICOLOR_FORCE", "1")], true);
        check(false, &[("CLICOLOR_FORCE", "0")], false);
        check(true, &[("TERM", "dumb")], false);
        check(true, &[("CLICOLOR", "0")], false);
    }
}
