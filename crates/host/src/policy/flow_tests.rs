//! Data flow across calls (S15).

use std::time::{Duration, Instant};

use super::*;

fn key(principal: &str, session: Option<&str>) -> FlowKey {
    FlowKey { principal: Some(principal.into()), session: session.map(Into::into) }
}

const PARTS: [Labels; 3] = [Labels::PRIVATE, Labels::UNTRUSTED, Labels::SENDS];

#[test]
fn s15_the_third_label_completes_the_flow_in_any_order() {
    for (first, second, third) in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)] {
        let (tracker, me, now) = (FlowTracker::default(), key("alice", Some("s1")), Instant::now());
        for part in [first, second] {
            assert_eq!(tracker.would_complete(&me, PARTS[part], now), Flow::Clear);
            tracker.record(&me, PARTS[part], now);
        }
        // A task with two of three runs on without a question.
        assert_eq!(tracker.would_complete(&me, PARTS[first] | PARTS[second], now), Flow::Clear);
        assert_eq!(tracker.would_complete(&me, PARTS[third], now), Flow::Trifecta);
        tracker.record(&me, PARTS[third], now);
        // From then on every call that sends is one.
        assert_eq!(tracker.would_complete(&me, Labels::SENDS, now), Flow::Trifecta);
        assert_eq!(tracker.would_complete(&me, Labels::PRIVATE, now), Flow::Clear);
        assert_eq!(tracker.would_complete(&me, Labels::NONE, now), Flow::Clear);
        // Other sessions and principals are not affected.
        for other in [key("alice", Some("s2")), key("bob", Some("s1")), key("alice", None), FlowKey::default()] {
            assert_eq!(tracker.would_complete(&other, PARTS[third], now), Flow::Clear);
        }
        tracker.end(&me);
        assert_eq!(tracker.labels(&me, now), Labels::NONE);
    }
    let (tracker, now) = (FlowTracker::default(), Instant::now());
    assert_eq!(tracker.would_complete(&FlowKey::default(), Labels::ALL, now), Flow::Trifecta);
}

#[test]
fn s15_eviction_hides_no_leak() {
    let (tracker, now) = (FlowTracker::new(100), Instant::now());
    let me = key("alice", None);
    tracker.record(&me, Labels::PRIVATE | Labels::UNTRUSTED, now);
    for n in 0..10_000 {
        tracker.record(&key("mallory", Some(&n.to_string())), Labels::NONE | Labels::PRIVATE, now);
    }
    assert_eq!(tracker.would_complete(&me, Labels::SENDS, now), Flow::Trifecta);
    assert!(tracker.len() <= 100);
}

/// A stateless caller has no session that could end: its flow is over when it was idle.
#[test]
fn a_flow_ends_when_it_was_idle() {
    let second = Duration::from_secs(1);
    for me in [key("alice", None), FlowKey::default(), key("alice", Some("s1"))] {
        let (tracker, began) = (FlowTracker::default(), Instant::now());
        let is_complete = |now| tracker.would_complete(&me, Labels::SENDS, now) == Flow::Trifecta;
        tracker.record(&me, Labels::PRIVATE, began);
        let now = began + FlowTracker::IDLE - second;
        tracker.record(&me, Labels::UNTRUSTED, now);
        let now = now + FlowTracker::IDLE - second;
        assert!(is_complete(now), "{me:?}");
        // A call without a label shows that the session goes on, too.
        let now = now + FlowTracker::IDLE - second;
        assert_eq!(tracker.would_complete(&me, Labels::NONE, now), Flow::Clear);
        let now = now + FlowTracker::IDLE - second;
        assert!(is_complete(now), "{me:?}");
        let now = now + FlowTracker::IDLE;
        assert!(!is_complete(now), "{me:?}");
        tracker.record(&me, Labels::SENDS, now);
        assert_eq!(tracker.labels(&me, now), Labels::SENDS);
    }
}

/// Sessions that are over make room, and the labels of evicted ones do not apply for ever.
#[test]
fn the_labels_of_evicted_sessions_end() {
    let (tracker, began) = (FlowTracker::new(100), Instant::now());
    let fill = |name: &str, count: usize, now| {
        for n in 0..count {
            tracker.record(&key(name, Some(&n.to_string())), Labels::PRIVATE | Labels::UNTRUSTED, now);
        }
    };
    let completes = |now| tracker.would_complete(&key("alice", None), Labels::SENDS, now) == Flow::Trifecta;
    fill("mallory", 1000, began);
    assert!(tracker.len() <= 100 && completes(began));
    let later = began + FlowTracker::IDLE;
    assert!(!completes(later));
    fill("bob", 10, later);
    assert!(tracker.len() <= 10 && !completes(later), "{tracker:?}");
    fill("mallory", 1000, later);
    assert!(tracker.len() <= 100 && completes(later));
}

#[test]
fn labels_are_guessed_on_the_safe_side() {
    assert_eq!(Labels::guess(Effects::STRICTEST), Labels::UNTRUSTED | Labels::SENDS);
    assert_eq!(Labels::guess(Effects::new(Effect::Read, false)), Labels::PRIVATE);
    assert_eq!(Labels::ALL.to_string(), "private, untrusted, sends");
}
