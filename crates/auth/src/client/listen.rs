//! Waiting on this machine for somebody to come back from a page.

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

/// A place on this machine where a browser is sent back to.
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    pub(crate) redirect: String,
    path: String,
}

impl Door {
    const PATH: &str = "/callback";
    /// Connections that are looked at at a time; browsers open some that they do not use.
    const MOST: usize = 16;
    const LONGEST: usize = 16 << 10;
    const PATIENCE: Duration = Duration::from_secs(10);

    /// Opens a door where nobody else listens.
    pub(crate) async fn anywhere() -> Result<Self, Error> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.map_err(|e| failed("no port is free on this machine").with_source(e))?;
        let port = listener.local_addr()?.port();
        let redirect = format!("http://127.0.0.1:{port}{}", Self::PATH);
        Ok(Self { listener, redirect, path: Self::PATH.to_owned() })
    }

    /// Opens the door that a redirect address leads to.
    pub(crate) async fn at(redirect: &str) -> Result<Self, Error> {
        let wrong = || failed(format!("`{redirect}` is not an address of this machine with a port"));
        let uri: Uri = parse(redirect).filter(is_local).ok_or_else(wrong)?;
        let port = uri.port_u16().ok_or_else(wrong)?;
        let listener = TcpListener::bind((host(&uri), port)).await;
        let listener = listener.map_err(|e| failed(format!("port {port} is not free")).with_source(e))?;
        Ok(Self { listener, redirect: redirect.to_owned(), path: uri.path().to_owned() })
    }

    /// Waits for the answer to a visit, and returns its query. What is not the answer is turned away, whoever sent it:
    /// any page in a browser can knock here.
    pub(crate) async fn answer(self, visit: Arc<Visit>) -> Result<String, Error> {
        let Self { listener, path, .. } = self;
        let mut guests = JoinSet::new();
        loop {
            tokio::select! {
                guest = listener.accept() => {
                    let Ok((stream, _)) = guest else {
                        // No more files, for example; it may pass.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    };
                    if guests.len() < Self::MOST {
                        let (path, visit) = (path.clone(), visit.clone());
                        guests.spawn(async move { timeout(Self::PATIENCE, meet(stream, &path, &visit)).await });
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

/// Reads one request, and answers it. Returns the query if it is the one that is waited for.
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
    // The answer counts even if the browser does not wait for a word of thanks.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    Ok(query)
}
