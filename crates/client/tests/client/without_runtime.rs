//! Without timeouts a client needs neither a runtime nor a clock.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use couplet_client::Client;
use couplet_types::ProtocolVersion;
use serde_json::json;

use crate::script::{Script, result};

#[test]
fn a_plain_loop_is_enough() {
    for version in ProtocolVersion::ALL {
        let script = Script::speaking(version, json!({ "tools": {} }), |m| match m["method"].as_str() {
            Some("tools/call") => vec![result(m, json!({ "content": [{ "type": "text", "text": "done" }] }))],
            _ => vec![],
        });
        let mut cx = Context::from_waker(Waker::noop());
        let builder = Client::new("test", "1").timeout(None).max_timeout(None).probe_timeout(None);
        let mut opening = pin!(builder.attach(script));
        let Poll::Ready(Ok((client, mut driver))) = opening.as_mut().poll(&mut cx) else { panic!("{version}") };
        let mut call = pin!(async { client.call("work", ()).await.unwrap().text() });
        assert!(call.as_mut().poll(&mut cx).is_pending());
        assert!(pin!(&mut driver).poll(&mut cx).is_pending());
        assert_eq!(call.as_mut().poll(&mut cx), Poll::Ready("done".to_owned()));
        let mut closing = pin!(client.close());
        assert!(closing.as_mut().poll(&mut cx).is_pending());
        assert!(pin!(&mut driver).poll(&mut cx).is_ready());
        assert!(closing.as_mut().poll(&mut cx).is_ready());
    }
}
