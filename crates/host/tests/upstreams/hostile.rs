//! Lists of servers that mean harm.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use couplet_core::Change;
use couplet_host::{
    catalog::{Catalog, Freshness, List},
    upstream::State,
};
use couplet_types::RpcError;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    catalog::empty,
    kit::{Fake, STATELESS, call, caller, options, until},
};

/// The catalog of a server with such a list of tools, and the number of pages that were requested.
async fn tools(
    page: impl Fn(usize, Option<String>) -> Result<String, RpcError> + Send + Sync + 'static,
) -> (Arc<Catalog>, usize) {
    let pages = Arc::new(AtomicUsize::new(0));
    let count = pages.clone();
    let fake = Fake::new(STATELESS).on_list(move |method, cursor| match method {
        "tools/list" => page(count.fetch_add(1, SeqCst), cursor),
        _ => empty(method),
    });
    let upstream = fake.with(options());
    let catalog = upstream.first_catalog(Duration::from_secs(60)).await;
    (catalog, pages.load(SeqCst))
}

fn tool(name: &str) -> String {
    json!({ "name": name, "inputSchema": { "type": "object" } }).to_string()
}

#[tokio::test(start_paused = true)]
async fn s19_the_same_cursor_again_ends_the_list() {
    let (catalog, pages) =
        tools(|n, _| Ok(format!(r#"{{"tools":[{}],"nextCursor":"more"}}"#, tool(&format!("t{n}"))))).await;
    assert_eq!((catalog.list(List::Tools).len(), pages), (2, 2));
    assert_eq!(catalog.reports(), ["the list does not end: the server returned the same cursor twice"]);
    assert_eq!(catalog.freshness(), Freshness::Fresh);
}

#[tokio::test(start_paused = true)]
async fn s19_endless_pages_end() {
    let (catalog, pages) = tools(|n, _| Ok(json!({ "tools": [], "nextCursor": n.to_string() }).to_string())).await;
    assert_eq!(pages, 256);
    assert_eq!(catalog.reports(), ["the list has more than 256 pages; the others are ignored"]);
}

#[tokio::test(start_paused = true)]
async fn s19_too_many_entries_are_ignored() {
    let (catalog, pages) = tools(|page, _| {
        let tools: Vec<_> = (0..900).map(|n| json!({ "name": format!("{page}-{n}"), "inputSchema": {} })).collect();
        Ok(json!({ "tools": tools, "nextCursor": page.to_string() }).to_string())
    })
    .await;
    assert_eq!((catalog.list(List::Tools).len(), pages), (10_000, 12));
    assert_eq!(catalog.reports()[0], "the list has more than 10000 entries; the others are ignored");
}

#[tokio::test(start_paused = true)]
async fn s19_large_definitions_and_large_lists_are_bounded() {
    let schema = "x".repeat(1 << 20);
    let (catalog, pages) = tools(move |n, _| {
        let large = json!({ "name": format!("large{n}"), "description": schema, "inputSchema": {} });
        Ok(format!(r#"{{"tools":[{large},{}],"nextCursor":"{n}"}}"#, tool(&format!("small{n}"))))
    })
    .await;
    // 32 MiB of pages, and of each the small one.
    assert_eq!((catalog.list(List::Tools).len(), pages), (32, 32));
    assert!(catalog.list(List::Tools).iter().all(|tool| tool.raw().starts_with("small")));
    let reports = catalog.reports();
    assert_eq!(reports.len(), 32, "{reports:?}");
    assert!(
        reports[0].starts_with("the tool 1 has 1048") && reports[0].ends_with(", more than 262144, and is ignored")
    );
}

#[tokio::test(start_paused = true)]
async fn s19_definitions_without_a_name_or_with_another_ones_are_dropped() {
    let list = [
        &tool("good"),
        r#"{"inputSchema":{}}"#,
        r#"{"name":7,"inputSchema":{}}"#,
        r#"{"name":null,"inputSchema":{}}"#,
        r#"{"name":"good","inputSchema":{},"description":"the other one"}"#,
        r#"{"name":"a","name":"b","inputSchema":{}}"#,
        r#""text""#,
        "null",
        "[]",
        &tool("good\u{202e}\u{7}"),
        &tool("good\u{202e}\u{7}"),
        &tool(""),
    ]
    .join(",");
    let (catalog, _) = tools(move |_, _| Ok(format!(r#"{{"tools":[{list}]}}"#))).await;
    let names: Vec<_> = catalog.list(List::Tools).iter().map(|tool| tool.raw().to_string()).collect();
    assert_eq!(names[..3], ["good", "good\u{202e}\u{7}", ""]);
    let reports = catalog.reports();
    let expected = [
        "the tool 2 is ignored: it has no `name`",
        "the tool 3 is ignored: its `name` is not a string",
        "the tool 4 is ignored: it has no `name`",
        "the tool 5 is ignored: an earlier one has the same `name`, `good`",
    ];
    assert_eq!(reports[..4], expected);
    assert!(reports.iter().any(|report| report.contains(r"`good\u{202e}\u{7}`")), "{reports:?}");
    assert!(reports.iter().all(|report| !report.contains(['\u{202e}', '\u{7}'])), "{reports:?}");
}

#[tokio::test(start_paused = true)]
async fn lists_that_are_none_are_errors() {
    for (answer, expected) in [
        ("{}", "the result of `tools/list` is not valid: `tools` is missing"),
        (r#"{"tools":{}}"#, "the result of `tools/list` is not valid: `tools` is not an array"),
        (r#"{"tools":[],"nextCursor":7}"#, "the result of `tools/list` is not valid: `nextCursor`"),
    ] {
        let (catalog, _) = tools(move |_, _| Ok(answer.to_owned())).await;
        let error = catalog.error().unwrap().to_string();
        assert!(error.starts_with(expected), "{answer}: {error}");
        // The other lists are there.
        assert_eq!(catalog.freshness(), Freshness::Stale);
    }
}

#[tokio::test(start_paused = true)]
async fn s19_a_server_that_lists_slowly_does_not_delay_calls_and_its_lists_time_out() {
    let fake = Fake::new(STATELESS).list_delay(Duration::from_secs(1_000_000));
    let upstream = fake.with(options());
    let client = caller(&upstream, STATELESS).await;
    let began = Instant::now();
    assert_eq!(call(&client, "echo").await, "echo");
    assert!(!upstream.first_catalog(Duration::from_secs(1)).await.is_fetched());
    assert!(began.elapsed() <= Duration::from_millis(1100));
    until("its lists time out", || upstream.catalog().error().is_some()).await;
    assert!(began.elapsed() < Duration::from_secs(17), "{:?}", began.elapsed());
    assert_eq!(upstream.status().state, State::Degraded);
    assert_eq!(call(&client, "echo").await, "echo");
}

#[tokio::test(start_paused = true)]
async fn s19_a_storm_of_changes_does_not_hold_up_calls() {
    let fake = Fake::new(STATELESS);
    let upstream = fake.with(options());
    let client = caller(&upstream, STATELESS).await;
    let storm = tokio::spawn({
        let fake = fake.clone();
        async move {
            loop {
                for change in [Change::Tools, Change::Prompts, Change::Resources] {
                    fake.hub().send(change);
                }
                sleep(Duration::from_millis(1)).await;
            }
        }
    });
    let began = Instant::now();
    for _ in 0..1000 {
        assert_eq!(call(&client, "echo").await, "echo");
        sleep(Duration::from_millis(10)).await;
    }
    storm.abort();
    assert!(began.elapsed() < Duration::from_secs(15));
    // Four lists, about four times a second.
    let listed = fake.listed.load(SeqCst);
    assert!(listed < 4 * 4 * 15, "{listed}");
}
