//! Showing a page to a person.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use couplet_core::Error;
use http::uri::Scheme;

use crate::fetch::{Reach, failed, parse};

/// A page that a browser may be shown: https, or this machine, and nothing that could mean something else to whatever
/// opens it.
pub(crate) fn checked(page: &str, reach: Reach) -> Result<&str, Error> {
    let plain = page.len() <= 8192 && page.bytes().all(|b| matches!(b, b'!'..=b'~') && !b"\"'`<>\\^{|}".contains(&b));
    let allowed = parse(page).is_some_and(|uri| match uri.scheme() == Some(&Scheme::HTTPS) {
        // Where a browser goes is not this program's network.
        true => true,
        false => reach.max(Reach::Loopback).check(&uri).is_ok(),
    });
    if plain && allowed && !page.contains('#') {
        return Ok(page);
    }
    Err(failed("the authorization server names a page that must not be opened"))
}

/// Opens a checked page in the browser of whoever sits here; where there is none, tells them where to go.
pub(crate) fn open(page: &str) {
    if start(page) {
        return tracing::info!("a browser was asked to open the page of the authorization server");
    }
    // Standard error belongs to nobody's protocol, and without this a person would wait for nothing.
    let _ = writeln!(std::io::stderr(), "To log in, open this page in a browser:\n\n    {page}\n");
}

/// The page is an argument, never a part of a command line that something else takes apart.
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
        // Some of them stay for as long as the browser does; somebody has to see them end.
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
