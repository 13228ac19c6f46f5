//! Forwarded requests, which are sent and read where their exchange is polled.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::Client;
use couplet_core::{Event, Exchange, JsonText, RequestOptions, message::Params};
use couplet_proxy::Proxy;
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::mock::{Mock, Seen, Step, empty, event, reply, says, stream, watched};

const SOON: Duration = Duration::from_millis(100);

/// Longer than a stream may go on after its answer.
const REST: Duration = Duration::from_secs(2);

/// A server of each era, and the number of its streams that ended before their response.
fn servers(
    call: impl Fn(&Seen, Arc<AtomicUsize>) -> http::Response<couplet_http::client::Body> + Clone + Send + Sync + 'static,
) -> [(Mock, Arc<AtomicUsize>); 2] {
    let left = [Arc::<AtomicUsize>::default(), Arc::default()];
    let script = |at: usize| {
        let (call, left) = (call.clone(), left[at].clone());
        move |seen: &Seen| match seen.what() {
            "tools/call" => call(seen, left.clone()),
            "GET" => empty(405),
            _ => empty(202),
        }
    };
    [(Mock::modern(script(0)), left[0].clone()), (Mock::legacy(script(1)), left[1].clone())]
}

fn forward(client: &Client) -> Exchange {
    let params = Params::from_text(JsonText::new(json!({ "name": "slow" }).to_string()).unwrap()).unwrap();
    client.forward("tools/call", &params, &RequestOptions::default()).unwrap()
}

fn is_done(event: &Event) -> bool {
    matches!(event, Event::Answer(Ok(text)) if text.as_str().contains("done"))
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_before_the_first_poll_and_nothing_is_read_without_one() {
    for (mock, left) in
        servers(|seen, left| watched([Step::Wait(50), event(&seen.result(says("done"))), Step::Hang], left))
    {
        let client = mock.connect().await;
        let mut exchange = forward(&client);
        sleep(SOON).await;
        assert_eq!(mock.count("tools/call"), 0);
        assert!(timeout(Duration::from_millis(10), exchange.next()).await.is_err());
        assert_eq!(mock.count("tools/call"), 1);
        sleep(SOON).await;
        assert!(is_done(&exchange.next().await));
        sleep(REST).await;
        assert_eq!(left.load(Ordering::SeqCst), 1, "the stream is left after its answer");
        assert_eq!(mock.count("notifications/cancelled"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn line_121_a_forwarded_request_that_is_dropped_is_cancelled() {
    for is_detached in [false, true] {
        for (mock, left) in servers(|_, left| watched([Step::Hang], left)) {
            let client = mock.connect().await;
            let mut exchange = forward(&client);
            assert!(timeout(SOON, exchange.next()).await.is_err());
            if is_detached {
                exchange.detach();
                sleep(SOON).await;
            }
            assert_eq!(left.load(Ordering::SeqCst), 0);
            drop(exchange);
            sleep(SOON).await;
            assert_eq!(left.load(Ordering::SeqCst), 1);
            let cancelled: Vec<Value> = mock
                .seen()
                .into_iter()
                .filter(|seen| seen.what() == "notifications/cancelled")
                .map(|seen| seen.body["params"]["requestId"].clone())
                .collect();
            let expected = if client.revision().has_sessions() {
                vec![mock.last("tools/call").body["id"].clone()]
            } else {
                vec![]
            };
            assert_eq!(cancelled, expected);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_detached_exchange_goes_on_without_being_polled() {
    for polled in [false, true] {
        for (mock, left) in
            servers(|seen, left| watched([Step::Wait(50), event(&seen.result(says("done"))), Step::Hang], left))
        {
            let client = mock.connect().await;
            let mut exchange = forward(&client);
            if polled {
                assert!(timeout(Duration::from_millis(10), exchange.next()).await.is_err());
            }
            exchange.detach();
            exchange.detach();
            sleep(REST).await;
            assert_eq!((mock.count("tools/call"), left.load(Ordering::SeqCst)), (1, 1), "the response was read");
            assert!(is_done(&exchange.next().await));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_forwarded_request_fails_with_its_connection() {
    for (mock, left) in servers(|_, left| watched([Step::Hang], left)) {
        let client = mock.connect().await;
        let mut exchange = forward(&client);
        assert!(timeout(SOON, exchange.next()).await.is_err());
        client.close().await.unwrap();
        let event = timeout(SOON, exchange.next()).await.unwrap();
        assert!(matches!(&event, Event::Failed(error) if error.is_closed()), "{event:?}");
        assert_eq!(left.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_response_without_a_stream_is_read_where_it_is_polled() {
    for (mock, _) in servers(|seen, _| reply(200, &seen.result(says("done")))) {
        let client = mock.connect().await;
        assert!(is_done(&forward(&client).next().await));
    }
}

/// The call goes on while its caller answers: a request that the server cancels is not answered any more.
#[tokio::test(start_paused = true)]
async fn a_server_can_cancel_its_request_while_a_proxy_forwards_it() {
    let mock = Mock::legacy(|seen| {
        let message = |method: &str, mut message: Value| {
            message["jsonrpc"] = "2.0".into();
            message["method"] = method.into();
            event(&message)
        };
        let form = json!({ "message": "who?", "requestedSchema": { "type": "object", "properties": {} } });
        let asks = message("elicitation/create", json!({ "id": 77, "params": form }));
        let cancels = message("notifications/cancelled", json!({ "params": { "requestId": 77 } }));
        match seen.what() {
            "tools/call" => {
                stream([asks, Step::Wait(500), cancels, Step::Wait(50), event(&seen.result(says("alone")))])
            }
            "GET" => empty(405),
            _ => empty(202),
        }
    });
    let proxy = Proxy::connect(Client::new("proxy", "1"), mock.target()).await.unwrap();
    let asker = Client::new("asker", "1").versions([ProtocolVersion::V2025_11_25]);
    let asker = asker.on_elicit(|_| std::future::pending()).connect(proxy.service()).await.unwrap();
    let said = timeout(Duration::from_secs(30), asker.call("slow", ()).into_future()).await;
    assert_eq!(said.expect("the server does not wait").unwrap().text(), "alone");
}
