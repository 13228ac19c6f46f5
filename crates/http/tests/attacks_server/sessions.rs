//! Floods of handshakes.

use std::{sync::Arc, time::Duration};

use couplet_http::server::{Endpoint, MemoryEvents, MemorySessions, SessionStore};

use crate::support::{POLLING, Session, by_user, endpoint, initialize, limits, request, send};

/// Opens a session and does nothing with it; its id, if it was opened.
async fn flood(endpoint: &Endpoint, user: &str) -> Option<String> {
    let reply = send(endpoint, request("POST", &[("x-user", user)], initialize(POLLING).to_string())).await;
    reply.header("mcp-session-id").map(str::to_owned)
}

#[tokio::test(start_paused = true)]
async fn attack_04_after_a_flood_of_handshakes_a_newcomer_gets_a_session() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.limits(limits(|l| l.sessions = 64));
    let before = Session::open(&endpoint, POLLING).await;
    for _ in 0..1000 {
        assert!(flood(&endpoint, "").await.is_some(), "each takes the place of another one of the flood");
    }
    assert_eq!(endpoint.session_count(), 64);
    let newcomer = Session::open(&endpoint, POLLING).await;
    for _ in 0..1000 {
        flood(&endpoint, "").await;
    }
    for session in [&before, &newcomer] {
        assert_eq!(session.tool(1, "hello").await.status, 200, "those that are used stay");
    }
    assert_eq!(endpoint.session_count(), 64);
}

#[tokio::test(start_paused = true)]
async fn attack_04_a_newcomer_can_finish_its_handshake_during_a_flood() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.limits(limits(|l| l.sessions = 64));
    let mut users = Vec::new();
    for _ in 0..64 {
        users.push(Session::open(&endpoint, POLLING).await);
    }
    let newcomer = flood(&endpoint, "").await.unwrap();
    for _ in 0..4 {
        flood(&endpoint, "").await;
    }
    let session = Session { endpoint: endpoint.clone(), id: newcomer, version: POLLING.to_owned() };
    assert_eq!(session.tool(1, "hello").await.status, 200);
    for _ in 0..1000 {
        flood(&endpoint, "").await;
    }
    // No more of them had to go than there is room for handshakes.
    let mut left = 0;
    for user in &users {
        left += usize::from(user.tool(1, "hello").await.status == 200);
    }
    assert!(left >= 64 - 64 / 8 - 2, "{left}");
    assert_eq!(session.tool(2, "hello").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn attack_04_who_is_longest_unused_gives_way_and_who_is_busy_does_not() {
    let (endpoint, seen) = endpoint();
    let store = Arc::new(MemorySessions::new());
    let endpoint = endpoint.sessions(store.clone()).events(Arc::new(MemoryEvents::new()));
    let endpoint = endpoint.limits(limits(|l| l.sessions = 4));
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(Session::open(&endpoint, POLLING).await);
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    // The first listens, the second runs something, the third was used after the fourth.
    let stream = sessions[0].get(None).await;
    let call = sessions[1].tool(1, "forever").await;
    assert!(stream.is_stream() && call.is_stream());
    assert_eq!(sessions[2].tool(1, "hello").await.status, 200);
    tokio::time::advance(Duration::from_secs(1)).await;
    let fifth = Session::open(&endpoint, POLLING).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(sessions[3].tool(1, "hello").await.status, 404, "it was unused for longest");
    assert_eq!(store.load(&sessions[3].id).await.unwrap(), None, "the store was told");
    assert!(store.load(&fifth.id).await.unwrap().is_some());
    let sixth = Session::open(&endpoint, POLLING).await;
    assert_eq!(sessions[2].tool(2, "hello").await.status, 404);
    assert_eq!((sessions[0].tool(1, "hello").await.status.as_u16(), seen.dropped()), (200, 0));
    // When all are busy there is no room.
    let busy = [fifth.get(None).await, sixth.get(None).await];
    let refused = send(&endpoint, request("POST", &[], initialize(POLLING).to_string())).await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("1")));
    drop(busy);
    // The sessions notice.
    tokio::time::sleep(Duration::from_millis(1)).await;
    Session::open(&endpoint, POLLING).await;
}

#[tokio::test(start_paused = true)]
async fn attack_04_a_flood_of_one_principal_stays_its_own() {
    let (endpoint, _) = endpoint();
    let endpoint = by_user(endpoint.limits(limits(|l| (l.sessions, l.sessions_per_principal) = (8, 4))));
    let mut opened = 0;
    for _ in 0..100 {
        opened += usize::from(flood(&endpoint, "mallory").await.is_some());
    }
    assert_eq!((opened, endpoint.session_count()), (4, 4));
    for _ in 0..4 {
        assert!(flood(&endpoint, "alice").await.is_some());
    }
    // The table is full, and the oldest are those of the flood: they give way first. It cannot drive out more than its
    // own share.
    let bob = flood(&endpoint, "bob").await.unwrap();
    for _ in 0..100 {
        flood(&endpoint, "mallory").await;
    }
    assert_eq!(endpoint.session_count(), 8);
    let headers = [("x-user", "bob"), ("mcp-session-id", &*bob)];
    assert_eq!(send(&endpoint, request("DELETE", &headers, "")).await.status, 204);
}
