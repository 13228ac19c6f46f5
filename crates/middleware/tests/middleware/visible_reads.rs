//! Reads of visible resources, which need no list.

use std::sync::Arc;

use couplet_client::Client;
use couplet_core::{Call, Caller, Service};
use couplet_middleware::{Item, Visibility};
use couplet_proxy::Proxy;
use couplet_server::{Next, Server, ServerHandle, extract::Path, resource};
use couplet_types::ProtocolVersion;

use crate::kit::{Count, as_caller, in_each_revision};

/// A server, and the number of its lists of templates.
fn server(lists: &Count) -> ServerHandle {
    let lists = lists.clone();
    let server: Server = Server::new("s", "1")
        .resource(resource("test://fixed", || "fixed"))
        .resource(resource("test://notes/{name}", |Path(name): Path<String>| name))
        .resource(resource("test://secrets/{name}", |Path(name): Path<String>| name))
        .middleware(move |call: Call, next: Next| {
            if &*call.method == "resources/templates/list" {
                lists.add();
            }
            next.run(call)
        });
    server.build()
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Own,
    Proxied,
}

/// The server with its templates of secrets hidden, for one caller.
async fn connect(server: &ServerHandle, way: Way, version: ProtocolVersion, caller: &str) -> Client {
    let service: Arc<dyn Service> = match way {
        Way::Own => Arc::new(server.clone()),
        Way::Proxied => Proxy::connect(Client::new("proxy", "1"), server.clone()).await.unwrap().service(),
    };
    let rule = |_: Option<&Caller>, item: Item<'_>| !matches!(item, Item::ResourceTemplate(template) if template.contains("secrets"));
    let outer =
        Server::<()>::new("outer", "1").mount("in", Arc::new(Visibility::new(service, rule)) as Arc<dyn Service>);
    let outer = outer.middleware(as_caller(Caller::new(caller)));
    couplet_testing::connect(outer.build(), version).await.unwrap()
}

/// Lets notifications arrive.
async fn settled() {
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
}

#[test]
fn a_read_needs_no_list() {
    for (way, first) in [(Way::Own, 1), (Way::Proxied, 1)] {
        in_each_revision(async |version| {
            let lists = Count::default();
            let server = server(&lists);
            let client = connect(&server, way, version, "ada").await;
            for _ in 0..3 {
                client.read("test://in/notes/a").await.unwrap();
                client.read("test://in/fixed").await.unwrap();
                client.read("test://in/secrets/a").await.unwrap_err();
            }
            assert_eq!(lists.get(), first, "{way:?} {version}");
            // A template that is added is hidden at once.
            server.add_resource(resource("test://more-secrets/{name}", |Path(name): Path<String>| name)).unwrap();
            settled().await;
            client.read("test://in/more-secrets/a").await.unwrap_err();
            client.read("test://in/fixed").await.unwrap();
            assert_eq!(lists.get(), first + 1, "{way:?} {version}");
            tokio::time::advance(std::time::Duration::from_secs(61)).await;
            client.read("test://in/fixed").await.unwrap();
            assert_eq!(lists.get(), first + 2, "{way:?} {version}");
        });
    }
}
