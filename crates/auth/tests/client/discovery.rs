//! Finding the authorization server.

use serde_json::json;

use crate::world::{ABOUT, ISSUER, SERVER, World, server_metadata};

const ROOT: &str = "https://mcp.example/.well-known/oauth-protected-resource";

#[tokio::test]
async fn line_391_392_a_resource_is_asked_where_the_challenge_says_then_below_then_at_the_root() {
    let named = "https://elsewhere.example/about.json";
    for (challenge, there, asked) in [
        (format!("Bearer resource_metadata=\"{named}\""), vec![named, ABOUT, ROOT], vec![named]),
        (format!("Bearer resource_metadata=\"{named}\""), vec![ABOUT], vec![named, ABOUT]),
        ("Bearer".to_owned(), vec![ABOUT, ROOT], vec![ABOUT]),
        ("Bearer".to_owned(), vec![ROOT], vec![ABOUT, ROOT]),
        (String::new(), vec![ABOUT], vec![ABOUT]),
    ] {
        let world = World::new();
        world.inner().challenge = challenge.clone();
        let about = world.inner().documents.remove(ABOUT).unwrap();
        for place in there {
            world.inner().documents.insert(place.to_owned(), about.clone());
        }
        assert_eq!(world.once(&world.person()).await.unwrap(), 200, "{challenge}");
        let expected = [&*asked, &["https://as.example/.well-known/oauth-authorization-server"]].concat();
        assert_eq!(world.asked(), expected, "{challenge}");
    }
}

#[tokio::test]
async fn line_394_an_authorization_server_is_asked_in_the_stated_order() {
    for (issuer, places) in [
        (
            "https://as.example/t",
            vec![
                "https://as.example/.well-known/oauth-authorization-server/t",
                "https://as.example/.well-known/openid-configuration/t",
                "https://as.example/t/.well-known/openid-configuration",
            ],
        ),
        (
            "https://as.example",
            vec![
                "https://as.example/.well-known/oauth-authorization-server",
                "https://as.example/.well-known/openid-configuration",
            ],
        ),
    ] {
        for last in 0..places.len() {
            let world = World::new();
            world.inner().iss = Some(issuer.to_owned());
            world.inner().documents.remove("https://as.example/.well-known/oauth-authorization-server");
            world.inner().documents.insert(places[last].to_owned(), server_metadata(issuer));
            world.resource_says("authorization_servers", json!([issuer]));
            assert_eq!(world.once(&world.person()).await.unwrap(), 200, "{issuer}");
            assert_eq!(world.asked(), [&[ABOUT], &places[..=last]].concat());
        }
        let world = World::new();
        world.inner().documents.remove("https://as.example/.well-known/oauth-authorization-server");
        world.resource_says("authorization_servers", json!([issuer]));
        assert!(
            world.once(&world.person()).await.unwrap_err().to_string().contains("no authorization server metadata")
        );
    }
}

#[tokio::test]
async fn line_393_a_server_without_metadata_is_its_own_authorization_server() {
    let (origin, place) = ("https://mcp.example", "https://mcp.example/.well-known/oauth-authorization-server");
    for described in [true, false] {
        let world = World::new();
        world.inner().documents.remove(ABOUT);
        world.inner().challenge = "Bearer".to_owned();
        world.inner().iss = None;
        let mut endpoint = "https://mcp.example/authorize".to_owned();
        if described {
            let mut metadata = server_metadata(origin);
            endpoint = "https://mcp.example/oauth/authorize".to_owned();
            metadata["authorization_endpoint"] = json!(endpoint);
            metadata["authorization_response_iss_parameter_supported"] = json!(false);
            world.inner().documents.insert(place.to_owned(), metadata);
        }
        assert_eq!(world.once(&world.person()).await.unwrap(), 200);
        assert_eq!(world.asked(), [ABOUT, ROOT, place]);
        assert!(world.inner().pages[0].starts_with(&format!("{endpoint}?")));
        assert_eq!(world.on_page("resource").as_deref(), Some(SERVER));
    }
}

/// The revision goes along, as 2025-03-26 wants it, but nothing that is private does.
#[tokio::test]
async fn line_393_the_revision_is_told() {
    let world = World::new();
    let client = world.client(&world.person());
    let request = http::Request::post(SERVER).header("mcp-protocol-version", "x").header("mcp-session-id", "y");
    client.send(request.body(bytes::Bytes::new()).unwrap()).await.unwrap();
    let about = &world.seen(ABOUT)[0];
    assert_eq!(about.header("mcp-protocol-version"), Some("x"));
    assert_eq!(about.header("mcp-session-id"), None);
}

#[tokio::test]
async fn line_395_an_authorization_server_has_the_name_by_which_it_was_asked() {
    for name in ["https://attacker.example", "https://as.example/", "https://AS.example", "https://as.example:443"] {
        let world = World::new();
        world.server_says("issuer", json!(name));
        let error = world.once(&world.person()).await.unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert!(
            world.inner().pages.is_empty() && world.seen("/token").is_empty() && world.seen("/register").is_empty()
        );
    }
}

#[tokio::test]
async fn pages_for_people_are_not_metadata() {
    let world = World::new();
    world.inner().documents.remove(ABOUT);
    world.inner().challenge = "Bearer".to_owned();
    world.inner().iss = None;
    // A server that answers everything with the same page.
    world.rule(|seen| {
        let page = seen.method == http::Method::GET;
        page.then(|| http::Response::new(bytes::Bytes::from_static(b"<html></html>")))
    });
    assert_eq!(world.once(&world.person()).await.unwrap(), 200);
    assert!(world.inner().pages[0].starts_with("https://mcp.example/authorize?"));
}

#[tokio::test]
async fn a_server_that_asks_for_something_else_is_not_asked_about_itself() {
    let world = World::new();
    world.inner().challenge = "Basic realm=\"x\"".to_owned();
    assert_eq!(world.once(&world.person()).await.unwrap(), 401);
    assert!(world.asked().is_empty());
    // Nor is one that is left.
    let world = World::new();
    let client = world.client(&world.person());
    let request = http::Request::delete(SERVER).body(bytes::Bytes::new()).unwrap();
    assert_eq!(client.send(request).await.unwrap().status(), 401);
    assert!(world.asked().is_empty());
}

#[tokio::test]
async fn of_several_authorization_servers_the_one_that_knows_the_client_is_asked() {
    let world = World::new();
    world.resource_says("authorization_servers", json!(["https://other.example", ISSUER]));
    let oauth = world.person().registered("me", couplet_auth::client::Credential::Public).issuer(ISSUER);
    assert_eq!(world.once(&oauth).await.unwrap(), 200);
    assert_eq!(world.on_page("client_id").as_deref(), Some("me"));
}
