//! Clients that log in at an authorization server of somebody else, to servers that believe its tokens:
//! `interop-login <issuer> <program> [argument..]`.
//!
//! The program visits the page that it is given last, as a person would. A line is printed for each step that went as it
//! should.

use std::{
    env,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet::{
    Error, ErrorKind,
    auth::{
        Secret,
        client::OAuth,
        server::{Claims, Issuer, Verifier},
    },
    http::server::HttpTransport,
    prelude::*,
    server::extract::Auth,
};
use tokio::net::TcpListener;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Longer than tokens are good.
const LONGER: Duration = Duration::from_secs(4);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let Some((issuer, program)) = arguments.split_first().filter(|(_, program)| !program.is_empty()) else {
        eprintln!("usage: interop-login <issuer> <program> [argument..]");
        return ExitCode::FAILURE;
    };
    match run(issuer, program).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(issuer: &str, browser: &[String]) -> Outcome {
    let signed = serve("mcp", Issuer::new(issuer)).await?;
    let person = Person::new(browser);
    let client = connect(&signed, person.login()).await?;
    println!("revision {}", client.server().version);
    person.visited(1)?;
    println!("ok login");
    calls(&client, "whoami", "alice").await?;
    println!("ok call");

    tokio::time::sleep(LONGER).await;
    calls(&client, "whoami", "alice").await?;
    person.visited(1)?;
    println!("ok refresh");

    calls(&client, "write", "written").await?;
    person.visited(2)?;
    println!("ok step-up");

    let client = connect(&signed, person.login().require_dpop()).await?;
    calls(&client, "bound", "true").await?;
    println!("ok bound");

    let machine = OAuth::client_credentials("machine", Secret::new("a secret: of the machine"));
    calls(&connect(&signed, machine).await?, "whoami", "machine").await?;
    println!("ok machine");

    let opaque = serve("opaque", Issuer::new(issuer).introspect("notes", "a secret of the server")).await?;
    calls(&connect(&opaque, person.login()).await?, "whoami", "alice").await?;
    println!("ok opaque");
    Ok(())
}

/// Serves tools to whoever has a token of the issuer, and returns where.
async fn serve(path: &str, issuer: Issuer) -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}/{path}", listener.local_addr()?);
    let verifier = Verifier::new(&*address, issuer)?.scopes(["notes:read"]).leeway(Duration::ZERO);
    // A program that asks for itself is nobody but a client.
    let whoami = |claims: Auth<Claims>| claims.subject.clone().or(claims.client.clone()).unwrap_or_default();
    let server = Server::new("notes", "1.0.0")
        .tool(tool("whoami", whoami))
        .tool(tool("bound", |claims: Auth<Claims>| claims.key.is_some().to_string()))
        .tool(tool("write", || "written").scopes(["notes:write"]));
    let transport = HttpTransport::from_listener(listener).path(format!("/{path}")).endpoint(|e| e.authorize(verifier));
    tokio::spawn(server.serve(transport));
    Ok(address)
}

async fn connect(address: &str, login: OAuth) -> Outcome<Client> {
    Ok(Client::new("interop", "1.0.0").connect(couplet::http::connect(address).authorize(login)).await?)
}

async fn calls(client: &Client, tool: &str, expected: &str) -> Outcome {
    match client.call(tool, ()).await?.into_result()?.text() {
        text if text == expected => Ok(()),
        text => Err(format!("`{tool}` says `{text}` instead of `{expected}`").into()),
    }
}

/// Somebody in front of a browser.
struct Person {
    browser: Vec<String>,
    visits: Arc<AtomicUsize>,
}

impl Person {
    fn new(browser: &[String]) -> Self {
        Self { browser: browser.to_vec(), visits: Arc::default() }
    }

    fn login(&self) -> OAuth {
        let (browser, visits) = (self.browser.clone(), self.visits.clone());
        OAuth::new("Interop").browser(move |page| {
            visits.fetch_add(1, Ordering::Relaxed);
            let mut command = tokio::process::Command::new(&browser[0]);
            command.args(&browser[1..]).arg(page);
            async move {
                match command.status().await? {
                    status if status.success() => Ok(()),
                    status => Err(Error::new(ErrorKind::Auth, format!("the browser ended: {status}"))),
                }
            }
        })
    }

    fn visited(&self, times: usize) -> Outcome {
        match self.visits.load(Ordering::Relaxed) {
            visits if visits == times => Ok(()),
            visits => Err(format!("{visits} pages were opened instead of {times}").into()),
        }
    }
}
