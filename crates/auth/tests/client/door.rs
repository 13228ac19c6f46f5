//! Coming back from a page to a port of this machine.

use std::sync::{Arc, Mutex};

use couplet_auth::client::{Credential, OAuth};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::world::World;

/// Sends a request to an address of this machine, and reads the status.
async fn knock(address: &str, target: &str) -> u16 {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn only_the_right_answer_opens_the_door() {
    let world = World::new();
    let (visitor, statuses) = (world.clone(), Arc::new(Mutex::new(Vec::new())));
    let told = statuses.clone();
    let oauth = world.at_home(OAuth::new("Test").browser(move |page| {
        let (back, told) = (visitor.visit(&page), told.clone());
        async move {
            let (address, target) = back.strip_prefix("http://").unwrap().split_once('/').unwrap();
            // A connection on which nothing comes, as browsers open them.
            let _silent = TcpStream::connect(address).await.unwrap();
            let mut seen = vec![
                knock(address, "/").await,
                knock(address, "/favicon.ico").await,
                knock(address, "/callback?code=evil&state=guess").await,
                knock(address, "/callback?error=access_denied").await,
                knock(address, &format!("/elsewhere?{}", target.split_once('?').unwrap().1)).await,
            ];
            seen.push(knock(address, &format!("/{target}")).await);
            *told.lock().unwrap() = seen;
            Ok(())
        }
    }));
    assert_eq!(world.once(&oauth).await.unwrap(), 200);
    assert_eq!(*statuses.lock().unwrap(), [404, 404, 400, 400, 404, 200]);
    let redirect = world.on_page("redirect_uri").unwrap();
    assert!(redirect.starts_with("http://127.0.0.1:") && redirect.ends_with("/callback"), "{redirect}");
    assert_eq!(world.seen("/token")[0].field("redirect_uri"), Some(redirect));
}

/// A client is registered for an address, so the next login waits there, too, or registers another.
#[tokio::test]
async fn line_423_people_come_back_to_where_the_authorization_server_knows() {
    let world = World::new();
    let visitor = world.clone();
    let oauth = world.at_home(OAuth::new("Test").browser(move |page| {
        let back = visitor.visit(&page);
        async move {
            let (address, target) = back.strip_prefix("http://").unwrap().split_once('/').unwrap();
            assert_eq!(knock(address, &format!("/{target}")).await, 200);
            Ok(())
        }
    }));
    let client = world.client(&oauth);
    assert_eq!(world.call(&client).await.unwrap(), 200);
    let first = world.on_page("redirect_uri").unwrap();
    world.revoke();
    assert_eq!(world.call(&client).await.unwrap(), 200);
    assert_eq!(world.on_page("redirect_uri").unwrap(), first);
    assert_eq!(world.seen("/register").len(), 1);
    let address = first.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let _taken = tokio::net::TcpListener::bind(address).await.unwrap();
    world.revoke();
    assert_eq!(world.call(&client).await.unwrap(), 200);
    assert_ne!(world.on_page("redirect_uri").unwrap(), first);
    assert_eq!(world.seen("/register").len(), 2);
}

#[tokio::test]
async fn a_door_is_on_this_machine() {
    for redirect in ["https://app.example/callback", "http://10.0.0.1:80/x", "app:/x", "http://127.0.0.1/callback"] {
        let world = World::new();
        let oauth = OAuth::new("Test").registered("me", Credential::Public).redirect_uri(redirect);
        let error = world.once(&world.at_home(oauth)).await.unwrap_err();
        assert!(error.to_string().contains("not a loopback URL"), "{error}");
    }
}

#[tokio::test]
async fn a_browser_that_does_not_start_is_told_of() {
    let world = World::new();
    let oauth = OAuth::new("Test")
        .browser(|_| async { Err(couplet_core::Error::new(couplet_core::ErrorKind::Config, "there is no browser")) });
    let error = world.once(&world.at_home(oauth)).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no browser");
}
