//! Results, serialized for the revision of their caller.

use bytes::Bytes;
use couplet_types::{HasMeta, Meta};
use serde::Serialize;

mod plain;
mod stays;

use stays::Stays;

use crate::{
    message::{Params, buffers, escape::escaped, scan::JsonText},
    wire::{append_members, modern, one_line, project::Project, revision::Revision, to_json, write_json},
};

/// A result, serialized for the negotiated revision.
#[derive(Clone, Debug)]
pub struct ResultBody {
    /// The members of the result except `_meta`, in one line; up to the long part if there is one.
    pub(crate) body: Bytes,
    pub(crate) long: Option<Long>,
    pub(crate) meta: Option<Meta>,
    pub(crate) cache: Option<CacheHint>,
    /// Whether it is a tool result with `isError`.
    pub(crate) failed: bool,
}

/// A part of a result that is too long to be copied.
#[derive(Clone, Debug)]
pub(crate) struct Long {
    /// The part: a string, escaped, or whole members.
    pub(crate) text: Bytes,
    /// The bytes after it.
    pub(crate) rest: Bytes,
}

/// The cache policy of one result.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CacheHint {
    /// The time to live in milliseconds; `None` is the server's default.
    pub ttl_ms: Option<u64>,
    /// The callers that may share the result; `None` is the server's default.
    pub scope: Option<couplet_types::CacheScope>,
}

impl ResultBody {
    /// Wraps a result that is JSON already, for services without typed results. It should be an object.
    ///
    /// `resultType` and caching members are removed: the revision adds its own.
    pub fn json(result: &JsonText) -> Self {
        Self::parsed(result, true)
    }

    /// Wraps a result of a method that is never cached: members named like those of caching are kept.
    pub fn uncached_json(result: &JsonText) -> Self {
        Self::parsed(result, false)
    }

    fn parsed(result: &JsonText, caches: bool) -> Self {
        match Params::from_text(result.clone()) {
            Ok(members) => Self::relayed(&members, caches),
            Err(_) => Self { body: one_line(result.as_bytes().clone()), ..Self::empty() },
        }
    }

    /// Wraps a result whose members are located already. `caches` is whether results of its method may be cached: see
    /// [`ResultBody::json`] and [`ResultBody::uncached_json`].
    pub fn relayed(members: &Params, caches: bool) -> Self {
        let text = members.text().as_bytes();
        let mut done = Self::empty();
        let mut cache = CacheHint::default();
        let mut cacheable = false;
        let mut stays = Stays::default();
        for member in members.entries() {
            let value = || JsonText::trusted(text.slice_ref(member.value));
            match &*member.key {
                // That of most results has only the name of the server.
                b"_meta" if members.valid_meta().is_some_and(modern::is_reserved) => {}
                b"_meta" => done.meta = value().parse().ok().map(modern::without_reserved),
                key if modern::is_added(key) => {}
                b"ttlMs" if caches => (cacheable, cache.ttl_ms) = (true, value().parse().ok()),
                b"cacheScope" if caches => (cacheable, cache.scope) = (true, value().parse().ok()),
                key => {
                    done.failed |= is_failure(key, member.value);
                    stays.add(text, &member);
                }
            }
        }
        done.cache = cacheable.then_some(cache);
        stays.into_body(text, members.may_break(), &mut done);
        done
    }

    /// Returns whether it is a tool result with `isError`.
    pub fn is_failed_tool(&self) -> bool {
        self.failed
    }

    /// Returns the members of the result except `_meta`, as they will be sent.
    pub fn members(&self) -> JsonText {
        JsonText::trusted(self.whole())
    }

    /// Replaces the members of the result, keeping `_meta`.
    #[must_use]
    pub fn with_members(self, members: &JsonText) -> Self {
        let failed = Params::from_text(members.clone())
            .is_ok_and(|all| all.entries().any(|member| is_failure(&member.key, member.value)));
        Self { body: one_line(members.as_bytes().clone()), long: None, failed, ..self }
    }

    /// Returns the whole result, `_meta` included, without the members that the revision adds.
    pub fn text(&self) -> JsonText {
        let mut out = b"{".to_vec();
        if let Some(meta) = self.meta.as_ref().filter(|m| !m.is_empty()) {
            out.extend_from_slice(br#""_meta":"#);
            write_json(&mut out, meta);
        }
        append_members(&mut out, &self.whole());
        out.push(b'}');
        JsonText::trusted(one_line(out.into()))
    }

    /// Returns the length of the members in bytes.
    pub fn size(&self) -> usize {
        self.body.len() + self.long.as_ref().map_or(0, |long| long.text.len() + long.rest.len())
    }

    /// The members of the result except `_meta`, with the long string if there is one.
    pub(crate) fn whole(&self) -> Bytes {
        match &self.long {
            Some(long) => [&*self.body, &long.text, &long.rest].concat().into(),
            None => self.body.clone(),
        }
    }

    /// Returns the empty result, `{}`.
    pub fn empty() -> Self {
        Self { body: Bytes::from_static(b"{}"), long: None, meta: None, cache: None, failed: false }
    }

    /// Marks the result as cacheable in revisions with caching: with its own policy, or the server's default.
    #[must_use]
    pub fn cacheable(mut self) -> Self {
        self.cache.get_or_insert_default();
        self
    }

    /// Restricts the caching of a cacheable result to its caller.
    #[must_use]
    pub fn private(mut self) -> Self {
        if let Some(cache) = &mut self.cache {
            cache.scope = Some(couplet_types::CacheScope::Private);
        }
        self
    }

    /// Returns whether caching of the result is restricted to its caller.
    pub fn is_private(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.scope == Some(couplet_types::CacheScope::Private))
    }

    /// Serializes any value that is a JSON object.
    pub fn value<T: Serialize>(result: &T) -> Self {
        Self::json(&JsonText::trusted(to_json(result).into()))
    }
}

/// Whether a member of a result says that a tool failed.
fn is_failure(key: &[u8], value: &[u8]) -> bool {
    key == b"isError" && value == b"true"
}

impl Revision {
    /// Serializes a typed result for this revision.
    pub fn encode<T: Project + HasMeta + Serialize>(self, mut result: T) -> ResultBody {
        let cache = result.take_cache();
        result.project(self);
        let failed = result.is_failed_tool();
        let meta = result.meta_mut().take().map(modern::without_reserved);
        let long = result.take_long();
        let mut body = buffers::buffer(result.size_hint());
        write_json(&mut body, &result);
        let body = one_line(buffers::bytes(body));
        let Some((text, front)) = long else { return ResultBody { body, long: None, meta, cache, failed } };
        if !body.starts_with(front) {
            // A test holds what is in front of a long text against the types. Should they differ, nothing is lost.
            result.put_back(text);
            return ResultBody { body: one_line(to_json(&result).into()), long: None, meta, cache, failed };
        }
        let (front, rest) = (body.slice(..front.len()), body.slice(front.len()..));
        ResultBody { body: front, long: Some(Long { text: escaped(text), rest }), meta, cache, failed }
    }
}

#[cfg(test)]
mod tests {
    use couplet_types::{
        AudioContent, CallToolResult, ContentBlock, ImageContent, ProtocolVersion, RawJson, TextContent,
    };
    use serde_json::{Value, json};

    use super::*;

    fn parsed(done: &ResultBody) -> Value {
        serde_json::from_str(done.text().as_str()).unwrap()
    }

    #[test]
    fn a_failed_tool_is_known_however_its_result_was_made() {
        let json = |text: &str| JsonText::new(text.to_owned()).unwrap();
        let revision = Revision::of(ProtocolVersion::V2025_11_25);
        let long = "x".repeat(64 << 10);
        for text in ["short", &long] {
            assert!(revision.encode(CallToolResult::error(text)).is_failed_tool());
            assert!(!revision.encode(CallToolResult::text(text)).is_failed_tool());
        }
        for (text, expected) in [
            (r#"{"content":[],"isError":true}"#, true),
            (r#"{"is\u0045rror" : true,"content":[]}"#, true),
            (r#"{"content":[],"isError":false}"#, false),
            (r#"{"content":[{"isError":true}],"structuredContent":{"isError":true}}"#, false),
            (r#"{"isError":"true"}"#, false),
            ("[]", false),
        ] {
            assert_eq!(ResultBody::json(&json(text)).is_failed_tool(), expected, "{text}");
            assert_eq!(ResultBody::empty().with_members(&json(text)).is_failed_tool(), expected, "{text}");
        }
        assert!(!ResultBody::json(&json(r#"{"isError":true}"#)).with_members(&json("{}")).is_failed_tool());
    }

    #[test]
    fn a_long_text_of_every_kind_is_sent_from_where_it_is() {
        let text = "QUJD".repeat(16 << 10);
        for (kind, member, block) in [
            ("text", "text", ContentBlock::Text(TextContent::new(text.clone()))),
            ("image", "data", ContentBlock::Image(ImageContent::new(text.clone(), "image/png"))),
            ("audio", "data", ContentBlock::Audio(AudioContent::new(text.clone(), "audio/wav"))),
        ] {
            for &version in ProtocolVersion::ALL {
                let revision = Revision::of(version);
                let mut result = CallToolResult::new(vec![block.clone(), ContentBlock::text("more")]);
                result.structured_content = Some(RawJson::new(&json!({ "a": 1 })).unwrap());
                let done = revision.encode(result.clone());
                result.project(revision);
                assert_eq!(parsed(&done), serde_json::to_value(&result).unwrap(), "{version}: {kind}");
                let first = &parsed(&done)["content"][0];
                // What a revision lacks is told in a few words.
                let is_told = first["type"] == kind;
                assert!(is_told || version == ProtocolVersion::V2024_11_05, "{version}: {kind}");
                assert_eq!((done.long.is_some(), first[member] == text), (is_told, is_told), "{version}: {kind}");
            }
        }
    }

    /// A value that does not begin as it says.
    #[derive(Clone, Serialize)]
    struct Odd {
        first: u8,
        text: String,
        #[serde(skip)]
        meta: Option<Meta>,
    }

    impl HasMeta for Odd {
        fn meta(&self) -> Option<&Meta> {
            self.meta.as_ref()
        }

        fn meta_mut(&mut self) -> &mut Option<Meta> {
            &mut self.meta
        }
    }

    impl Project for Odd {
        fn project(&mut self, _: Revision) {}

        fn take_long(&mut self) -> Option<(String, &'static [u8])> {
            Some((std::mem::take(&mut self.text), br#"{"text":""#))
        }

        fn put_back(&mut self, text: String) {
            self.text = text;
        }
    }

    #[test]
    fn a_result_with_nothing_to_remove_is_not_copied() {
        let text = |text: &'static str| JsonText::new(text).unwrap();
        for same in [r#"{"content":[{"type":"text","text":"a\nb"}],"x" : 1.0}"#, r#"{"ttlMs":1}"#] {
            let result = text(same);
            let done = ResultBody::uncached_json(&result);
            assert_eq!(done.body.as_ptr(), result.as_bytes().as_ptr(), "{same}");
        }
        for (before, after) in [
            (r#"{"ttlMs":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":2,"resultType":"complete"}"#, r#"{"a":2}"#),
            (r#"{"a":2,"\u005fmeta":{"k":1}}"#, r#"{"a":2}"#),
            (r#"{"a":"_meta"}"#, r#"{"a":"_meta"}"#),
            (r#"{"a":1.0,"ttlMs":1, "\u0062" : 2 ,"_meta":{},"c":3}"#, r#"{"a":1.0,"\u0062" : 2,"c":3}"#),
            (r#" { "resultType":"complete", "a" : 1 , "b":[ ] } "#, r#"{"a" : 1 , "b":[ ]}"#),
            (r#"{"resultType":"complete"}"#, "{}"),
            ("{ }", "{}"),
        ] {
            assert_eq!(&*ResultBody::json(&text(before)).body, after.as_bytes(), "{before}");
        }
    }

    #[test]
    fn a_long_result_is_not_copied_for_what_is_removed_before_it() {
        let (long, meta) =
            ("x".repeat(64 << 10), r#"{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}"#);
        let members = format!(r#""content":[{{"type":"text","text":"{long}"}}],"isError":true"#);
        let result = format!(r#"{{"resultType":"complete","_meta":{meta},{members}}}"#);
        let result = JsonText::new(result).unwrap();
        let done = ResultBody::uncached_json(&result);
        let sent = &done.long.as_ref().expect("it is long").text;
        assert!(result.as_bytes().as_ptr_range().contains(&sent.as_ptr()));
        assert_eq!(done.members().as_str(), format!("{{{members}}}"));
        assert_eq!((done.size(), done.meta.is_none(), done.is_failed_tool()), (members.len() + 2, true, true));
        let about = crate::service::Description::new(
            couplet_types::Implementation::new("gateway", "1"),
            couplet_types::ServerCapabilities::default(),
        );
        let (text, _) = crate::wire::answer(
            Revision::of(ProtocolVersion::V2026_07_28),
            &couplet_types::RequestId::Number(1),
            &crate::service::Reply::Complete(done),
            &about,
        );
        let text: Value = serde_json::from_slice(&text.into_bytes()).unwrap();
        assert_eq!(text["result"]["content"][0]["text"], json!(long));
        assert_eq!((&text["result"]["resultType"], &text["result"]["isError"]), (&json!("complete"), &json!(true)));
    }

    #[test]
    fn a_result_is_one_line_wherever_its_text_has_breaks() {
        let long = "x".repeat(64 << 10);
        for text in ["short", &long] {
            for result in [
                format!("\n{{\"a\":[\"{text}\"]}}\r\n"),
                format!("{{\n\"a\":[\"{text}\"]}}"),
                format!("{{\"a\":\r[\"{text}\"]}}"),
                format!("{{\"a\":[\"{text}\",{{\"b\"\n:1}}]}}"),
                format!("{{\"a\":[\"{text}\"]\r}}"),
                format!("{{\"_meta\":{{\"k\":\n1}},\"a\":[\"{text}\"],\"b\":1\n,\"c\":2}}"),
                format!("{{\"a\":[\"{text}\"],\"_meta\":{{\"k\":1}},\"b\":[\n]}}"),
            ] {
                let members = Params::from_text(JsonText::new(result.clone()).unwrap()).unwrap();
                let replaced = members.with("b", &JsonText::new("[\n]").unwrap()).unwrap();
                for members in [members, replaced] {
                    let done = ResultBody::relayed(&members, false);
                    assert!(!done.text().as_str().contains(['\n', '\r']), "{result}");
                    assert!(!done.whole().contains(&b'\n') && !done.whole().contains(&b'\r'), "{result}");
                    assert_eq!(parsed(&done), members.parse::<Value>().unwrap(), "{result}");
                }
            }
        }
    }

    #[test]
    fn a_long_text_behind_something_else_is_sent_all_the_same() {
        let done = Revision::oldest().encode(Odd { first: 1, text: "long".to_owned(), meta: None });
        assert_eq!(parsed(&done), json!({ "first": 1, "text": "long" }));
    }
}
