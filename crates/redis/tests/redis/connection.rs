//! Failures of the server and of the connection.

use std::time::Duration;

use couplet_core::ErrorKind;
use couplet_redis::Redis;

use crate::server::{KEY, Server};

#[tokio::test]
async fn a_server_that_is_not_there() {
    for url in ["redis://127.0.0.1:1", "redis+unix:///there/is/no/socket"] {
        let error = Redis::new(url, KEY).unwrap().ping().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
        assert!(error.to_string().ends_with("refused the connection"), "{error}");
    }
}

#[tokio::test]
async fn a_restarted_server_is_found_again() {
    let Some(mut server) = Server::start().await else { return };
    let redis = server.redis();
    redis.ping().await.unwrap();
    server.kill();
    assert_eq!(redis.ping().await.unwrap_err().kind(), ErrorKind::Transport);
    server.run().await.unwrap();
    redis.ping().await.unwrap();
}

#[tokio::test]
async fn a_connection_that_was_cut_is_no_error() {
    let Some(server) = Server::start().await else { return };
    let redis = server.redis();
    redis.ping().await.unwrap();
    let _: i64 = server.command(&["CLIENT", "KILL", "TYPE", "normal"]).await;
    redis.ping().await.unwrap();
}

#[tokio::test]
async fn a_server_that_hangs_is_a_timeout() {
    let Some(server) = Server::start().await else { return };
    let redis = server.builder().timeout(Duration::from_millis(100)).build().unwrap();
    // The first operation loads and connects, which may be late on a slow machine.
    let _ = redis.ping().await;
    server.signal("STOP");
    for _ in 0..3 {
        let error = redis.ping().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        assert!(error.to_string().ends_with("did not answer within 100ms"), "{error}");
    }
    server.signal("CONT");
    // Late on a slow machine, but not for ever.
    while let Err(error) = redis.ping().await {
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
}

#[tokio::test]
async fn a_wrong_password_is_a_matter_of_configuration() {
    let Some(server) = Server::start().await else { return };
    let redis = server.redis();
    redis.ping().await.unwrap();
    let _: String = server.command(&["CONFIG", "SET", "requirepass", "right"]).await;
    for password in ["", "wrong"] {
        let url = format!("{}?pass={password}", server.url());
        let url = if password.is_empty() { server.url() } else { url };
        let error = Redis::new(&url, KEY).unwrap().ping().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
        assert!(error.to_string().ends_with("refused the user name or the password; check the URL"), "{error}");
        assert!(!format!("{error:?}").contains("wrong"), "{error:?}");
    }
    Redis::new(&format!("{}?pass=right", server.url()), KEY).unwrap().ping().await.unwrap();
}
