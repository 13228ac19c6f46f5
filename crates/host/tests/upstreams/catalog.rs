//! Lists: all pages, last known good, in every revision.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use couplet_core::{Change, Revision};
use couplet_host::{
    catalog::{Catalog, Freshness, List},
    upstream::{State, Upstream},
};
use couplet_types::{ProtocolVersion, RpcError};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::kit::{ERAS, Fake, SESSIONS, STATELESS, is, options, until};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The answer of a list that is empty.
pub(crate) fn empty(method: &str) -> Result<String, RpcError> {
    let member = match method {
        "tools/list" => "tools",
        "prompts/list" => "prompts",
        "resources/list" => "resources",
        _ => "resourceTemplates",
    };
    Ok(json!({ member: [] }).to_string())
}

fn names(catalog: &Catalog) -> Vec<String> {
    catalog.list(List::Tools).iter().map(|tool| tool.raw().to_string()).collect()
}

/// A server with tools in pages, whose list can change.
#[derive(Clone, Default)]
struct Paged(Arc<Mutex<Vec<String>>>, Arc<AtomicUsize>);

impl Paged {
    const PAGE: usize = 50;

    fn new(count: usize) -> Self {
        Self(Arc::new(Mutex::new((0..count).map(|n| format!("tool-{n:05}")).collect())), Arc::default())
    }

    fn serve(&self, version: ProtocolVersion) -> Fake {
        let this = self.clone();
        Fake::new(version).on_list(move |method, cursor| match method {
            "tools/list" => Ok(this.page(cursor)),
            _ => empty(method),
        })
    }

    /// The cursor is an offset, as with most servers: entries move when the list changes meanwhile.
    fn page(&self, cursor: Option<String>) -> String {
        self.1.fetch_add(1, SeqCst);
        let tools = self.0.lock().unwrap();
        let at: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let end = (at + Self::PAGE).min(tools.len());
        let page: Vec<_> =
            tools[at..end].iter().map(|name| json!({ "name": name, "inputSchema": { "type": "object" } })).collect();
        match end < tools.len() {
            true => json!({ "tools": page, "nextCursor": end.to_string() }).to_string(),
            false => json!({ "tools": page }).to_string(),
        }
    }
}

async fn first(fake: &Fake) -> (Upstream, Arc<Catalog>) {
    let upstream = fake.with(options());
    let catalog = upstream.first_catalog(secs(60)).await;
    assert_eq!(catalog.freshness(), Freshness::Fresh, "{:?}", catalog.error());
    (upstream, catalog)
}

#[tokio::test(start_paused = true)]
async fn five_thousand_tools_in_a_hundred_pages() {
    for era in ERAS {
        let paged = Paged::new(5000);
        let (_upstream, catalog) = first(&paged.serve(era)).await;
        assert_eq!(names(&catalog), *paged.0.lock().unwrap());
        assert_eq!((paged.1.load(SeqCst), catalog.reports()), (100, vec![]));
        assert_eq!(catalog.instructions().map(|text| &**text), Some("be nice"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_changes_while_it_is_fetched_is_complete_at_the_end() {
    for era in ERAS {
        let paged = Paged::new(5000);
        let fake = paged.serve(era);
        let upstream = fake.with(options());
        upstream.start();
        // Some pages in, the first tools go: later ones move to pages that were read.
        until("some pages are read", || paged.1.load(SeqCst) >= 7).await;
        for n in 0..300 {
            paged.0.lock().unwrap().remove(n % 100);
            fake.hub().send(Change::Tools);
        }
        paged.0.lock().unwrap().push("last".to_owned());
        fake.hub().send(Change::Tools);
        until("it is complete", || names(&upstream.catalog()) == *paged.0.lock().unwrap()).await;
        assert_eq!(upstream.catalog().reports(), Vec::<String>::new());
        assert_eq!(upstream.catalog().freshness(), Freshness::Fresh);
    }
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_changes_is_few_requests() {
    for era in ERAS {
        let fake = Paged::new(10).serve(era);
        let (upstream, before) = first(&fake).await;
        let mut versions = upstream.changes();
        versions.borrow_and_update();
        let listed = fake.listed.load(SeqCst);
        for _ in 0..1000 {
            fake.hub().send(Change::Tools);
            sleep(Duration::from_millis(1)).await;
        }
        sleep(secs(5)).await;
        let requests = fake.listed.load(SeqCst) - listed;
        assert!((1..=6).contains(&requests), "{requests}");
        // Nothing has changed, so nothing is announced, and definitions are the same.
        assert!(!versions.has_changed().unwrap());
        assert_eq!(upstream.catalog().generation(), before.generation());
        assert!(Arc::ptr_eq(upstream.catalog().list(List::Tools), before.list(List::Tools)));
    }
}

#[tokio::test(start_paused = true)]
async fn changes_are_fetched_and_announced() {
    for era in ERAS {
        let paged = Paged::new(3);
        let fake = paged.serve(era);
        let (upstream, before) = first(&fake).await;
        let mut versions = upstream.changes();
        versions.borrow_and_update();
        paged.0.lock().unwrap()[1] = "other".to_owned();
        fake.hub().send(Change::Tools);
        versions.changed().await.unwrap();
        let after = upstream.catalog();
        assert_eq!(names(&after), ["tool-00000", "other", "tool-00002"]);
        assert!(after.generation() > before.generation());
    }
}

#[tokio::test(start_paused = true)]
async fn lists_that_cannot_be_fetched_stay_as_they_were() {
    for era in ERAS {
        let broken = Arc::new(AtomicBool::new(false));
        let is_broken = broken.clone();
        let paged = Paged::new(120);
        let tools = paged.clone();
        let fake = Fake::new(era).on_list(move |method, cursor| match method {
            "tools/list" if is_broken.load(SeqCst) && cursor.is_some() => Err(RpcError::internal("the disk is full")),
            "tools/list" => Ok(tools.page(cursor)),
            _ => empty(method),
        });
        let (upstream, _) = first(&fake).await;
        broken.store(true, SeqCst);
        paged.0.lock().unwrap().remove(0);
        fake.hub().send(Change::Tools);
        until("it is stale", || upstream.catalog().freshness() == Freshness::Stale).await;
        assert_eq!(names(&upstream.catalog()).len(), 120);
        assert_eq!(upstream.status().state, State::Degraded);
        assert!(upstream.status().catalog.error.unwrap().contains("the disk is full"));
        // It is tried again, without a change.
        broken.store(false, SeqCst);
        until("it is fresh", || upstream.catalog().freshness() == Freshness::Fresh).await;
        assert_eq!((names(&upstream.catalog()).len(), upstream.status().state), (119, State::Ready));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_gone_keeps_its_lists() {
    let fake = Paged::new(3).serve(STATELESS);
    let (upstream, _) = first(&fake).await;
    fake.refuse(true);
    fake.cut();
    is(&upstream, State::Stopped).await;
    assert_eq!(upstream.first_catalog(secs(1)).await.list(List::Tools).len(), 3);
    assert!(upstream.status().catalog.age.unwrap() > Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_expires_begins_the_list_again() {
    let expired = AtomicBool::new(false);
    let paged = Paged::new(200);
    let fake = Fake::new(STATELESS).on_list(move |method, cursor| match method {
        "tools/list" if cursor.as_deref() == Some("100") && !expired.swap(true, SeqCst) => {
            Err(RpcError::invalid_params("unknown cursor"))
        }
        "tools/list" => Ok(paged.page(cursor)),
        _ => empty(method),
    });
    let (_upstream, catalog) = first(&fake).await;
    assert_eq!(names(&catalog).len(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_time_to_live_is_respected_within_reason() {
    for (ttl, every) in [(120_000, 120), (1, 30), (0, 1_000_000)] {
        let fetched = Arc::new(AtomicUsize::new(0));
        let count = fetched.clone();
        let fake = Fake::new(STATELESS).on_list(move |method, _| {
            if method == "tools/list" {
                count.fetch_add(1, SeqCst);
            }
            empty(method)
        });
        // The server adds the hint to every list.
        let fake = fake.ttl(ttl);
        let (_upstream, catalog) = first(&fake).await;
        assert_eq!(catalog.ttl(), Some(Duration::from_millis(ttl)));
        sleep(secs(every * 10)).await;
        let count = fetched.load(SeqCst);
        // The server notifies of changes, so it does not have to be asked without a time to live.
        let expected = if ttl == 0 { 1..=1 } else { 9..=11 };
        assert!(expected.contains(&count), "{ttl}: {count}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_without_a_capability_is_empty_and_not_requested() {
    let paged = Paged::new(1);
    let fake = paged.serve(SESSIONS).without_prompts();
    let (_upstream, catalog) = first(&fake).await;
    assert_eq!((names(&catalog).len(), catalog.list(List::Prompts).len()), (1, 0));
    // Tools, resources and templates.
    assert_eq!(fake.listed.load(SeqCst), 3);
}

/// A definition with members that revisions do not have in common, and one that no revision knows.
const RICH: &str = r#"{"name":"rich","title":"Rich","icons":[{"src":"https://example.com/i.png"}],"inputSchema":{"type":"object","maximum":1.0},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"x-own":1e2}"#;

#[tokio::test(start_paused = true)]
async fn definitions_are_verbatim_in_their_revision_and_projected_to_others() {
    for version in ProtocolVersion::ALL {
        let fake = Fake::new(*version).on_list(|method, _| match method {
            "tools/list" => {
                Ok(format!(r#"{{"tools":[ {RICH} ,{{"name":"bad","inputSchema":{{}},"description":7}}]}}"#))
            }
            _ => empty(method),
        });
        let (_upstream, catalog) = first(&fake).await;
        let [rich, bad] = &**catalog.list(List::Tools) else { panic!("{catalog:?}") };
        assert_eq!(rich.text().as_str(), RICH);
        assert_eq!(rich.get("title").unwrap().as_str(), r#""Rich""#);
        for to in ProtocolVersion::ALL {
            let to_revision = Revision::of(*to);
            if to == version {
                assert_eq!(rich.projected(to_revision).as_ref(), Some(rich.text()));
                assert!(bad.projected(to_revision).is_some());
                continue;
            }
            let projected: Value = rich.projected(to_revision).unwrap().parse().unwrap();
            assert_eq!(projected["name"], "rich");
            assert_eq!(projected.get("title").is_some(), to_revision.has_titles(), "{version} to {to}: {projected}");
            assert_eq!(projected.get("annotations").is_some(), to_revision.has_tool_annotations());
            assert_eq!(projected.get("outputSchema").is_some(), to_revision.has_structured_output());
            assert_eq!(bad.projected(to_revision), None, "an invalid definition is hidden");
        }
    }
}
