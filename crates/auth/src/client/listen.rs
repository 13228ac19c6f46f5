//! The loopback listener for redirects.

use std::{io, sync::Arc, time::Duration};

use couplet_core::Error;
use http::Uri;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};

use super::page::Visit;
use crate::fetch::{failed, host, is_local, parse};

/// A loopback listener that a browser is redirected to.
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    pub(crate) redirect: String,
    path: String,
}

impl Door {
    const PATH: &str = "/callback";
    /// The number of concurrent connections; browsers open some that they do not use.
    const MOST: usize = 16;
    const LONGEST: usize = 16 << 10;
    const TIMEOUT: Duration = Duration::from_secs(10);

    /// Listens on a free port.
    pub(crate) async fn anywhere() -> Result<Self, Error> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.map_err(|e| failed("cannot listen on a loopback port").with_source(e))?;
        let port = listener.local_addr()?.port();
        let redirect = format!("http://127.0.0.1:{port}{}", Self::PATH);
        Ok(Self { listener, redirect, path: Self::PATH.to_owned() })
    }

    /// Listens on the port of a redirect URI.
    pub(crate) async fn at(redirect: &str) -> Result<Self, Error> {
        let wrong = || failed(format!("`{redirect}` is not a loopback URL with a port"));
        let uri: Uri = parse(redirect).filter(is_local).ok_or_else(wrong)?;
        let port = uri.port_u16().ok_or_else(wrong)?;
        let listener = TcpListener::bind((host(&uri), port)).await;
        let listener = listener.map_err(|e| failed(format!("cannot listen on port {port}")).with_source(e))?;
        Ok(Self { listener, redirect: redirect.to_owned(), path: uri.path().to_owned() })
    }

    /// Waits for the redirect of a login, and returns its query. Every other request is rejected: any web page can send
    /// requests to this port.
    pub(crate) async fn answer(self, visit: Arc<Visit>) -> Result<String, Error> {
        let Self { listener, path, .. } = self;
        let mut guests = JoinSet::new();
        loop {
            tokio::select! {
                guest = listener.accept() => {
                    let Ok((stream, _)) = guest else {
                        // Out of file descriptors, for example; that may pass.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    };
                    if guests.len() < Self::MOST {
                        let (path, visit) = (path.clone(), visit.clone());
                        guests.spawn(async move { timeout(Self::TIMEOUT, meet(stream, &path, &visit)).await });
                    }
                }
                Some(met) = guests.join_next() => {
                    if let Ok(Ok(Ok(Some(query)))) = met {
                        return Ok(query);
                    }
                }
            }
        }
    }
}

/// Handles one request. Returns the query if it is the expected redirect.
async fn meet(mut stream: TcpStream, path: &str, visit: &Visit) -> io::Result<Option<String>> {
    let mut read = Vec::new();
    while !read.windows(4).any(|w| w == b"\r\n\r\n") {
        if read.len() > Door::LONGEST || stream.read_buf(&mut read).await? == 0 {
            return Ok(None);
        }
    }
    let head = String::from_utf8_lossy(&read);
    let target = head.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let (place, query) = target.split_once('?').unwrap_or((target, ""));
    let is_answer = place == path && visit.is_answer(query);
    let (status, text) = match is_answer {
        true => ("200 OK", "You can close this window and go back to the program."),
        false if place == path => ("400 Bad Request", "This belongs to no login that is under way."),
        false => ("404 Not Found", "There is nothing here."),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\r\n{text}",
        text.len()
    );
    let query = is_answer.then(|| query.to_owned());
    // The redirect counts even if the browser does not read the response.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    Ok(query)
}
