//! A host as the library of a program: its functions without a client of one's own.

use std::sync::Arc;

use couplet_client::Change;
use couplet_core::Service;
use couplet_host::Host;
use serde_json::json;

use crate::{
    evil::Evil,
    kit::{SESSIONS, STATELESS, in_time, server},
};

#[tokio::test]
async fn a_program_uses_all_servers_through_the_host() {
    for far in [SESSIONS, STATELESS] {
        in_time(far, async {
            let (files, evil) = (server("files", far).build(), Evil::named("evil", far, &["one"]));
            let target: Arc<dyn Service> = Arc::new(files.clone());
            let host = Host::builder().server("files", target).server("evil", evil.service()).build();

            assert_eq!(host.tools().await.unwrap().len(), 7);
            assert_eq!(host.prompts().await.unwrap()[0].name, "files__ask");
            assert_eq!(host.resources().await.unwrap()[0].uri, "files://one");
            assert_eq!(host.resource_templates().await.unwrap()[0].uri_template, "files://{n}/page");
            assert_eq!(host.call("evil__one", ()).await.unwrap().text(), "evil: one");
            assert_eq!(host.read("files://2/page").await.unwrap().all_text(), "files page 2");
            let prompt = host.prompt("files__ask", json!({ "word": "it" })).await.unwrap();
            assert!(serde_json::to_string(&prompt).unwrap().contains("files: what is it?"), "{prompt:?}");
            for error in [
                host.call("files__none", ()).await.unwrap_err(),
                host.read("none://one").await.unwrap_err(),
                host.prompt("files__none", ()).await.unwrap_err(),
            ] {
                assert!(error.rpc().is_some(), "{error}");
            }

            let mut updates = host.subscribe("files://one").await.unwrap();
            while !files.hub().interest().uris.contains("files://one") {
                tokio::task::yield_now().await;
            }
            files.hub().send(Change::Updated("files://one".into()));
            assert_eq!(updates.next().await, Some(Change::Updated("files://one".into())));

            let mut lists = host.changes().await.unwrap();
            evil.set_tools(json!([]));
            assert_eq!(lists.next().await, Some(Change::Tools));
            assert_eq!(host.tools().await.unwrap().len(), 6);
            host.close().await;
        })
        .await;
    }
}
