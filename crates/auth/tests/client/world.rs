//! A server, its authorization servers and everybody who uses them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use bytes::Bytes;
use couplet_auth::{
    client::OAuth,
    fetch::{Fetcher, Reach},
};
use couplet_core::{BoxFuture, Error, ErrorKind};
use couplet_http::client::{Authorize, Body, HttpClient};
use http::{HeaderMap, Method, Request, Response};
use serde_json::{Value, json};

pub(crate) const SERVER: &str = "https://mcp.example/mcp";
pub(crate) const ISSUER: &str = "https://as.example";
pub(crate) const REDIRECT: &str = "http://127.0.0.1:1/callback";
pub(crate) const ABOUT: &str = "https://mcp.example/.well-known/oauth-protected-resource/mcp";

#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Seen {
    /// A field of a form.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        field(&self.body, name)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|v| v.to_str().ok())
    }
}

pub(crate) fn field(form: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(form.as_bytes()).find(|(n, _)| n == name).map(|(_, v)| v.into_owned())
}

type Rule = Arc<dyn Fn(&Seen) -> Option<Response<Bytes>> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct World(Arc<Mutex<Inner>>);

pub(crate) struct Inner {
    /// What is asked first; whoever answers, answers.
    rules: Vec<Rule>,
    /// Documents by address.
    pub(crate) documents: HashMap<String, Value>,
    /// What the server says to whoever has no token.
    pub(crate) challenge: String,
    /// The scope without which a call is refused.
    pub(crate) needs: Option<String>,
    /// What the page says about who it is.
    pub(crate) iss: Option<String>,
    /// Whether tokens can be refreshed.
    pub(crate) refreshes: bool,
    /// How long tokens last.
    pub(crate) lasts: u64,
    /// The tokens that open the server, with their scopes.
    pub(crate) tokens: HashMap<String, String>,
    pub(crate) log: Vec<Seen>,
    /// The pages that were visited.
    pub(crate) pages: Vec<String>,
    issued: usize,
}

pub(crate) fn server_metadata(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "token_endpoint_auth_methods_supported": ["none"],
    })
}

impl World {
    pub(crate) fn new() -> Self {
        let about = json!({ "resource": SERVER, "authorization_servers": [ISSUER] });
        let place = format!("{ISSUER}/.well-known/oauth-authorization-server");
        Self(Arc::new(Mutex::new(Inner {
            rules: Vec::new(),
            documents: HashMap::from([(ABOUT.to_owned(), about), (place, server_metadata(ISSUER))]),
            challenge: format!("Bearer resource_metadata=\"{ABOUT}\""),
            needs: None,
            iss: Some(ISSUER.to_owned()),
            refreshes: false,
            lasts: 3600,
            tokens: HashMap::new(),
            log: Vec::new(),
            pages: Vec::new(),
            issued: 0,
        })))
    }

    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    /// Changes what the authorization server says about itself.
    pub(crate) fn server_says(&self, name: &str, value: Value) {
        let place = format!("{ISSUER}/.well-known/oauth-authorization-server");
        self.inner().documents.get_mut(&place).unwrap()[name] = value;
    }

    /// Changes what the resource says about itself.
    pub(crate) fn resource_says(&self, name: &str, value: Value) {
        self.inner().documents.get_mut(ABOUT).unwrap()[name] = value;
    }

    pub(crate) fn rule(&self, rule: impl Fn(&Seen) -> Option<Response<Bytes>> + Send + Sync + 'static) {
        self.inner().rules.push(Arc::new(rule));
    }

    /// Somebody who logs in on the page, if one is opened.
    pub(crate) fn person(&self) -> OAuth {
        let world = self.clone();
        self.at_home(OAuth::new("Test").handle_redirect(REDIRECT, move |page| {
            let back = world.visit(&page);
            async move { Ok(back) }
        }))
    }

    /// Everything that is asked is asked here.
    pub(crate) fn at_home(&self, oauth: OAuth) -> OAuth {
        oauth.fetcher(Fetcher::with_client(Reach::Public, Arc::new(self.clone())))
    }

    pub(crate) fn visit(&self, page: &str) -> String {
        let mut inner = self.inner();
        inner.pages.push(page.to_owned());
        let query = page.split_once('?').unwrap().1;
        let mut back = form_urlencoded::Serializer::new(String::new());
        back.append_pair("code", &format!("code:{}", field(query, "scope").unwrap_or_default()));
        back.append_pair("state", &field(query, "state").unwrap());
        if let Some(iss) = &inner.iss {
            back.append_pair("iss", iss);
        }
        format!("{}?{}", field(query, "redirect_uri").unwrap(), back.finish())
    }

    /// A client for the server.
    pub(crate) fn client(&self, oauth: &OAuth) -> Arc<dyn HttpClient> {
        oauth.authorize(SERVER, Arc::new(self.clone())).unwrap()
    }

    /// Calls the server, and returns the status.
    pub(crate) async fn call(&self, client: &Arc<dyn HttpClient>) -> Result<u16, Error> {
        let request = Request::post(SERVER).body(Bytes::from_static(b"{}")).unwrap();
        client.send(request).await.map(|response| response.status().as_u16())
    }

    /// Logs somebody in and calls the server.
    pub(crate) async fn once(&self, oauth: &OAuth) -> Result<u16, Error> {
        self.call(&self.client(oauth)).await
    }

    /// Ends all tokens at once.
    pub(crate) fn revoke(&self) {
        self.inner().tokens.clear();
    }

    /// The requests whose address ends like this.
    pub(crate) fn seen(&self, end: &str) -> Vec<Seen> {
        self.inner().log.iter().filter(|seen| seen.url.ends_with(end)).cloned().collect()
    }

    /// The documents that were asked for, in their order.
    pub(crate) fn asked(&self) -> Vec<String> {
        let log = &self.inner().log;
        log.iter().filter(|seen| seen.method == Method::GET).map(|seen| seen.url.clone()).collect()
    }

    /// A parameter of the last page.
    pub(crate) fn on_page(&self, name: &str) -> Option<String> {
        let inner = self.inner();
        field(inner.pages.last()?.split_once('?')?.1, name)
    }
}

impl Inner {
    fn answer(&mut self, seen: &Seen) -> Response<Bytes> {
        if seen.url == SERVER {
            return self.serve(seen);
        }
        match (seen.method.clone(), seen.url.rsplit('/').next().unwrap_or_default()) {
            (Method::POST, "token") => self.issue(seen),
            (Method::POST, "register") => {
                let host = seen.url.trim_start_matches("https://").split('/').next().unwrap_or_default();
                reply(201, &json!({ "client_id": format!("client-of-{host}") }))
            }
            (Method::GET, _) => match self.documents.get(&seen.url) {
                Some(document) => reply(200, document),
                None => reply(404, &json!("nothing here")),
            },
            _ => reply(404, &json!("nothing here")),
        }
    }

    fn serve(&self, seen: &Seen) -> Response<Bytes> {
        let token = seen.header("authorization").and_then(|h| h.split_once(' ')).map(|(_, token)| token);
        let Some(scopes) = token.and_then(|token| self.tokens.get(token)) else {
            return refuse(401, &self.challenge);
        };
        match &self.needs {
            Some(scope) if !scopes.split(' ').any(|s| s == scope) => {
                refuse(403, &format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\""))
            }
            _ => reply(200, &json!({})),
        }
    }

    fn issue(&mut self, seen: &Seen) -> Response<Bytes> {
        self.issued += 1;
        let token = format!("token-{}", self.issued);
        let code = seen.field("code").and_then(|code| code.strip_prefix("code:").map(str::to_owned));
        let scope = code.or(seen.field("scope")).unwrap_or_default();
        self.tokens.insert(token.clone(), scope.clone());
        let kind = if seen.headers.contains_key("dpop") { "DPoP" } else { "bearer" };
        let mut answer = json!({ "access_token": token, "token_type": kind, "expires_in": self.lasts, "scope": scope });
        if self.refreshes {
            answer["refresh_token"] = json!(format!("refresh-{}", self.issued));
        }
        reply(200, &answer)
    }
}

impl HttpClient for World {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>> {
        let (head, body) = request.into_parts();
        let body = String::from_utf8(body.to_vec()).unwrap();
        let seen = Seen { method: head.method, url: head.uri.to_string(), headers: head.headers, body };
        let rules = {
            let mut inner = self.inner();
            inner.log.push(seen.clone());
            inner.rules.clone()
        };
        let ruled = rules.iter().find_map(|rule| rule(&seen));
        let response = ruled.unwrap_or_else(|| self.inner().answer(&seen));
        Box::pin(async move {
            // Others get their turn, as they would with a network.
            tokio::task::yield_now().await;
            match response.status().as_u16() {
                599 => Err(Error::new(ErrorKind::Transport, "unreachable")),
                _ => Ok(response.map(Body::from)),
            }
        })
    }
}

pub(crate) fn reply(status: u16, body: &Value) -> Response<Bytes> {
    Response::builder().status(status).body(Bytes::from(body.to_string())).unwrap()
}

pub(crate) fn refuse(status: u16, challenge: &str) -> Response<Bytes> {
    Response::builder().status(status).header("www-authenticate", challenge).body(Bytes::new()).unwrap()
}

/// The claims of a JWT.
pub(crate) fn claims(jwt: &str) -> (Value, Value) {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let part = |text: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
    let parts: Vec<&str> = jwt.split('.').collect();
    (part(parts[0]), part(parts[1]))
}
