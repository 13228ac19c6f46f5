//! Data flow across calls (S15).

use super::*;

fn key(principal: &str, session: Option<&str>) -> FlowKey {
    FlowKey { principal: Some(principal.into()), session: session.map(Into::into) }
}

const PARTS: [Labels; 3] = [Labels::PRIVATE, Labels::UNTRUSTED, Labels::SENDS];

#[test]
fn s15_the_third_label_completes_the_flow_in_any_order() {
    for (first, second, third) in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)] {
        let (tracker, me) = (FlowTracker::default(), key("alice", Some("s1")));
        for part in [first, second] {
            assert_eq!(tracker.would_complete(&me, PARTS[part]), Flow::Clear);
            tracker.record(&me, PARTS[part]);
        }
        // A task with two of three runs on without a question.
        assert_eq!(tracker.would_complete(&me, PARTS[first] | PARTS[second]), Flow::Clear);
        assert_eq!(tracker.would_complete(&me, PARTS[third]), Flow::Trifecta);
        tracker.record(&me, PARTS[third]);
        // From then on every call that sends is one.
        assert_eq!(tracker.would_complete(&me, Labels::SENDS), Flow::Trifecta);
        assert_eq!(tracker.would_complete(&me, Labels::PRIVATE), Flow::Clear);
        assert_eq!(tracker.would_complete(&me, Labels::NONE), Flow::Clear);
        // Other sessions and principals are not affected.
        for other in [key("alice", Some("s2")), key("bob", Some("s1")), key("alice", None), FlowKey::default()] {
            assert_eq!(tracker.would_complete(&other, PARTS[third]), Flow::Clear);
        }
        tracker.end(&me);
        assert_eq!(tracker.labels(&me), Labels::NONE);
    }
    let tracker = FlowTracker::default();
    assert_eq!(tracker.would_complete(&FlowKey::default(), Labels::ALL), Flow::Trifecta);
}

#[test]
fn s15_eviction_hides_no_leak() {
    let tracker = FlowTracker::new(100);
    let me = key("alice", None);
    tracker.record(&me, Labels::PRIVATE | Labels::UNTRUSTED);
    for n in 0..10_000 {
        tracker.record(&key("mallory", Some(&n.to_string())), Labels::NONE | Labels::PRIVATE);
    }
    assert_eq!(tracker.would_complete(&me, Labels::SENDS), Flow::Trifecta);
    assert!(tracker.len() <= 100);
}

#[test]
fn labels_are_guessed_on_the_safe_side() {
    assert_eq!(Labels::guess(Effects::STRICTEST), Labels::UNTRUSTED | Labels::SENDS);
    assert_eq!(Labels::guess(Effects::new(Effect::Read, false)), Labels::PRIVATE);
    assert_eq!(Labels::ALL.to_string(), "private, untrusted, sends");
}
