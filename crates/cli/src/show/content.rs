//! Content blocks as text.

use std::fmt::Write;

use couplet::{
    client::Media,
    types::{ContentBlock, RawJson, Resource, ResourceBody, ResourceContents},
};
use serde::Serialize;
use serde_json::Value;

use super::{inline::Inline, save::Saver};
use crate::{
    exit::{Exit, Failure},
    output::{Output, pretty, text},
};

/// Renders content as text, and saves binary content to files.
pub(crate) struct Renderer<'a> {
    output: &'a Output,
    saver: Saver,
    inline: Option<Inline>,
}

impl<'a> Renderer<'a> {
    pub(crate) fn new(output: &'a Output, saver: Saver) -> Self {
        let inline = if output.out.terminal { Inline::detect() } else { None };
        Self { output, saver, inline }
    }

    /// Renders a tool result: its content blocks, or the structured content if these have no other text.
    pub(crate) fn result(&mut self, blocks: &[ContentBlock], data: Option<&RawJson>) -> Result<String, Failure> {
        let mut page = String::new();
        let mut has_words = false;
        for block in blocks {
            if let ContentBlock::Text(words) = block {
                if data.is_some_and(|data| is_same(&words.text, data)) {
                    continue;
                }
                has_words |= !words.text.is_empty();
            }
            page.push_str(&self.block(block)?);
        }
        if let Some(data) = data.filter(|_| !has_words) {
            let _ = writeln!(page, "{}", pretty(data.get(), self.output.out));
        }
        Ok(page)
    }

    /// Renders a content block.
    pub(crate) fn block(&mut self, block: &ContentBlock) -> Result<String, Failure> {
        match block {
            ContentBlock::Text(words) => Ok(ended(&self.output.said(&words.text))),
            ContentBlock::Resource(embedded) => self.contents(&embedded.resource),
            ContentBlock::ResourceLink(link) => Ok(self.link(link)),
            ContentBlock::Image(_) | ContentBlock::Audio(_) => match Media::from_block(block)? {
                Some(media) => self.media(&media),
                None => Ok(String::new()),
            },
            // An unknown type: its JSON.
            _ => Ok(self.output.said(&json_line(block)?).into_owned()),
        }
    }

    /// Renders the contents of a resource.
    pub(crate) fn contents(&mut self, contents: &ResourceContents) -> Result<String, Failure> {
        match &contents.body {
            ResourceBody::Text(words) => Ok(ended(&self.output.said(words))),
            ResourceBody::Blob(_) => self.media(&Media::from_contents(contents)?),
        }
    }

    fn media(&mut self, media: &Media) -> Result<String, Failure> {
        if let Some(shown) = self.inline.and_then(|inline| inline.print(&media.bytes)) {
            return Ok(shown);
        }
        let path = self.saver.save(media)?;
        let about = format!("({}, {})", text::line(&media.mime_type), text::size(media.bytes.len()));
        Ok(match self.output.out.terminal {
            true => format!("{} {}\n", path.display(), self.output.out.faint(about)),
            // A pipe gets the path alone.
            false => format!("{}\n", path.display()),
        })
    }

    fn link(&self, link: &Resource) -> String {
        let paint = self.output.out;
        format!("{} {}\n", paint.name(self.output.said(&link.uri)), paint.faint(text::line(link.display_name())))
    }
}

/// Serializes a value to one line of JSON.
pub(crate) fn json_line(value: &impl Serialize) -> Result<String, Failure> {
    let json = serde_json::to_string(value);
    json.map(|json| json + "\n").map_err(|e| Failure::new(Exit::Protocol, format!("cannot serialize the result: {e}")))
}

/// Whether a text block repeats the structured content.
fn is_same(words: &str, data: &RawJson) -> bool {
    let said: Option<Value> = couplet::types::from_json(words).ok();
    said.is_some_and(|said| data.parse::<Value>().is_ok_and(|data| data == said))
}

fn ended(words: &str) -> String {
    if words.is_empty() || words.ends_with('\n') { words.to_owned() } else { format!("{words}\n") }
}
