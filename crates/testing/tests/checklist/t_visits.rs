//! Lines 327 to 341, 345 and 347: visits, and whom questions are for.

use std::{
    collections::HashSet,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use couplet::{
    client::{Client, Elicitation},
    core::{Call, Caller},
    server::{Ctx, Next, Server, ServerHandle, tool},
    types::{
        ElicitParams, ElicitSchema, ElicitationComplete, RpcError, StringSchema, UrlElicitationRequiredData, code,
    },
};
use serde_json::{Value, json};

use crate::{
    kit::{
        RawServer, STATELESS, able, ask_client, ask_tool, call, converse, error, everything, notification, open,
        result, revisions, said, settle,
    },
    t_elicitation::{
        ADDRESS, FOURTH, asking, asking_person, asking_to_visit, check_nothing_is_asked, hearing, text, visit, visitor,
        yes,
    },
};

/// The address of a visit is an absolute URL of the web; a server does not ask to visit anything else.
#[tokio::test]
async fn line_327_addresses_are_urls() {
    for &version in revisions("2025-11-25"..) {
        for good in [ADDRESS, "https://[::1]:8443/a", "http://localhost:3000", "https://user@example.com/"] {
            let (asked, _) = ask_tool(asking_to_visit(good), version, able(), json!({ "action": "cancel" })).await;
            assert_eq!(asked[0]["params"]["url"], good, "{version}");
        }
        for wrong in [
            "",
            "/login",
            "example.com/login",
            "//example.com",
            "https://",
            "https:///login",
            "https://exa mple.com",
            "https://example.com/\u{7}",
            "https://example.com/<a>",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,hi",
        ] {
            let (asked, answered) =
                ask_tool(asking_to_visit(wrong), version, able(), json!({ "action": "cancel" })).await;
            assert!(asked.is_empty() && answered["error"]["code"] == -32603, "{version}: {wrong}: {answered}");
        }
    }
}

/// The library puts nothing into the address: it is sent exactly as the handler wrote it, without who asks, what was
/// called, or a token.
#[tokio::test]
async fn line_328_nothing_is_added_to_the_address() {
    for &version in revisions("2025-11-25"..) {
        let (asked, _) = ask_tool(asking_to_visit(ADDRESS), version, able(), json!({ "action": "cancel" })).await;
        assert_eq!(asked[0]["params"]["url"], ADDRESS, "{version}");
        let (again, _) = ask_tool(asking_to_visit(ADDRESS), version, able(), json!({ "action": "cancel" })).await;
        assert_eq!(asked[0]["params"]["url"], again[0]["params"]["url"], "{version}");
    }
}

/// A form that is made from a type has no address in it but those that the developer wrote.
#[tokio::test]
async fn line_329_no_addresses_in_forms() {
    for &version in revisions("2025-11-25"..) {
        let (asked, _) = ask_tool(asking_person(), version, able(), json!({ "action": "cancel" })).await;
        assert!(!asked[0]["params"].to_string().contains("://"), "{version}: {}", asked[0]);
        let with = ElicitSchema::new().required("page", StringSchema::new().description("Your page"));
        let (asked, _) =
            ask_tool(asking(ElicitParams::form("?", &with)), version, able(), json!({ "action": "cancel" })).await;
        assert!(!asked[0]["params"].to_string().contains("://"), "{version}: {}", asked[0]);
    }
}

/// The client touches the address in no way, neither before the callback nor after it.
#[tokio::test]
async fn line_330_no_prefetching() {
    for &version in revisions("2025-11-25"..) {
        for builder in [visitor(), hearing(&Arc::default())] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.set_nonblocking(true).unwrap();
            let mut ask = visit();
            ask["params"]["url"] = json!(format!("http://{}/login", listener.local_addr().unwrap()));
            ask_client(builder, version, &ask).await.unwrap();
            settle().await;
            let nobody = listener.accept().unwrap_err();
            assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock, "{version}");
        }
    }
}

/// Consent to a visit is given by the callback alone, which gets the address in full; without it a client that has
/// other callbacks agrees to nothing.
#[tokio::test]
async fn line_331_no_visit_without_consent() {
    for &version in revisions("2025-11-25"..) {
        let heard = Arc::default();
        let answer = ask_client(hearing(&heard), version, &visit()).await.unwrap();
        assert_eq!(answer, json!({ "action": "decline" }), "{version}");
        let asks = std::mem::take(&mut *heard.lock().unwrap());
        assert_eq!((asks.len(), asks[0].url()), (1, Some(ADDRESS)), "{version}");
        assert!(ask_client(yes(), version, &visit()).await.is_err(), "{version}: a callback for forms is not asked");
        let confused = Client::new("c", "1").on_elicit_url(|ask| async move { ask.accept(json!({ "yes": true })) });
        assert!(ask_client(confused, version, &visit()).await.is_err(), "{version}: filling in is no consent");
    }
}

/// What happens on the page passes neither through the client nor through the answer: the library opens nothing, and
/// an answer to a visit has no place for content.
#[tokio::test]
async fn line_332_content_stays_on_the_page() {
    for &version in revisions("2025-11-25"..) {
        assert_eq!(ask_client(visitor(), version, &visit()).await.unwrap(), json!({ "action": "accept" }), "{version}");
        let leaking = json!({ "action": "accept", "content": { "password": "sesame" } });
        let (_, answered) = ask_tool(asking(ElicitParams::visit("Go", ADDRESS)), version, able(), leaking).await;
        assert!(!answered.to_string().contains("sesame"), "{version}: {answered}");
    }
}

/// The host can be shown apart from the address, as it really is, and addresses that deserve a warning are told.
#[test]
fn line_333_hosts_and_warnings() {
    for (url, host, suspicious) in [
        ("https://example.com/login", "example.com", false),
        ("https://example.com:8443?x=@evil.com", "example.com", false),
        ("https://[2001:db8::1]:443/a", "2001:db8::1", false),
        ("http://example.com", "example.com", true),
        ("https://bank.com@evil.com/login", "evil.com", true),
        ("https://bank.com:pw@evil.com:99", "evil.com", true),
        ("https://xn--bnk-sna.com/login", "xn--bnk-sna.com", true),
        ("https://login.XN--bnk-sna.com", "login.XN--bnk-sna.com", true),
        ("https://b\u{430}nk.com", "b\u{430}nk.com", true),
        ("https://evil.com\\@bank.com", "evil.com", true),
    ] {
        let ask = Elicitation::new(ElicitParams::visit("Go", url));
        assert_eq!((ask.url_host(), ask.is_suspicious_url()), (Some(host), suspicious), "{url}");
    }
    let form = Elicitation::new(ElicitParams::form("?", &ElicitSchema::new()).url("https://example.com"));
    assert_eq!((form.url(), form.is_suspicious_url()), (None, false), "an address in a form is not one to visit");
}

/// Every visit has an id of its own, and that it is over is told to the client that was asked, with that id.
#[tokio::test]
async fn line_334_ids_of_visits() {
    let mut ids = HashSet::new();
    for _ in 0..20 {
        let (asked, _) = ask_tool(asking_to_visit(ADDRESS), FOURTH, able(), json!({ "action": "accept" })).await;
        let id = asked[0]["params"]["elicitationId"].as_str().unwrap().to_owned();
        assert!(id.len() >= 16 && ids.insert(id));
    }
    let ask = |ctx: Ctx| async move {
        let visit = ElicitParams::visit("Go", ADDRESS).elicitation_id("visit-1");
        ctx.elicit_with("q", visit).await?;
        ctx.elicitation_complete("visit-1").await;
        Ok::<_, RpcError>("visited")
    };
    for &version in revisions("2025-11-25"..) {
        let server = Server::new("s", "1").tool(tool("ask", ask)).build();
        let mut other = open(server.clone(), version, able()).await;
        let mut wire = open(server, version, able()).await;
        let id = wire.start("tools/call", json!({ "name": "ask" }));
        if version == STATELESS {
            let asked = wire.response(id).await["result"].take();
            let answers = json!({ "q": { "action": "accept" } });
            let params = json!({ "name": "ask", "requestState": asked["requestState"], "inputResponses": answers });
            wire.request("tools/call", params).await;
            assert!(wire.ready().is_empty(), "that revision does not tell");
        } else {
            let asked = wire.next().await.unwrap();
            assert_eq!(asked["params"]["elicitationId"], "visit-1");
            wire.send(&result(&asked, json!({ "action": "accept" })));
            let told = wire.next().await.unwrap();
            assert_eq!(
                told,
                notification("notifications/elicitation/complete", &json!({ "elicitationId": "visit-1" }))
            );
        }
        assert!(other.ready().is_empty(), "{version}: nobody else is told");
    }
}

/// That an unknown visit is over is heard by whoever listens, and changes nothing else.
#[tokio::test]
async fn line_335_unknown_visits_are_ignored() {
    let raw = RawServer::speaking(FOURTH, everything(), |m| match m["method"].as_str() {
        Some("tools/call") => vec![said(m, "fine")],
        _ => vec![],
    });
    let client = visitor().versions([FOURTH]).connect(raw.clone()).await.unwrap();
    let mut notices = client.notifications();
    for id in ["nobody", "nobody", "e1"] {
        raw.push(&notification("notifications/elicitation/complete", &json!({ "elicitationId": id })));
    }
    raw.push(&notification("notifications/elicitation/complete", &json!({})));
    settle().await;
    let before = raw.seen().len();
    assert_eq!(client.call("t", ()).await.unwrap().text(), "fine");
    assert_eq!(raw.seen().len(), before + 1, "nothing was answered");
    let first = notices.next().await.unwrap();
    assert_eq!(first.read::<ElicitationComplete>().unwrap().elicitation_id, "nobody");
}

/// The error that lists visits is sent only where a handler returns it, with their ids; the library itself asks, and
/// where it cannot, says which capability is missing.
#[tokio::test]
async fn line_336_the_error_that_lists_visits() {
    let required = || {
        let visit = ElicitParams::visit("Sign in", ADDRESS).elicitation_id("visit-1");
        let data = serde_json::to_value(UrlElicitationRequiredData::new(vec![visit])).unwrap();
        Err::<String, _>(RpcError::new(code::URL_ELICITATION_REQUIRED, "sign in first").with_data(data))
    };
    let server = Server::new("s", "1").tool(tool("sign-in", required)).build();
    let mut wire = open(server, FOURTH, able()).await;
    let answer = call(&mut wire, "sign-in", json!({})).await;
    assert_eq!(answer["error"]["code"], -32042);
    let listed = &answer["error"]["data"]["elicitations"][0];
    assert_eq!((&listed["mode"], &listed["elicitationId"]), (&json!("url"), &json!("visit-1")));
    for can in [json!({}), json!({ "elicitation": { "form": {} } })] {
        let (_, refused) = ask_tool(asking_to_visit(ADDRESS), FOURTH, can, json!({})).await;
        assert_ne!(refused["error"]["code"], -32042, "{refused}");
    }
    // The client hands it to the program with everything that is in it.
    let raw = RawServer::speaking(FOURTH, everything(), move |m| match m["method"].as_str() {
        Some("tools/call") => {
            let mut refused = error(m, -32042, "sign in first");
            refused["error"]["data"] = json!({ "elicitations": [{ "mode": "url", "message": "Sign in", "url": ADDRESS, "elicitationId": "v" }] });
            vec![refused]
        }
        _ => vec![],
    });
    let client = visitor().versions([FOURTH]).connect(raw).await.unwrap();
    let failed = client.call("t", ()).await.unwrap_err();
    let data: UrlElicitationRequiredData = failed.rpc().unwrap().data.as_ref().unwrap().parse().unwrap();
    assert_eq!(data.elicitations[0].url.as_deref(), Some(ADDRESS));
}

/// While a visit goes on, the program can cancel the call, and can make it again.
#[tokio::test]
async fn line_337_retry_and_cancel() {
    let raw = RawServer::speaking(STATELESS, everything(), |m| match m["params"].get("requestState") {
        _ if m["method"] != "tools/call" => vec![],
        Some(_) => vec![said(m, "signed in")],
        None => {
            let ask = json!({ "resultType": "input_required", "inputRequests": { "q": visit() }, "requestState": "s" });
            vec![result(m, ask)]
        }
    });
    let visits = Arc::new(AtomicUsize::new(0));
    let count = visits.clone();
    let builder = Client::new("c", "1").on_elicit_url(move |ask| {
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        async move { if first { std::future::pending().await } else { ask.accept_url() } }
    });
    let client = builder.versions([STATELESS]).connect(raw.clone()).await.unwrap();
    let going_on = tokio::spawn(std::future::IntoFuture::into_future(client.call("t", ())));
    while visits.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    going_on.abort();
    assert!(going_on.await.unwrap_err().is_cancelled());
    settle().await;
    assert_eq!(raw.seen_of("tools/call").len(), 1, "no answer was sent for a visit that was cancelled");
    assert_eq!(client.call("t", ()).await.unwrap().text(), "signed in");
}

/// A server that knows its callers, as a layer that checks credentials would. Here they are in `_meta`.
fn with_principals() -> ServerHandle {
    let who = |mut call: Call, next: Next| {
        let meta = call.meta().unwrap_or_default();
        let name = meta.get("credential").and_then(|c| c.parse::<String>().ok());
        call.caller = name.map(|name| Arc::new(Caller::new(name)));
        next.run(call)
    };
    let ask = |ctx: Ctx| async move {
        let visit = ctx.elicit_url("q", "Sign in", ADDRESS).await?;
        let whom = ctx.call().principal();
        visit.accepted().map(|()| format!("for {whom:?}"))
    };
    Server::new("s", "1").middleware(who).tool(tool("ask", ask)).build()
}

/// A question and what is kept for it belong to one client and one user: with another connection or another principal
/// it cannot be answered.
#[tokio::test]
async fn line_338_bound_to_client_and_user() {
    let server = with_principals();
    let mut wire = open(server.clone(), FOURTH, able()).await;
    let mut other = open(server.clone(), FOURTH, able()).await;
    let id = wire.start("tools/call", json!({ "name": "ask" }));
    let asked = wire.next().await.unwrap();
    other.send(&result(&asked, json!({ "action": "accept" })));
    assert!(other.ready().is_empty() && wire.ready().is_empty(), "an answer from elsewhere is none");
    wire.send(&result(&asked, json!({ "action": "decline" })));
    assert_eq!(wire.response(id).await["result"]["isError"], true);

    let mut wire = open(server, STATELESS, able()).await;
    let params = json!({ "name": "ask", "_meta": { "credential": "ann" } });
    let state = wire.request("tools/call", params.clone()).await["result"]["requestState"].take();
    for (credential, good) in [(json!("bob"), false), (Value::Null, false), (json!("ann"), true)] {
        let mut again = params.clone();
        again["_meta"]["credential"] = credential.clone();
        again["requestState"] = state.clone();
        again["inputResponses"] = json!({ "q": { "action": "accept" } });
        let answer = wire.request("tools/call", again).await;
        assert_eq!(answer.get("result").is_some(), good, "{credential}: {answer}");
    }
}

/// A handler that asks for a visit knows the verified user that it asks for, to be compared with who opens the page;
/// what travels through the client about it cannot be changed.
#[tokio::test]
async fn line_339_the_user_is_known() {
    for &version in revisions("2025-11-25"..) {
        let mut wire = open(with_principals(), version, able()).await;
        let params = json!({ "name": "ask", "_meta": { "credential": "ann" } });
        let accept = json!({ "action": "accept" });
        let (_, answered) = converse(&mut wire, version, ("tools/call", params), |_| accept.clone()).await;
        assert_eq!(text(&answered), r#"for Some("ann")"#, "{version}");
    }
    let mut wire = open(with_principals(), STATELESS, able()).await;
    let mut params = json!({ "name": "ask", "_meta": { "credential": "ann" } });
    let state = wire.request("tools/call", params.clone()).await["result"]["requestState"].take();
    let state = state.as_str().unwrap();
    params["inputResponses"] = json!({ "q": { "action": "accept" } });
    for at in [0, 50, state.len() - 1] {
        let mut changed = state.to_owned();
        let letter = if &state[at..=at] == "A" { "Q" } else { "A" };
        changed.replace_range(at..=at, letter);
        params["requestState"] = json!(changed);
        assert_eq!(wire.request("tools/call", params.clone()).await["error"]["code"], -32602, "changed at {at}");
    }
}

/// Being let in is never a matter of a visit: a call that is refused is refused, and nothing is asked for it.
#[tokio::test]
async fn line_340_visits_do_not_let_in() {
    for &version in revisions("2025-11-25"..) {
        check_nothing_is_asked(version).await;
        let refuse = |call: Call, next: Next| async move {
            match call.principal() {
                Some(_) => next.run(call).await,
                None => RpcError::new(401, "who are you?").into(),
            }
        };
        let server = Server::new("s", "1").middleware(refuse).tool(tool("ask", || "secret")).build();
        let (asked, answered) = ask_tool(server, version, able(), json!({ "action": "accept" })).await;
        assert!(asked.is_empty() && answered["error"]["code"] == 401, "{version}: {answered}");
    }
}

/// Credentials of third parties have no way through the client: what it would send with its consent is dropped, and a
/// handler gets no token of the client's, only who it is.
#[tokio::test]
async fn line_341_no_credentials_through_the_client() {
    for &version in revisions("2025-11-25"..) {
        let leaking = json!({ "action": "accept", "content": { "token": "sesame" } });
        for server in [asking_to_visit(ADDRESS), asking(ElicitParams::visit("Go", ADDRESS))] {
            let (_, answered) = ask_tool(server, version, able(), leaking.clone()).await;
            assert!(
                answered.get("result").is_some() && !answered.to_string().contains("sesame"),
                "{version}: {answered}"
            );
        }
        let builder =
            Client::new("c", "1").on_elicit_url(|ask| async move { ask.accept(json!({ "token": "sesame" })) });
        let refused = ask_client(builder, version, &visit()).await.unwrap_err();
        assert!(!refused.to_string().contains("sesame"), "{version}: {refused}");
    }
}

/// To accept a visit is to consent to it: the answer has no content, and the server learns of the outcome otherwise.
#[tokio::test]
async fn line_345_accepting_a_visit() {
    for &version in revisions("2025-11-25"..) {
        assert_eq!(ask_client(visitor(), version, &visit()).await.unwrap(), json!({ "action": "accept" }), "{version}");
        let (_, answered) = ask_tool(asking_to_visit(ADDRESS), version, able(), json!({ "action": "accept" })).await;
        assert_eq!(text(&answered), "Accepted(())", "{version}");
        let wrong = Elicitation::new(ElicitParams::visit("Go", ADDRESS)).accept(json!({ "outcome": "fine" }));
        assert!(wrong.is_err(), "{version}");
    }
}

/// Who the user is comes from what was verified, and not from anything that the client says about itself.
#[tokio::test]
async fn line_347_identity_from_credentials() {
    for &version in revisions("2025-11-25"..) {
        let mut wire = open(with_principals(), version, able()).await;
        let meta = json!({ "credential": "ann", "user": "bob", "sub": "bob" });
        let params = json!({ "name": "ask", "_meta": meta, "arguments": { "user": "bob" } });
        let accept = json!({ "action": "accept", "content": { "user": "bob" } });
        let (_, answered) = converse(&mut wire, version, ("tools/call", params), |_| accept.clone()).await;
        assert_eq!(text(&answered), r#"for Some("ann")"#, "{version}");
        let (_, answered) = ask_tool(with_principals(), version, able(), accept.clone()).await;
        assert_eq!(text(&answered), "for None", "{version}: without credentials there is nobody");
    }
}
