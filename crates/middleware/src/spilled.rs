//! Documents in parts, and a bounded store of them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::time::Instant;

/// A text in parts.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) text: String,
    pub(crate) mime_type: &'static str,
    /// Where each part ends.
    ends: Vec<usize>,
}

impl Document {
    /// Divides a text into parts whose encoded form has at most `room` bytes.
    pub(crate) fn new(text: String, mime_type: &'static str, room: usize) -> Self {
        let (mut ends, mut start) = (Vec::new(), 0);
        while start < text.len() {
            // A part has at least one character.
            let least = text[start..].chars().next().map_or(0, char::len_utf8);
            start += fitting(&text[start..], room).len().max(least);
            ends.push(start);
        }
        Self { text, mime_type, ends }
    }

    pub(crate) fn parts(&self) -> usize {
        self.ends.len()
    }

    /// Returns a part, the first of which is 1.
    pub(crate) fn part(&self, number: usize) -> Option<&str> {
        let at = number.checked_sub(1)?;
        let start = if at == 0 { 0 } else { *self.ends.get(at - 1)? };
        self.text.get(start..*self.ends.get(at)?)
    }
}

/// Returns the start of a text whose encoded form has at most `room` bytes.
pub(crate) fn fitting(text: &str, room: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += match c {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            c if c.is_control() => 6,
            c => c.len_utf8(),
        };
        used > room
    });
    end.map_or(text, |(end, _)| &text[..end])
}

type Nonce = [u8; 16];

/// Documents of all callers.
#[derive(Debug, Default)]
pub(crate) struct Spilled {
    all: HashMap<Nonce, StoredDocument>,
    bytes: usize,
}

#[derive(Debug)]
struct StoredDocument {
    owner: String,
    document: Arc<Document>,
    stored: Instant,
}

impl Spilled {
    /// Adds a document of at most `max_bytes`. Older ones give way.
    pub(crate) fn add(
        &mut self,
        nonce: Nonce,
        owner: &str,
        document: Document,
        ttl: Duration,
        max_bytes: usize,
        max_results: usize,
    ) {
        self.expire(ttl);
        while !self.all.is_empty() && (self.bytes + document.text.len() > max_bytes || self.all.len() >= max_results) {
            self.evict();
        }
        self.bytes += document.text.len();
        let entry = StoredDocument { owner: owner.to_owned(), document: Arc::new(document), stored: Instant::now() };
        self.all.insert(nonce, entry);
    }

    pub(crate) fn get(&mut self, nonce: &Nonce, ttl: Duration) -> Option<Arc<Document>> {
        self.expire(ttl);
        self.all.get(nonce).map(|entry| entry.document.clone())
    }

    fn expire(&mut self, ttl: Duration) {
        self.all.retain(|_, entry| entry.stored.elapsed() < ttl);
        self.bytes = self.all.values().map(|entry| entry.document.text.len()).sum();
    }

    /// Removes the oldest document of the caller with the largest share, so that a caller cannot displace all others.
    fn evict(&mut self) {
        let mut shares = HashMap::<&str, usize>::new();
        for entry in self.all.values() {
            // Empty ones count as well.
            *shares.entry(&entry.owner).or_default() += entry.document.text.len() + 1;
        }
        let largest = shares.into_iter().max_by_key(|(_, share)| *share).map(|(owner, _)| owner.to_owned());
        let own = self.all.iter().filter(|(_, entry)| Some(&entry.owner) == largest.as_ref());
        if let Some(nonce) = own.min_by_key(|(_, entry)| entry.stored).map(|(nonce, _)| *nonce)
            && let Some(entry) = self.all.remove(&nonce)
        {
            self.bytes -= entry.document.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn document(bytes: usize) -> Document {
        Document::new("x".repeat(bytes), "text/plain", 1_000)
    }

    #[test]
    fn parts_are_the_whole() {
        let text = "ä\"\n\u{1}x".repeat(500);
        for room in [1, 7, 100, 100_000] {
            let document = Document::new(text.clone(), "text/plain", room);
            let parts: String = (1..=document.parts()).map(|n| document.part(n).unwrap()).collect();
            assert_eq!(parts, text);
            assert_eq!((document.part(0), document.part(document.parts() + 1)), (None, None));
            let encoded = |part: &str| serde_json::to_string(part).unwrap().len() - 2;
            assert!((1..=document.parts()).all(|n| encoded(document.part(n).unwrap()) <= room.max(6)), "{room}");
        }
        assert_eq!(Document::new(String::new(), "text/plain", 100).parts(), 0);
    }

    #[test]
    fn the_largest_share_gives_way() {
        let mut spilled = Spilled::default();
        spilled.add([1; 16], "ada", document(10), HOUR, 100, 10);
        for n in 2..9 {
            spilled.add([n; 16], "bob", document(30), HOUR, 100, 10);
        }
        assert!(spilled.get(&[1; 16], HOUR).is_some(), "a caller displaces its own documents");
        assert!(spilled.get(&[8; 16], HOUR).is_some() && spilled.get(&[5; 16], HOUR).is_none());
        assert!(spilled.bytes <= 100);
        spilled.add([9; 16], "ada", document(1), HOUR, 100, 2);
        assert_eq!(spilled.all.len(), 2);
        assert!(spilled.get(&[9; 16], HOUR).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn documents_expire() {
        let mut spilled = Spilled::default();
        spilled.add([1; 16], "ada", document(10), HOUR, 100, 10);
        tokio::time::advance(HOUR / 2).await;
        assert!(spilled.get(&[1; 16], HOUR).is_some());
        tokio::time::advance(HOUR / 2).await;
        assert!(spilled.get(&[1; 16], HOUR).is_none());
        assert_eq!(spilled.bytes, 0);
    }
}
