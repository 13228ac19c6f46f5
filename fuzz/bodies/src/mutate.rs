//! Changes to an input: the same ones for the same seed.

/// Turns seeds into other inputs.
#[derive(Clone, Debug)]
pub struct Mutator {
    state: u64,
}

/// Words that mean something to what is fuzzed.
const WORDS: &[&str] = &[
    "null",
    "true",
    "-1",
    "1e999",
    "1.5",
    "18446744073709551616",
    "\"\"",
    "{}",
    "[]",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "\n",
    "\r\n",
    "\\u0000",
    "\\ud800",
    "\\ud83d\\ude00",
    "\u{1f600}",
    "\u{feff}",
    "\"id\":1",
    "\"id\":null",
    "\"result\":{}",
    "\"error\":{}",
    "\"jsonrpc\":\"2.0\"",
    "\"method\":\"ping\"",
    "\"params\":{}",
    "\"_meta\":{}",
    "\"progressToken\":1",
    "\"@state\"",
    "\"@cursor\"",
    "\"@question\"",
    "tools/call",
    "tools/list",
    "notifications/cancelled",
    "initialize",
    "server/discover",
    "subscriptions/listen",
    "io.modelcontextprotocol/protocolVersion",
    "2024-11-05",
    "2026-07-28",
    "inputResponses",
    "requestState",
    "\"name\":\"never\"",
    "\"name\":\"ask\"",
    "fuzz://square/",
    "%2F",
    "%",
    "?a=1&b=2",
];

impl Mutator {
    /// The mutations of a seed.
    pub fn new(seed: u64) -> Self {
        // The generator must not begin with zero.
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// One of the inputs, changed in one to six places.
    pub fn mutate(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut data = inputs[self.below(inputs.len())].clone();
        for _ in 0..=self.below(6) {
            self.change(&mut data, inputs);
        }
        data.truncate(16 << 10);
        data
    }

    fn change(&mut self, data: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        let at = self.below(data.len() + 1);
        let span = at..(at + 1 + self.below(24)).min(data.len()).max(at);
        match self.below(9) {
            0 => {
                if let Some(byte) = data.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            1 => {
                let byte = self.below(256) as u8;
                data.insert(at, byte);
            }
            2 => drop(data.drain(span)),
            3 => {
                let again = data[span].to_vec();
                data.splice(at..at, again);
            }
            4 => {
                let word = WORDS[self.below(WORDS.len())];
                data.splice(at..at, word.bytes());
            }
            5 => {
                let word = WORDS[self.below(WORDS.len())];
                data.splice(span, word.bytes());
            }
            6 => self.replace_token(data),
            7 => self.move_line(data),
            _ => {
                let other = &inputs[self.below(inputs.len())];
                let from = self.below(other.len() + 1);
                let to = (from + self.below(400)).min(other.len());
                data.splice(at..at, other[from..to].iter().copied());
            }
        }
    }

    /// Puts a word in the place of a whole number, string or name.
    fn replace_token(&mut self, data: &mut Vec<u8>) {
        let is_end = |b: &u8| b",:{}[]\n".contains(b);
        let start = self.below(data.len() + 1);
        let Some(start) = data[start..].iter().position(is_end).map(|p| start + p + 1) else { return };
        let end = data[start..].iter().position(is_end).map_or(data.len(), |p| start + p);
        let word = WORDS[self.below(WORDS.len())];
        data.splice(start..end, word.bytes());
    }

    /// Repeats a line at the end, or takes it away.
    fn move_line(&mut self, data: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> = data.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        let at = self.below(lines.len());
        let line = if self.below(2) == 0 { lines.remove(at) } else { lines[at].clone() };
        let to = self.below(lines.len() + 1);
        if self.below(4) > 0 {
            lines.insert(to, line);
        }
        *data = lines.join(&b'\n');
    }

    /// A number below a limit; xorshift64*.
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let random = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(random).expect("31 bits fit") % limit.max(1)
    }
}
