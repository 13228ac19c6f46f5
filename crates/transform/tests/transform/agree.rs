//! Lists and calls never disagree: what is listed can be called, and nothing else can be.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use couplet_client::Client;
use couplet_core::{Caller, IntoService, Service};
use couplet_host::{
    Host, Profile, Server as HostServer,
    names::{Kind, ServerId},
    policy::Glob,
};
use couplet_middleware::{Item, Visibility};
use couplet_server::{Server, prompt, resource, tool};
use couplet_transform::{PromptTransform, ToolSearch, ToolTransform, Transform};
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

use crate::kit::{mounted, proxied, said};

const NAMES: [&str; 4] = ["a", "b", "ab", "c"];
const URIS: [&str; 3] = ["test://a", "test://b", "test://b/c"];

/// Numbers that look random, from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

/// A server whose tools and prompts return their own names.
fn server() -> Server {
    let server = NAMES.into_iter().fold(Server::new("s", "1").page_size(2), |server, name| {
        server.tool(tool(name, move || name)).prompt(prompt(name, move || name))
    });
    URIS.into_iter().fold(server, |server, uri| server.resource(resource(uri, move || uri)))
}

/// Random rules around a service.
fn transformed(service: Arc<dyn Service>, random: &mut Random) -> Arc<dyn Service> {
    let mut transform = Transform::new(service);
    let mut taken = (BTreeSet::new(), BTreeSet::new());
    for name in NAMES {
        // Names are swapped, shadowed and new.
        let (to, other) = (random.pick(&["a", "b", "ab", "c", "x", "y"]), random.pick(&["a", "b", "ab", "c", "z"]));
        if random.below(2) == 0 && taken.0.insert(to) {
            transform = transform.tool(name, ToolTransform::new().name(to));
        }
        if random.below(3) == 0 && taken.1.insert(other) {
            transform = transform.prompt(name, PromptTransform::new().name(other));
        }
    }
    if random.below(2) == 0 {
        transform = transform.hide_tools(random.pick(&["a", "*b", "c*", "x"]));
        transform = transform.hide_prompts(random.pick(&["a*", "b", "c", "x"]));
        transform = transform.hide_resources(random.pick(&["test://a", "test://b*", "test://{any}", "none"]));
    }
    if random.below(4) == 0 {
        transform = transform.only_tools(["a*", "b"]).only_resources(["test://b", "test://{any}"]);
    }
    transform.into_service()
}

/// A rule over the names that the wrapped service has.
fn visible(service: Arc<dyn Service>, random: &mut Random) -> Arc<dyn Service> {
    let mask = random.below(1 << 6);
    let rule = move |_: Option<&Caller>, item: Item<'_>| match item {
        Item::Tool(name) | Item::Prompt(name) | Item::Resource(name) | Item::ResourceTemplate(name) => {
            mask >> (name.len() % 6) & 1 == 0 || name.ends_with("_tools") || name.ends_with("_tool")
        }
        _ => true,
    };
    Visibility::new(service, rule).into_service()
}

/// The only server of a host, under its own names, with a random profile.
async fn hosted(service: Arc<dyn Service>, random: &mut Random, version: ProtocolVersion) -> Arc<dyn Service> {
    let id = ServerId::parse("one").unwrap();
    let glob = |pattern| Glob::new(pattern).unwrap();
    let mut profile = Profile::new("p").bare();
    if random.below(2) == 0 {
        profile = profile.rename(id.clone(), random.pick(&NAMES), random.pick(&["x", "y", "b"]));
    }
    if random.below(2) == 0 {
        profile = profile.deny(id.clone(), Kind::Tool, glob(random.pick(&["a", "*b", "c*", "x"])));
        profile = profile.deny(id.clone(), Kind::Prompt, glob(random.pick(&["b", "*c"])));
        profile = profile.deny(id.clone(), Kind::Resource, glob(random.pick(&["test://a", "*b*"])));
    }
    let client = Client::new("host", "1.0.0").versions([version]);
    let host = Host::builder().client(client).add(HostServer::new(id, service)).profile(profile).build();
    host.ready(Duration::from_secs(60)).await;
    host.view("p").unwrap().service()
}

#[test]
fn whatever_is_listed_can_be_called_and_nothing_else() {
    let mut counts = (0, 0);
    for seed in 1..=120u64 {
        let version = ProtocolVersion::ALL[seed as usize % ProtocolVersion::ALL.len()];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (listed, hidden) = runtime.block_on(check(seed, version));
        counts = (counts.0 + listed, counts.1 + hidden);
    }
    assert!(counts.0 > 500 && counts.1 > 500, "both were tried: {counts:?}");
}

/// The number of items that were listed, and of names that were not.
async fn check(seed: u64, version: ProtocolVersion) -> (usize, usize) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut service = server().into_service();
    let mut is_searched = false;
    for _ in 0..=random.below(4) {
        service = match random.below(6) {
            0 | 1 => transformed(service, &mut random),
            2 => visible(service, &mut random),
            3 => mounted(service),
            4 => hosted(service, &mut random, version).await,
            _ => proxied(service, version).await,
        };
    }
    if random.below(3) == 0 {
        is_searched = true;
        service = ToolSearch::new(service).limit(50).into_service();
    }
    let client = crate::kit::connect(service, version).await;
    let about = format!("seed {seed}, {version}");
    let tools = tools(&client, is_searched, &about).await;
    let prompts: Vec<String> = client.prompts().await.unwrap().into_iter().map(|prompt| prompt.name).collect();
    let uris: Vec<String> = client.resources().await.unwrap().into_iter().map(|resource| resource.uri).collect();
    let mut hidden = 0;
    for name in candidates(&["a", "b", "ab", "c", "x", "y", "z"], "m_", "") {
        let is_listed = tools.contains(&name);
        assert_eq!(client.call(&name, ()).await.is_ok_and(|done| !done.is_error()), is_listed, "{about}: tool {name}");
        if is_searched {
            let called = client.call("call_tool", json!({ "name": name })).await;
            assert_eq!(called.is_ok_and(|done| !done.is_error()), is_listed, "{about}: call_tool {name}");
        }
        let is_prompt = prompts.contains(&name);
        assert_eq!(client.prompt(&name, ()).await.is_ok(), is_prompt, "{about}: prompt {name}");
        hidden += usize::from(!is_listed) + usize::from(!is_prompt);
    }
    for uri in candidates(&["a", "b", "b/c", "d"], "m/", "test://") {
        let is_listed = uris.contains(&uri);
        assert_eq!(client.read(&uri).await.is_ok(), is_listed, "{about}: {uri}");
        hidden += usize::from(!is_listed);
    }
    (tools.len() + prompts.len() + uris.len(), hidden)
}

/// The names with up to four prefixes, one for each server around.
fn candidates(names: &[&str], prefix: &str, scheme: &str) -> Vec<String> {
    (0..=4).flat_map(|depth| names.iter().map(move |name| format!("{scheme}{}{name}", prefix.repeat(depth)))).collect()
}

/// The names of tools that are listed, or that searches find.
async fn tools(client: &Client, is_searched: bool, about: &str) -> Vec<String> {
    let listed = crate::kit::names(client).await;
    if !is_searched {
        return listed;
    }
    assert_eq!(listed, ["search_tools", "call_tool"], "{about}");
    let text = said(client, "search_tools", json!({ "query": "a b ab c x y z m" })).await;
    let found: Option<Value> = serde_json::from_str(&text).ok();
    let tools = found.iter().flat_map(|found| found["tools"].as_array().unwrap());
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}
