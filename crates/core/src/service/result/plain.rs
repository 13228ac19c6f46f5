//! Results of tools in their usual form, which are sent on after one look.

use super::{ResultBody, Stays, is_failure};
use crate::{
    message::{Entry, scan::JsonText},
    wire::{modern, revision::Revision},
};

impl ResultBody {
    /// Wraps the complete result of a tool that a server with the revision `from` has sent, for a caller with the revision
    /// `to`, if that is the same text: but for the members that a revision adds, which are removed. Returns `None` if the
    /// result has to be parsed.
    pub fn plain_tool_result(result: &JsonText, from: Revision, to: Revision) -> Option<Self> {
        let text = result.as_bytes();
        let mut done = Self::empty();
        let mut stays = Stays::default();
        let [mut kind, mut meta, mut content, mut failed, mut data] = [None; 5];
        Entry::each_plain(text, |member| {
            let (value, is_sent_on) = match &*member.key {
                // That of most results has only the name of the server.
                b"_meta" => {
                    Entry::each_plain(member.value, |member| modern::is_reserved_key(&member.key).then_some(()))?;
                    (&mut meta, false)
                }
                b"content" => (&mut content, true),
                b"isError" => (&mut failed, true),
                b"structuredContent" => (&mut data, true),
                key if modern::is_added(key) && modern::is_complete(member.value) => (&mut kind, false),
                _ => return None,
            };
            if is_sent_on {
                stays.add(text, &member);
            }
            // A member that appears twice is left to the parser.
            value.replace(member.value).is_none().then_some(())
        })?;
        if from.index() != to.index() && !to.relays_content(content, data) {
            return None;
        }
        done.failed = failed.is_some_and(|value| is_failure(b"isError", value));
        stays.into_body(text, false, &mut done);
        Some(done)
    }
}

#[cfg(test)]
mod tests {
    use couplet_types::ProtocolVersion;

    use super::*;
    use crate::message::Params;

    /// What is sent on after one look is what is sent on after all members were located.
    fn check(text: &str, is_plain: bool) {
        let result = JsonText::new(text.to_owned()).unwrap();
        let revision = |version: &ProtocolVersion| Revision::of(*version);
        for (from, to) in
            ProtocolVersion::ALL.iter().flat_map(|from| ProtocolVersion::ALL.iter().map(move |to| (from, to)))
        {
            let done = ResultBody::plain_tool_result(&result, revision(from), revision(to));
            let members = Params::from_text(result.clone());
            let relays = from == to || members.as_ref().is_ok_and(|members| revision(to).relays_tool_result(members));
            assert_eq!(done.is_some(), is_plain && relays, "{from} to {to}: {text}");
            if let Some(done) = done {
                let whole = ResultBody::relayed(&members.unwrap(), false);
                assert_eq!((done.text(), done.failed), (whole.text(), whole.failed), "{from} to {to}: {text}");
            }
        }
    }

    #[test]
    fn a_result_in_its_usual_form_is_sent_on_as_it_is() {
        let long = format!(r#"{{"content":[{{"type":"text","text":"{}"}}],"isError":true}}"#, "x".repeat(64 << 10));
        for text in [
            r#"{"content":[]}"#,
            r#"{"content":[{"type":"text","text":"a \" }"}]}"#,
            r#"{ "content" : [ ] , "isError" : true }"#,
            r#"{"resultType":"complete","content":[{"type":"text","text":"1"}],"structuredContent":{"a":[1,{}]}}"#,
            r#"{"content":[1],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a"}},"structuredContent":[]}"#,
            r#"{"_meta":{},"content":[],"resultType":"complete"}"#,
            "{}",
            &long,
        ] {
            check(text, true);
        }
    }

    #[test]
    fn any_other_result_is_parsed() {
        for text in [
            r#"{"content":[],"content":[]}"#,
            r#"{"c\u006fntent":[]}"#,
            "{\"content\":\n[]}",
            "{\"content\":[\n]}",
            r#"{"content":[],"more":1}"#,
            r#"{"resultType":"input_required","content":[]}"#,
            r#"{"content":[],"_meta":{"mine":1}}"#,
            r#"{"content":[],"_meta":null}"#,
            r#"{"task":{"taskId":"1"}}"#,
            "[]",
            "1",
        ] {
            check(text, false);
        }
    }
}
