//! Without timeouts a client needs neither a runtime nor a clock.

use std::{
    future::{Future, pending},
    pin::pin,
    task::{Context, Poll, Waker},
};

use couplet_client::Client;
use couplet_types::ProtocolVersion;
use serde_json::json;

use crate::script::{Script, result};

#[test]
fn a_plain_loop_is_enough() {
    for &version in ProtocolVersion::ALL {
        let script = Script::speaking(version, json!({ "tools": {} }), |m| match m["method"].as_str() {
            Some("tools/call") => vec![result(m, json!({ "content": [{ "type": "text", "text": "done" }] }))],
            _ => vec![],
        });
        let builder = Client::new("test", "1").timeout(None).max_timeout(None).probe_timeout(None);
        let (client, driver) = run(builder.connect_with_driver(script), pending()).unwrap();
        let driver = async { driver.await.unwrap() };
        let work = async {
            assert_eq!(client.call("work", ()).await.unwrap().text(), "done");
            client.close().await.unwrap();
        };
        run(work, driver);
    }
}

/// Polls both until the first is done.
fn run<T>(work: impl Future<Output = T>, beside: impl Future<Output = ()>) -> T {
    let (mut work, mut beside) = (pin!(work), pin!(beside));
    let mut cx = Context::from_waker(Waker::noop());
    let mut running = true;
    for _ in 0..100 {
        if let Poll::Ready(done) = work.as_mut().poll(&mut cx) {
            return done;
        }
        running = running && beside.as_mut().poll(&mut cx).is_pending();
    }
    panic!("it does not end")
}
