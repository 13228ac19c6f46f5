//! The header that another replica trusts: what it says of a request, and its message authentication code.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use couplet_core::Caller;
use hmac_sha256::{HMAC, Hash};
use http::{HeaderMap, HeaderName, Method, header};
use serde::{Deserialize, Serialize};

use crate::server::{
    replica::{HEADER, Replica},
    request::claim_types::{ClaimTypes, Encoded},
};

/// The time for which a request is valid, in seconds, before and after it was sent.
pub(crate) const WINDOW: u64 = 60;
/// The version, which is signed as well.
const VERSION: &str = "v1.";

/// What a replica says of a request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Envelope {
    /// When it was sent, in seconds since the Unix epoch.
    pub(crate) time: u64,
    pub(crate) nonce: [u8; 16],
    /// The id of the node that it is for.
    pub(crate) to: Arc<str>,
    pub(crate) method: String,
    /// The path and query of the client's request.
    pub(crate) target: String,
    pub(crate) session: String,
    /// The names of the fields that belong to it.
    pub(crate) fields: Vec<String>,
    /// The digest of those fields.
    pub(crate) fields_digest: [u8; 32],
    pub(crate) body_digest: [u8; 32],
    /// The peer of the client's connection.
    pub(crate) remote: Option<SocketAddr>,
    /// The address of the client, which may be behind a proxy.
    pub(crate) client: Option<IpAddr>,
    pub(crate) caller: Option<Claimed>,
}

/// A caller, as it is sent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Claimed {
    principal: Arc<str>,
    scopes: Vec<String>,
    expires: Option<u64>,
    claims: Option<Encoded>,
}

/// Why a request of another replica is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// It is not signed, or not well-formed.
    Forged,
    /// It is too old, or from the future.
    Expired,
}

impl Replica {
    /// Encodes and signs an envelope.
    pub(crate) fn seal(&self, envelope: &Envelope) -> Option<String> {
        let payload = BASE64.encode(serde_json::to_vec(envelope).ok()?);
        let signed = format!("{VERSION}{payload}");
        let mac = self.sign(signed.as_bytes())?;
        Some(format!("{signed}.{mac}"))
    }

    /// Verifies and decodes an envelope, however old it is.
    pub(crate) fn open_stored(&self, text: &[u8]) -> Option<Envelope> {
        let text = std::str::from_utf8(text).ok()?;
        let (signed, mac) = text.rsplit_once('.')?;
        let is_signed = self.is_signed(signed.as_bytes(), mac.as_bytes());
        let payload = signed.strip_prefix(VERSION).filter(|_| is_signed)?;
        serde_json::from_slice(&BASE64.decode(payload).ok()?).ok()
    }

    /// Verifies and decodes an envelope.
    pub(crate) fn open(&self, text: &[u8], now: u64) -> Result<Envelope, Rejected> {
        let envelope = self.open_stored(text).ok_or(Rejected::Forged)?;
        if envelope.time.abs_diff(now) > WINDOW {
            return Err(Rejected::Expired);
        }
        Ok(envelope)
    }

    /// Proves to the sender of an envelope that the process that it was for is gone: a replica with another id has received
    /// it at the address of that process. The proof is valid for this request alone.
    pub(crate) fn prove_succession(&self, envelope: &Envelope) -> Option<String> {
        self.sign(&succession(envelope))
    }

    /// Whether a proof is that for a request.
    pub(crate) fn proves_succession(&self, proof: &[u8], envelope: &Envelope) -> bool {
        self.is_signed(&succession(envelope), proof)
    }

    /// The encoded message authentication code of a text, with the first key.
    fn sign(&self, text: &[u8]) -> Option<String> {
        Some(BASE64.encode(HMAC::mac(text, self.keys.first()?)))
    }

    /// Whether a text was signed with one of the keys. All of them are tried, so that the time does not tell which one.
    fn is_signed(&self, text: &[u8], mac: &[u8]) -> bool {
        let Some(mac) = BASE64.decode(mac).ok().and_then(|mac| <[u8; 32]>::try_from(mac).ok()) else { return false };
        self.keys.iter().fold(false, |found, key| HMAC::verify(text, key, &mac) | found)
    }
}

/// The signed text: no envelope begins like this.
fn succession(envelope: &Envelope) -> Vec<u8> {
    [b"succession.", &envelope.nonce[..], envelope.to.as_bytes()].concat()
}

impl Claimed {
    /// A caller, to be sent; nothing if its claims cannot be.
    pub(crate) fn of(caller: &Caller, types: &ClaimTypes) -> Option<Self> {
        let claims = if caller.has_claims() { Some(types.encode(caller)?) } else { None };
        let (principal, scopes) = (caller.principal().clone(), caller.scopes().to_vec());
        Some(Self { principal, scopes, expires: caller.expires(), claims })
    }

    /// A caller that was sent; nothing if its claims cannot be understood.
    pub(crate) fn caller(self, types: &ClaimTypes) -> Option<Caller> {
        let mut caller = Caller::new(self.principal).with_scopes(self.scopes);
        if let Some(expires) = self.expires {
            caller = caller.with_expiry(expires);
        }
        match self.claims {
            None => Some(caller),
            Some(claims) => types.decode(caller, claims),
        }
    }
}

impl Envelope {
    /// Whether an envelope is that of a request with this head.
    pub(crate) fn is_of(&self, method: &Method, session: Option<&str>, headers: &HeaderMap) -> bool {
        let digest = digest(headers, &self.fields);
        self.method == method.as_str() && Some(&*self.session) == session && digest == self.fields_digest
    }
}

/// The digest of a body.
pub(crate) fn body_digest(body: &[u8]) -> [u8; 32] {
    Hash::hash(body)
}

/// The fields that are forwarded: those of the connection are not, nor credentials, for which the caller stands.
pub(crate) fn forwarded(headers: &HeaderMap) -> Vec<String> {
    const LEFT: [HeaderName; 13] = [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::EXPECT,
        header::HOST,
        header::ORIGIN,
        header::PROXY_AUTHENTICATE,
        header::PROXY_AUTHORIZATION,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        header::AUTHORIZATION,
        header::COOKIE,
    ];
    let named = |name: &HeaderName| {
        let lists = headers.get_all(header::CONNECTION).iter().filter_map(|list| list.to_str().ok());
        lists.flat_map(|list| list.split(',')).any(|one| one.trim().eq_ignore_ascii_case(name.as_str()))
    };
    let is_left = |name: &HeaderName| {
        LEFT.contains(name) || *name == HEADER || name == "keep-alive" || name == "proxy-connection" || named(name)
    };
    let mut names: Vec<_> = headers.keys().filter(|name| !is_left(name)).map(|name| name.as_str().to_owned()).collect();
    names.sort_unstable();
    names
}

/// The digest of some fields. Lengths stand before all parts, so that no two sets of fields look the same.
pub(crate) fn digest(headers: &HeaderMap, names: &[String]) -> [u8; 32] {
    let mut hash = Hash::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    };
    for name in names {
        for value in headers.get_all(name) {
            add(name.as_bytes());
            add(value.as_bytes());
        }
    }
    hash.finalize()
}

#[cfg(test)]
mod tests {
    use crate::server::replica::envelope::*;

    fn replica(key: u8) -> Replica {
        Replica::new("http://127.0.0.1:1/mcp", [key; 32]).expect("it is a URL")
    }

    #[test]
    fn a_succession_is_proved_for_one_request() {
        let (ours, theirs) = (replica(1), replica(2));
        let proof = ours.prove_succession(&envelope()).expect("there is a key");
        assert!(ours.proves_succession(proof.as_bytes(), &envelope()));
        assert!(theirs.also_accepts([1; 32]).proves_succession(proof.as_bytes(), &envelope()), "keys can be changed");
        assert!(!replica(2).proves_succession(proof.as_bytes(), &envelope()), "another key");
        for other in [Envelope { nonce: [2; 16], ..envelope() }, Envelope { to: "other".into(), ..envelope() }] {
            assert!(!ours.proves_succession(proof.as_bytes(), &other));
        }
        for forged in [&b""[..], b"?", &proof.as_bytes()[1..], &[0xff; 43]] {
            assert!(!ours.proves_succession(forged, &envelope()));
        }
    }

    fn envelope() -> Envelope {
        let mut headers = HeaderMap::new();
        headers.insert("mcp-session-id", "s".parse().expect("it is a value"));
        headers.append("x-many", "a".parse().expect("it is a value"));
        headers.append("x-many", "b".parse().expect("it is a value"));
        let fields = forwarded(&headers);
        Envelope {
            time: 1000,
            nonce: [1; 16],
            to: "node".into(),
            method: "POST".into(),
            target: "/mcp".into(),
            session: "s".into(),
            fields_digest: digest(&headers, &fields),
            fields,
            body_digest: body_digest(b"body"),
            remote: None,
            client: None,
            caller: Claimed::of(&Caller::new("alice").with_scopes(["a"]).with_expiry(7), &ClaimTypes::none()),
        }
    }

    #[test]
    fn only_a_key_opens_an_envelope_and_only_in_time() {
        let sealed = replica(1).seal(&envelope()).expect("it is sealed");
        let opened = replica(1).open(sealed.as_bytes(), 1000).expect("it opens");
        assert_eq!((opened.nonce, &*opened.session), ([1; 16], "s"));
        let caller = opened.caller.expect("there is a caller").caller(&ClaimTypes::none()).expect("it has no claims");
        assert_eq!((&**caller.principal(), caller.has_scope("a"), caller.expires()), ("alice", true, Some(7)));
        for (now, is_good) in [(939, false), (940, true), (1060, true), (1061, false), (u64::MAX, false), (0, false)] {
            assert_eq!(replica(1).open(sealed.as_bytes(), now).err(), (!is_good).then_some(Rejected::Expired), "{now}");
        }
        assert_eq!(replica(2).open(sealed.as_bytes(), 1000).err(), Some(Rejected::Forged));
        assert!(replica(2).also_accepts([1; 32]).open(sealed.as_bytes(), 1000).is_ok(), "the key is being changed");
    }

    #[test]
    fn an_envelope_that_was_changed_does_not_open() {
        let replica = replica(1);
        let sealed = replica.seal(&envelope()).expect("it is sealed");
        for place in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            assert!(replica.open(&changed, 1000).is_err(), "{place}");
        }
        for text in [&b""[..], b"v1.", b"v1..", b"v1.e30.AAAA", b"\xff", &sealed.as_bytes()[..sealed.len() - 1]] {
            assert_eq!(replica.open(text, 1000).err(), Some(Rejected::Forged), "{text:?}");
        }
    }

    #[test]
    fn an_envelope_is_of_one_request() {
        let mut headers = HeaderMap::new();
        headers.insert("mcp-session-id", "s".parse().expect("it is a value"));
        headers.append("x-many", "a".parse().expect("it is a value"));
        headers.append("x-many", "b".parse().expect("it is a value"));
        let envelope = envelope();
        assert!(envelope.is_of(&Method::POST, Some("s"), &headers));
        assert!(!envelope.is_of(&Method::DELETE, Some("s"), &headers));
        assert!(!envelope.is_of(&Method::POST, Some("t"), &headers) && !envelope.is_of(&Method::POST, None, &headers));
        headers.insert("x-other", "not signed, not looked at".parse().expect("it is a value"));
        assert!(envelope.is_of(&Method::POST, Some("s"), &headers));
        headers.append("x-many", "c".parse().expect("it is a value"));
        assert!(!envelope.is_of(&Method::POST, Some("s"), &headers));
    }

    #[test]
    fn credentials_and_what_is_of_the_connection_stay() {
        let mut headers = HeaderMap::new();
        for name in ["authorization", "cookie", "host", "x-hop", "te", "couplet-replica", "accept", "x-tenant"] {
            headers.insert(HeaderName::from_static(name), "v".parse().expect("it is a value"));
        }
        headers.insert("connection", "keep-alive, X-Hop".parse().expect("it is a value"));
        assert_eq!(forwarded(&headers), ["accept", "x-tenant"]);
    }

    #[test]
    fn claims_that_cannot_be_sent_are_not_left_out() {
        let (none, number, text) = (ClaimTypes::none(), ClaimTypes::of::<u8>(), ClaimTypes::of::<String>());
        let caller = Caller::new("alice").with_claims("a claim".to_owned());
        assert!(Claimed::of(&caller, &none).is_none() && Claimed::of(&caller, &number).is_none());
        let sent = serde_json::to_value(Claimed::of(&caller, &text).expect("they are sent")).expect("it is JSON");
        let parse = || serde_json::from_value::<Claimed>(sent.clone()).expect("it is a caller");
        assert_eq!(
            parse().caller(&text).and_then(|caller| caller.claims::<String>()).as_deref(),
            Some(&"a claim".to_owned())
        );
        assert!(parse().caller(&none).is_none() && parse().caller(&number).is_none());
    }
}
