//! The contract of a change bus.

use std::task::{Context, Waker};

use bytes::Bytes;
use couplet_core::{BusSubscription, ChangeBus};

use super::{in_time, unique};

type Subscribed = Box<dyn BusSubscription>;

/// Checks the contract of a [`ChangeBus`], with the handles that two replicas have of one bus. It should not carry other
/// messages meanwhile.
///
/// ```
/// use couplet_core::MemoryBus;
/// use couplet_testing::contract;
///
/// # couplet_testing::block_on(async {
/// let bus = MemoryBus::new();
/// contract::change_bus(&bus, &bus.clone()).await;
/// contract::change_bus_cut(&bus, async || bus.disconnect()).await;
/// # });
/// ```
///
/// # Panics
/// If the bus violates its contract.
pub async fn change_bus(first: &dyn ChangeBus, second: &dyn ChangeBus) {
    let early = message("early");
    publish(first, &early).await;
    let mut near = subscribe(first).await;
    let mut far = subscribe(second).await;
    let mut other = subscribe(second).await;

    // Published before `next` is called.
    let all: Vec<Bytes> = (0..20).map(|number| message(&format!("{number}"))).collect();
    for message in &all {
        publish(first, message).await;
    }
    for (what, subscription) in [("another replica", &mut far), ("a second subscription", &mut other)] {
        for message in &all {
            let received = next(subscription).await;
            assert_ne!(received, early, "{what} receives a message from before it subscribed");
            assert_eq!(received, message, "{what} receives each message once, in the order of its publisher");
        }
    }
    check_bytes(first, &mut far, &mut other).await;
    check_cancellation(second, &mut far, &mut other).await;

    drop(other);
    let last = message("last");
    publish(second, &last).await;
    assert_eq!(next(&mut far).await, last, "a subscription that was dropped does not affect the others");
    // A replica may receive its own messages, or not; those of others it must.
    while next(&mut near).await != last {}
    drop((near, far));
    publish(first, &message("unheard")).await;
}

/// Messages are bytes: nothing is assumed of them.
async fn check_bytes(bus: &dyn ChangeBus, far: &mut Subscribed, other: &mut Subscribed) {
    let every_byte: Vec<u8> = (0..=255).collect();
    for message in [Bytes::from(every_byte), Bytes::from(vec![b'x'; 256 * 1024]), message("after")] {
        publish(bus, &message).await;
        for subscription in [&mut *far, &mut *other] {
            assert!(next(subscription).await == message, "a message of {} bytes is changed", message.len());
        }
    }
}

/// A `next` that is dropped loses nothing.
async fn check_cancellation(bus: &dyn ChangeBus, far: &mut Subscribed, other: &mut Subscribed) {
    let messages = [message("first"), message("second")];
    poll_once(far);
    for message in &messages {
        publish(bus, message).await;
    }
    // The other one has received them, so they may have arrived here.
    for message in &messages {
        assert_eq!(next(other).await, message);
    }
    for message in &messages {
        assert_eq!(next(far).await, message, "a call of `next` that was dropped loses no message");
    }
}

/// Checks that a subscription ends with an error when `cut` breaks its connection, and that a new one works.
///
/// # Panics
/// If the bus hides that messages may have been lost.
pub async fn change_bus_cut(bus: &dyn ChangeBus, cut: impl AsyncFnOnce()) {
    let mut subscription = subscribe(bus).await;
    let before = message("before");
    publish(bus, &before).await;
    assert_eq!(next(&mut subscription).await, before);
    cut().await;
    let ended = in_time("the end of a subscription that was cut", async { while subscription.next().await.is_ok() {} });
    ended.await;
    drop(subscription);
    // The implementation may need some attempts to connect again.
    let mut subscription = in_time("a new subscription", async {
        loop {
            match bus.subscribe().await {
                Ok(subscription) => return subscription,
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
            }
        }
    })
    .await;
    let after = message("after");
    publish(bus, &after).await;
    assert_eq!(next(&mut subscription).await, after, "a new subscription works");
}

fn message(what: &str) -> Bytes {
    unique(what).into()
}

async fn publish(bus: &dyn ChangeBus, message: &Bytes) {
    in_time("publish", bus.publish(message.clone())).await.expect("a message can be published");
}

async fn subscribe(bus: &dyn ChangeBus) -> Subscribed {
    in_time("subscribe", bus.subscribe()).await.expect("the bus can be subscribed to")
}

async fn next(subscription: &mut Subscribed) -> Bytes {
    in_time("next", subscription.next()).await.expect("the subscription goes on")
}

/// Polls `next` once and drops it.
fn poll_once(subscription: &mut Subscribed) {
    let pending = subscription.next().as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
    assert!(pending, "no message was published");
}
