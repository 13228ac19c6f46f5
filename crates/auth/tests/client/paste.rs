//! Logging in with a browser of another machine, whose last address is pasted.

use couplet_auth::client::OAuth;

use crate::world::World;

type Change = fn(String) -> String;

fn pasting(world: &World, change: Change) -> OAuth {
    let visiting = world.clone();
    world.at_home(OAuth::new("Test").paste(move |page| {
        let back = change(visiting.visit(&page));
        async move { Ok(back) }
    }))
}

#[tokio::test]
async fn the_address_that_the_page_led_to_is_pasted() {
    let world = World::new();
    assert_eq!(world.once(&pasting(&world, |back| format!("  {back}\n"))).await.unwrap(), 200);
    assert!(world.on_page("redirect_uri").unwrap().starts_with("http://127.0.0.1:"));
}

#[tokio::test]
async fn what_is_pasted_is_checked_like_what_comes_by_itself() {
    let cases: [(Change, &str); 4] = [
        (|back| back.replace("state=", "state=x"), "another login"),
        (|back| back.replace("iss=", "iss=x"), "another issuer"),
        (|back| back.replace("127.0.0.1", "evil.example"), "does not match the redirect URI"),
        (|_| String::new(), "does not match the redirect URI"),
    ];
    for (change, expected) in cases {
        let world = World::new();
        let error = world.once(&pasting(&world, change)).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(world.seen("/token").is_empty());
    }
}

/// A browser of this machine gets through while nothing is pasted.
#[tokio::test]
async fn whoever_comes_by_themselves_counts_too() {
    let world = World::new();
    let visiting = world.clone();
    let oauth = world.at_home(OAuth::new("Test").paste(move |page| {
        let back = visiting.visit(&page);
        async move {
            couplet_testing::auth::fetch(&back).await.unwrap();
            std::future::pending().await
        }
    }));
    assert_eq!(world.once(&oauth).await.unwrap(), 200);
}
