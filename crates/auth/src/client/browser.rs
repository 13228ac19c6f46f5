//! Opening a page in the user's browser.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use couplet_core::Error;
use http::uri::Scheme;

use crate::fetch::{Reach, failed, parse};

/// Checks a page before it is opened: https or loopback, without characters that a shell or launcher could interpret.
pub(crate) fn checked(page: &str, reach: Reach) -> Result<&str, Error> {
    let plain = page.len() <= 8192 && page.bytes().all(|b| matches!(b, b'!'..=b'~') && !b"\"'`<>\\^{|}".contains(&b));
    let allowed = parse(page).is_some_and(|uri| match uri.scheme() == Some(&Scheme::HTTPS) {
        // The browser connects by itself, so private networks need not be excluded.
        true => true,
        false => reach.max(Reach::Loopback).check(&uri).is_ok(),
    });
    if plain && allowed && !page.contains('#') {
        return Ok(page);
    }
    Err(failed(
        "the authorization server's login page cannot be opened: expected an `https://` URL without special characters",
    ))
}

/// Opens a checked page in the local browser; without a browser, prints the URL to standard error.
pub(crate) fn open(page: &str) {
    if start(page) {
        return tracing::info!("opened the login page of the authorization server in a browser");
    }
    // No transport uses standard error, and without this the user would wait in vain.
    let _ = writeln!(std::io::stderr(), "To log in, open this page in a browser:\n\n    {page}\n");
}

/// The page is passed as an argument, never through a shell.
fn start(page: &str) -> bool {
    let programs: &[(&str, &[&str])] = if cfg!(target_os = "macos") {
        &[("/usr/bin/open", &[])]
    } else if cfg!(windows) {
        &[("rundll32.exe", &["url.dll,FileProtocolHandler"])]
    } else if ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty())) {
        &[("xdg-open", &[])]
    } else {
        &[("wslview", &[])]
    };
    programs.iter().any(|(program, arguments)| {
        let mut command = Command::new(program);
        command.args(*arguments).arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else { return false };
        // Some launchers run as long as the browser does; the thread reaps them.
        std::thread::spawn(move || child.wait());
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_are_opened() {
        for (page, reach, fine) in [
            ("https://a.example/authorize?x=%20&y=1", Reach::Public, true),
            ("http://localhost:3000/authorize", Reach::Public, true),
            ("http://127.0.0.1/authorize", Reach::Public, true),
            ("http://a.example/authorize", Reach::Private, false),
            ("http://a.example/authorize", Reach::Anywhere, true),
            ("javascript:alert(1)", Reach::Anywhere, false),
            ("file:///etc/passwd", Reach::Anywhere, false),
            ("data:text/html,x", Reach::Anywhere, false),
            ("vbscript:x", Reach::Anywhere, false),
            ("ms-settings:x", Reach::Anywhere, false),
            ("--version", Reach::Anywhere, false),
            ("https://a.example/$(calc)'", Reach::Anywhere, false),
            ("https://a.example/a b", Reach::Anywhere, false),
            ("https://a.example/`id`", Reach::Anywhere, false),
            ("https://a.example/|calc", Reach::Anywhere, false),
            ("https://a.example/\n", Reach::Anywhere, false),
            ("https://user:pass@a.example/", Reach::Anywhere, false),
            ("https:///etc", Reach::Anywhere, false),
        ] {
            assert_eq!(checked(page, reach).is_ok(), fine, "{page}");
        }
    }
}
