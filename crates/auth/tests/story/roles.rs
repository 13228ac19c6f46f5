//! What a process can be: an issuer, a server, or a client.

use std::{
    io::{Write, stdout},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use couplet_auth::{
    client::OAuth,
    server::{Claims, Issuer, Verifier},
};
use couplet_client::Client;
use couplet_http::server::HttpTransport;
use couplet_server::{Server, extract::Auth, tool};
use couplet_testing::auth::{AuthServer, AuthSettings, fetch, log_in, visit_and_deny};
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    net::TcpListener,
};

use super::process::{MARK, SETTINGS};

/// Plays a role until the standard input ends.
pub(crate) fn run(role: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        match role {
            "issuer" => issuer().await,
            "server" => server().await,
            "client" => client().await,
            other => panic!("there is no role `{other}`"),
        }
    });
    // What reads the standard input would keep the runtime from ending.
    std::process::exit(0);
}

fn say(what: impl std::fmt::Display) {
    // The harness may be in the middle of a line.
    println!("\n{MARK}{what}");
    stdout().flush().unwrap();
}

fn setting() -> String {
    std::env::var(SETTINGS).unwrap()
}

/// Does what each line says, and answers it.
async fn obey(mut answer: impl AsyncFnMut(&str, &str) -> String) {
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        say(answer(word, rest).await);
    }
}

async fn issuer() {
    let auth = AuthServer::start_with(AuthSettings::default().opaque()).await.unwrap();
    auth.client("notes server", Some("a secret of the server"), &[]);
    say(auth.issuer());
    obey(async |word, rest| match word {
        "count" => auth.requests(rest).len().to_string(),
        "lifetime" => {
            auth.lifetime(Duration::from_secs(rest.parse().unwrap()));
            "done".to_owned()
        }
        "expire" => {
            auth.expire_all();
            "done".to_owned()
        }
        "scope" => auth.requests("/authorize").last().unwrap()["scope"].clone(),
        "revoke" => {
            auth.revoke_all();
            "done".to_owned()
        }
        other => panic!("what is `{other}`?"),
    })
    .await;
}

async fn server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let issuer = Issuer::new(setting()).introspect("notes server", "a secret of the server");
    let verifier = Verifier::new(&*address, issuer)
        .unwrap()
        .scopes(["notes:read"])
        .leeway(Duration::ZERO)
        .cache_ttl(Duration::ZERO);
    let notes: Server = Server::new("notes", "1.0.0")
        .tool(tool("whoami", |claims: Auth<Claims>| claims.subject.clone().unwrap_or_default()))
        .tool(tool("write", || "written").scopes(["notes:write"]));
    let transport = HttpTransport::from_listener(listener).endpoint(|endpoint| endpoint.authorize(verifier));
    let serving = tokio::spawn(notes.serve(transport));
    say(address);
    obey(async |_, _| String::new()).await;
    serving.abort();
}

async fn client() {
    let denies = Arc::new(AtomicBool::new(false));
    let says_no = denies.clone();
    let login = OAuth::new("Story").browser(move |page| {
        let says_no = says_no.load(Ordering::SeqCst);
        async move {
            // A browser does not wait for the client that it was opened by.
            tokio::spawn(async move {
                match says_no {
                    false => drop(log_in(&page).await.unwrap()),
                    true => drop(fetch(&visit_and_deny(&page).await.unwrap()).await.unwrap()),
                }
            });
            Ok(())
        }
    });
    let client =
        Client::new("story", "1.0.0").connect(couplet_http::connect(setting()).authorize(login)).await.unwrap();
    say("connected");
    obey(async |word, rest| match word {
        "call" => match client.call(rest, ()).await {
            Ok(result) => result.text(),
            Err(error) => format!("error {:?} {error}", error.kind()),
        },
        "deny" => {
            denies.store(true, Ordering::SeqCst);
            "done".to_owned()
        }
        other => panic!("what is `{other}`?"),
    })
    .await;
}
