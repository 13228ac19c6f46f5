//! The whole story, in three processes: somebody logs in, calls, calls again when the token has ended, is asked for more,
//! and loses what they had.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that fails should say where")]

mod process;
mod roles;

use std::time::Duration;

use process::Process;

/// How often something was sent to a path of the issuer.
async fn count(issuer: &mut Process, what: &str) -> usize {
    issuer.ask(&format!("count {what}")).await.parse().unwrap()
}

#[tokio::test]
async fn from_login_to_revocation() {
    let mut issuer = Process::start("issuer", &[]);
    let issuer_name = issuer.heard().await;
    let mut server = Process::start("server", &[&issuer_name]);
    let address = server.heard().await;
    let mut client = Process::start("client", &[&address]);

    // Login: the server asks, the client registers, somebody approves.
    assert_eq!(client.heard().await, "connected");
    assert_eq!(client.ask("call whoami").await, "alice");
    assert_eq!(count(&mut issuer, "/register").await, 1);
    assert_eq!(count(&mut issuer, "/authorize").await, 1);

    // Expiry: the next call renews the token, and nobody is asked.
    issuer.ask("lifetime 1").await;
    issuer.ask("expire").await;
    assert_eq!(client.ask("call whoami").await, "alice");
    let renewed = count(&mut issuer, "/token").await;
    assert!(renewed >= 2, "{renewed}");
    assert_eq!(count(&mut issuer, "/authorize").await, 1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    issuer.ask("lifetime 3600").await;
    assert_eq!(client.ask("call whoami").await, "alice");
    assert!(count(&mut issuer, "/token").await > renewed, "the second one ended by itself");
    assert_eq!(count(&mut issuer, "/authorize").await, 1);

    // Step-up: what needs more is asked for, once, with what was there before.
    assert_eq!(client.ask("call write").await, "written");
    assert_eq!(count(&mut issuer, "/authorize").await, 2);
    assert_eq!(issuer.ask("scope").await, "notes:read notes:write");
    assert_eq!(client.ask("call write").await, "written");
    assert_eq!(client.ask("call whoami").await, "alice");
    assert_eq!(count(&mut issuer, "/authorize").await, 2);

    // Revocation: nothing of it is good any more, so somebody is asked again.
    issuer.ask("revoke").await;
    assert_eq!(client.ask("call whoami").await, "alice");
    assert_eq!(count(&mut issuer, "/authorize").await, 3);
    // Whoever says no is not let in.
    issuer.ask("revoke").await;
    client.ask("deny").await;
    assert!(client.ask("call whoami").await.starts_with("error Auth"));
}

/// What the processes run; nothing, as a test.
#[test]
fn a_process() {
    if let Ok(role) = std::env::var(process::ROLE) {
        roles::run(&role);
    }
}
