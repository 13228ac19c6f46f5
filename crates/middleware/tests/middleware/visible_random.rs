//! Visibility of random servers by random rules, also through mounts and proxies: lists and calls never disagree.

#[path = "../../../testing/tests/sim/random.rs"]
#[allow(dead_code, reason = "shared with the tests of another crate")]
mod random;

use std::{collections::BTreeSet, sync::Arc};

use couplet_client::Client;
use couplet_core::{Caller, IntoService, Service};
use couplet_middleware::{Item, Visibility};
use couplet_proxy::Proxy;
use couplet_server::{
    Server,
    extract::{Args, Path},
    prompt, resource, tool,
};
use couplet_types::{CompletionReference, ProtocolVersion};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::in_each_revision;
use random::Random;

/// The number of servers and rules in each revision, for each way to reach the server.
const HISTORIES: u64 = 30;

/// What is around the visible server, or inside of it.
#[derive(Clone, Copy, Debug)]
enum Way {
    Plain,
    /// Half of the server is mounted in the other half, which is wrapped.
    MountInside,
    /// The wrapped server is mounted.
    MountOutside,
    ProxyInside,
    ProxyOutside,
}

/// The items of a server, as it is wrapped. Numbers decide on their names, so that rules are about names.
#[derive(Debug, Default)]
struct Items {
    tools: BTreeSet<String>,
    prompts: BTreeSet<String>,
    resources: BTreeSet<String>,
    /// The names of templates: `test://notes/{id}` is `notes`.
    templates: BTreeSet<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    #[serde(default)]
    name: String,
}

fn template(name: &str) -> String {
    format!("test://{name}/{{id}}")
}

/// Creates a server with random items and pages.
fn server(random: &mut Random) -> (Server, Items) {
    let mut server = Server::new("random", "1").page_size(1 + random.below(4)).advertise_empty_lists();
    let mut items = Items::default();
    for n in 0..random.below(6) {
        let name = format!("tool{n}");
        server = server.tool(tool(name.as_str(), || "called"));
        items.tools.insert(name);
    }
    for n in 0..random.below(4) {
        let name = format!("prompt{n}");
        let greet = prompt(name.as_str(), |Args(greeting): Args<Greeting>| format!("hello {}", greeting.name));
        server = server.prompt(greet.complete_from("name", ["ada", "bob"]));
        items.prompts.insert(name);
    }
    for n in 0..random.below(4) {
        let name = format!("notes{n}");
        let notes = resource(template(&name), |Path(id): Path<String>| id);
        server = server.resource(notes.complete_from("id", ["1", "2"]));
        // A resource that a template matches may be registered as well.
        if random.once_in(2) {
            let uri = format!("test://{name}/1");
            server = server.resource(resource(uri.as_str(), || "one"));
            items.resources.insert(uri);
        }
        items.templates.insert(name);
    }
    for n in 0..random.below(4) {
        let uri = format!("test://menu{n}");
        server = server.resource(resource(uri.as_str(), || "soup"));
        items.resources.insert(uri);
    }
    (server, items)
}

/// A rule: any function of the item.
#[derive(Clone, Copy)]
struct Rule(u64);

impl Rule {
    fn shows(self, item: Item<'_>) -> bool {
        let (kind, name) = match item {
            Item::Tool(name) => (1, name),
            Item::Prompt(name) => (2, name),
            Item::Resource(uri) => (3, uri),
            Item::ResourceTemplate(template) => (4, template),
            _ => return true,
        };
        let seed =
            name.bytes().fold(self.0 * 31 + kind, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Random::new(seed).once_in(2)
    }

    fn around(self, server: impl IntoService) -> Arc<dyn Service> {
        Arc::new(Visibility::new(server, move |_: Option<&Caller>, item: Item<'_>| self.shows(item)))
    }
}

async fn proxied(service: Arc<dyn Service>) -> Arc<dyn Service> {
    Proxy::connect(Client::new("proxy", "1"), service).await.unwrap().service()
}

/// Returns the visible server, the items that were wrapped, and the prefix that clients see.
async fn visible(way: Way, rule: Rule, random: &mut Random) -> (Arc<dyn Service>, Items, &'static str) {
    let (server, items) = server(random);
    match way {
        Way::Plain => (rule.around(server), items, ""),
        Way::MountInside => {
            let outer: Server = Server::new("outer", "1").advertise_empty_lists().mount("in", server);
            let uri = |uri: &String| uri.replacen("test://", "test://in/", 1);
            let items = Items {
                tools: items.tools.iter().map(|name| format!("in_{name}")).collect(),
                prompts: items.prompts.iter().map(|name| format!("in_{name}")).collect(),
                resources: items.resources.iter().map(uri).collect(),
                templates: items.templates.iter().map(|name| format!("in/{name}")).collect(),
            };
            (rule.around(outer), items, "")
        }
        Way::MountOutside => {
            let outer: Server = Server::new("outer", "1").advertise_empty_lists().mount("m", rule.around(server));
            (outer.into_service(), items, "m")
        }
        Way::ProxyInside => (rule.around(proxied(server.into_service()).await), items, ""),
        Way::ProxyOutside => (proxied(rule.around(server)).await, items, ""),
    }
}

/// Checks that what is listed can be used, and nothing else, under the names that the client sees.
async fn agrees(client: &Client, rule: Rule, items: &Items, prefix: &str, about: &str) {
    let outside = |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}_{name}") };
    let uri_outside = |uri: &str| match prefix {
        "" => uri.to_owned(),
        prefix => uri.replacen("test://", &format!("test://{prefix}/"), 1),
    };
    let tools: BTreeSet<_> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    for name in &items.tools {
        let (shown, name) = (rule.shows(Item::Tool(name)), outside(name));
        assert_eq!(tools.contains(&name), shown, "{about}: {name} is listed");
        assert_eq!(client.call(name.as_str(), json!({})).await.is_ok(), shown, "{about}: {name} is called");
    }
    let prompts: BTreeSet<_> = client.prompts().await.unwrap().into_iter().map(|prompt| prompt.name).collect();
    for name in &items.prompts {
        let (shown, name) = (rule.shows(Item::Prompt(name)), outside(name));
        assert_eq!(prompts.contains(&name), shown, "{about}: {name} is listed");
        assert_eq!(client.prompt(name.as_str(), json!({})).await.is_ok(), shown, "{about}: {name} is got");
        let completed = client.complete(CompletionReference::prompt(name.as_str()), "name", "a").await;
        assert_eq!(completed.is_ok(), shown, "{about}: {name} is completed");
    }
    let resources: BTreeSet<_> = client.resources().await.unwrap().into_iter().map(|resource| resource.uri).collect();
    for uri in &items.resources {
        let (shown, uri) = (rule.shows(Item::Resource(uri)), uri_outside(uri));
        assert_eq!(resources.contains(&uri), shown, "{about}: {uri} is listed");
        assert_eq!(client.read(uri.as_str()).no_cache().await.is_ok(), shown, "{about}: {uri} is read");
    }
    let templates = client.resource_templates().await.unwrap();
    for name in &items.templates {
        let inside = template(name);
        let (shown, listed) = (rule.shows(Item::ResourceTemplate(&inside)), uri_outside(&inside));
        assert_eq!(templates.iter().any(|t| t.uri_template == listed), shown, "{about}: {listed} is listed");
        let completed = client.complete(CompletionReference::resource(listed.as_str()), "id", "").await;
        assert_eq!(completed.is_ok(), shown, "{about}: {listed} is completed");
        // A resource that only the template makes.
        let uri = inside.replace("{id}", "7");
        let shown = shown && rule.shows(Item::Resource(&uri));
        let read = client.read(uri_outside(&uri)).no_cache().await;
        assert_eq!(read.is_ok(), shown, "{about}: {uri} is read");
    }
    let count = |items: &BTreeSet<String>, item: for<'a> fn(&'a str) -> Item<'a>| {
        items.iter().filter(|name| rule.shows(item(name))).count()
    };
    assert_eq!(tools.len(), count(&items.tools, |name| Item::Tool(name)), "{about}: nothing else is listed");
    assert_eq!(resources.len(), count(&items.resources, |uri| Item::Resource(uri)), "{about}: nothing else is listed");
}

fn check(way: Way) {
    in_each_revision(async |version: ProtocolVersion| {
        for seed in 0..HISTORIES {
            let (mut random, rule) = (Random::new(seed), Rule(seed));
            let (service, items, prefix) = visible(way, rule, &mut random).await;
            let client = couplet_testing::connect(service, version).await.unwrap();
            agrees(&client, rule, &items, prefix, &format!("{way:?} {version} seed {seed}")).await;
        }
    });
}

#[test]
fn lists_and_calls_agree_for_random_servers_and_rules() {
    check(Way::Plain);
}

#[test]
fn lists_and_calls_agree_through_mounts() {
    check(Way::MountInside);
    check(Way::MountOutside);
}

#[test]
fn lists_and_calls_agree_through_proxies() {
    check(Way::ProxyInside);
    check(Way::ProxyOutside);
}
