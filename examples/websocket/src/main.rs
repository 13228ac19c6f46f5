//! A transport that the library does not ship, for both sides: one message per WebSocket text frame. The transport says
//! how messages are received and sent; the order, fairness and backpressure of the protocol are the pump's.

use std::{
    io,
    sync::Arc,
    task::{Context, Poll, ready},
};

use couplet::{
    Error, ProtocolVersion,
    core::pump::{self, MessageStream, Received},
    core::{BoxFuture, Connect, Connected, EncodedMessage, Inbound, Limits, Service, Transport},
    prelude::*,
};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes, http::StatusCode};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async, client_async};

/// One WebSocket, on either side.
struct Socket {
    inner: WebSocketStream<TcpStream>,
    limit: usize,
}

impl MessageStream for Socket {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Received>>> {
        loop {
            return Poll::Ready(match ready!(self.inner.poll_next_unpin(cx)) {
                Some(Ok(Message::Text(text))) => Ok(Some(Received::new(text.into(), self.limit))),
                Some(Ok(Message::Close(_))) | None => Ok(None),
                // Pings are answered by the socket itself.
                Some(Ok(_)) => continue,
                Some(Err(error)) => Err(failed(error)),
            });
        }
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_ready_unpin(cx).map_err(failed)
    }

    fn send(&mut self, message: EncodedMessage) -> io::Result<()> {
        let text = Utf8Bytes::try_from(message.into_bytes()).map_err(io::Error::other)?;
        self.inner.start_send_unpin(Message::Text(text)).map_err(failed)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_flush_unpin(cx).map_err(failed)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_close_unpin(cx).map_err(failed)
    }

    fn transport(&self) -> Option<&'static str> {
        Some("tcp")
    }
}

fn failed(error: tungstenite::Error) -> io::Error {
    match error {
        tungstenite::Error::Io(error) => error,
        tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed => io::ErrorKind::NotConnected.into(),
        error => io::Error::other(error),
    }
}

/// The server's end: a connection for each client.
struct Listener(TcpListener);

impl Transport for Listener {
    fn serve(self, service: Arc<dyn Service>, limits: Limits) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move {
            loop {
                let (stream, _) = self.0.accept().await.map_err(Error::other)?;
                let (service, limits) = (service.clone(), limits.clone());
                tokio::spawn(async move {
                    let inner = accept_hdr_async(stream, only_programs).await.map_err(Error::other)?;
                    pump::serve(Socket { inner, limit: limits.message }, service, limits).await
                });
            }
        })
    }
}

/// Refuses web pages, which may open a socket to any address and always say where they are from.
#[expect(clippy::result_large_err, reason = "the type is the library's")]
fn only_programs(request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    if !request.headers().contains_key("origin") {
        return Ok(response);
    }
    let mut refusal = ErrorResponse::new(None);
    *refusal.status_mut() = StatusCode::FORBIDDEN;
    Err(refusal)
}

/// The client's end: an address such as `127.0.0.1:8080`.
struct Address(String);

impl Connect for Address {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move {
            let stream = TcpStream::connect(&self.0).await.map_err(Error::other)?;
            let (inner, _) = client_async(format!("ws://{}/mcp", self.0), stream).await.map_err(Error::other)?;
            Ok(pump::connect(Socket { inner, limit: limits.message }, inbound, limits))
        })
    }

    fn server(&self) -> Option<String> {
        Some(format!("ws://{}/mcp", self.0))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Consent {
    /// Deploy it?
    yes: bool,
}

/// Deploys the application.
#[tool]
async fn deploy(ctx: Ctx) -> Result<&'static str, ToolError> {
    ctx.progress(0.5, "built").await;
    let consent = ctx.elicit::<Consent>("consent", "Deploy to production?").await?.accepted()?;
    Ok(if consent.yes { "deployed" } else { "left alone" })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Error::other)?;
    let address = listener.local_addr().map_err(Error::other)?.to_string();
    tokio::spawn(Server::new("ops", "1.0.0").tool(deploy).serve(Listener(listener)));
    let client = Client::new("operator", "1.0.0")
        .versions([ProtocolVersion::V2025_11_25])
        .on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) })
        .connect(Address(address))
        .await?;
    let (progress, heard) = std::sync::mpsc::channel();
    let call = client.call("deploy", json!({})).on_progress(move |step| _ = progress.send(step.message));
    let text = call.await?.into_result()?.text();
    println!("{text}");
    assert_eq!((text.as_str(), heard.try_recv()), ("deployed", Ok(Some("built".to_owned()))));
    client.close().await
}
