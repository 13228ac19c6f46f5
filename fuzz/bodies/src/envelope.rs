//! The envelope of a message, read from any bytes.

use std::mem::discriminant;

use bytes::Bytes;
use couplet_core::{
    Bounds, Oversized, Skimmed,
    message::{Body, Frame, Message, read},
};
use couplet_types::RequestId;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Reads the input as one frame.
///
/// # Panics
/// When the reader panics, accepts what is not JSON, or reads a message differently the second time; and when what is
/// seen of a message without reading it is something else.
pub fn envelope(data: &[u8]) {
    let seen = Oversized::of(data);
    assert_eq!(seen.length, data.len());
    match read(Bytes::copy_from_slice(data), Bounds::default()) {
        Err(_) => {}
        Ok(Frame::Single(message)) => {
            assert_json(data);
            check_gist(&message.body, &seen.gist);
            check(&message);
        }
        Ok(Frame::Batch(messages)) => {
            assert_json(data);
            assert!(!messages.is_empty(), "a batch has messages");
            messages.iter().flatten().for_each(check);
        }
    }
}

/// What goes by without being read is what it would have been read as. An id of more than a kilobyte is not seen.
fn check_gist(body: &Body, gist: &Skimmed) {
    let expected = match body {
        Body::Request { id, .. } => Skimmed::Request(id.clone()),
        Body::Notification { .. } => Skimmed::Notification,
        Body::Response { id: Some(id), .. } => Skimmed::Response(id.clone()),
        Body::Response { id: None, .. } => Skimmed::Unknown,
    };
    let is_long = |id: &RequestId| id.to_string().len() > 100;
    match body {
        Body::Request { id, .. } | Body::Response { id: Some(id), .. } if is_long(id) => {}
        _ => assert_eq!(*gist, expected),
    }
}

fn check(message: &Message) {
    assert_json(message.text.as_str().as_bytes());
    let again = read(message.text.as_bytes().clone(), Bounds::default());
    let Ok(Frame::Single(again)) = again else { panic!("read once, but not twice: {again:?}") };
    assert_eq!(again.text.as_str(), message.text.as_str(), "the text of a message is all of it");
    assert_eq!(discriminant(&again.body), discriminant(&message.body), "the kind of a message");
    match (&message.body, &again.body) {
        (Body::Request { id, method, params }, Body::Request { id: id2, method: method2, .. }) => {
            assert_eq!((id, method), (id2, method2));
            check_params(params);
        }
        (Body::Notification { method, params }, Body::Notification { method: method2, .. }) => {
            assert_eq!(method, method2);
            check_params(params);
        }
        (Body::Response { id, outcome }, Body::Response { id: id2, .. }) => {
            assert_eq!(id, id2);
            if let Ok(result) = outcome {
                assert_json(result.as_str().as_bytes());
            }
        }
        _ => unreachable!("the kinds are the same"),
    }
}

fn check_params(params: &couplet_core::message::Params) {
    assert_json(params.text().as_str().as_bytes());
    for (key, value) in params.iter() {
        assert_json(value.as_str().as_bytes());
        let found = params.get(&key).expect("a member is found by its key");
        assert_eq!(found.as_str(), value.as_str(), "the member `{key}`");
    }
}

/// What we accept, serde_json accepts.
fn assert_json(text: &[u8]) {
    serde_json::from_slice::<IgnoredAny>(text).expect("accepted, and not JSON");
    // As a tree it cannot hold every number: that is a matter of what a number fits into, not of JSON.
    if let Err(error) = serde_json::from_slice::<Value>(text) {
        assert!(error.to_string().starts_with("number out of range"), "accepted, but: {error}");
    }
}
