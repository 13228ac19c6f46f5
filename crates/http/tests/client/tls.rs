//! Encrypted connections, and the version of HTTP that is agreed on there.

use couplet_core::ErrorKind;
use couplet_http::client::{HttpClient, HyperClient};
use http::{Request, Version};
use tokio::net::TcpListener;

use crate::{
    mock::{Mock, event, reply, says, stream},
    wire::{Wire, certificate, connect},
};

#[tokio::test]
async fn a_certificate_that_the_program_trusts_is_enough() {
    for (alpn, version) in
        [(&["h2", "http/1.1"][..], Version::HTTP_2), (&["http/1.1"], Version::HTTP_11), (&[], Version::HTTP_11)]
    {
        let (server, mut trust) = certificate(&["localhost"], alpn);
        // What a program has set here does not count.
        trust.alpn_protocols = vec![b"x".to_vec()];
        let mock = Mock::modern(|seen| match seen.body["params"]["name"].as_str() {
            Some("stream") => stream([event(&seen.result(says("done")))]),
            _ => reply(200, &seen.result(says("done"))),
        });
        let wire = Wire::tls(&mock, server).await;
        let sender = HyperClient::builder().tls(trust).direct().build().unwrap();
        let client = connect(format!("https://localhost:{}/mcp", wire.address.port()), sender).await.unwrap();
        for tool in ["json", "stream", "json"] {
            assert_eq!(client.call(tool, ()).await.unwrap().text(), "done");
        }
        assert_eq!(wire.versions(), [version; 4]);
        assert!(wire.connections() <= if version == Version::HTTP_2 { 1 } else { 3 });
    }
}

#[tokio::test]
async fn many_calls_at_the_same_time_share_a_connection_of_http_2() {
    let (server, trust) = certificate(&["localhost"], &["h2"]);
    let mock = Mock::modern(|seen| reply(200, &seen.result(says("done"))));
    let wire = Wire::tls(&mock, server).await;
    let sender = HyperClient::builder().tls(trust).direct().build().unwrap();
    let client = connect(format!("https://localhost:{}/", wire.address.port()), sender).await.unwrap();
    let calls: Vec<_> = (0..50).map(|_| tokio::spawn(client.call("x", ()).into_future())).collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!((mock.count("tools/call"), wire.connections()), (50, 1));
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_said() {
    let (server, _) = certificate(&["localhost"], &["h2"]);
    let (other, trust) = certificate(&["other.example"], &["h2"]);
    let unknown = HyperClient::builder().direct().build().unwrap();
    let named_otherwise = HyperClient::builder().direct().tls(trust).build().unwrap();
    for (config, sender) in [(server, unknown), (other, named_otherwise)] {
        let mock = Mock::modern(|seen| reply(200, &seen.result(says("done"))));
        let wire = Wire::tls(&mock, config).await;
        let host = format!("localhost:{}", wire.address.port());
        let error = connect(format!("https://{host}/mcp?key=secret"), sender).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport);
        let text = error.to_string();
        assert!(text.contains(&host) && text.contains("certificate that is not trusted"), "{text}");
        assert!(!text.contains("::") && !text.contains("secret"), "{text}");
        assert!(mock.seen().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_shakes_hands_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let silent = tokio::spawn(async move {
        let _socket = listener.accept().await;
        std::future::pending::<()>().await;
    });
    let sender = HyperClient::builder().direct().build().unwrap();
    // Nobody else limits this: it must end by itself.
    let error = sender.send(Request::get(url).body(bytes::Bytes::new()).unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    silent.abort();
}
