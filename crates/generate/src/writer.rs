//! Lines of code with indentation.

/// Text that is written line by line.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    /// Writes a line at the current depth.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n("    ", self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Writes lines that are one level deeper.
    pub(crate) fn indented(&mut self, write: impl FnOnce(&mut Self)) {
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }

    /// Writes an empty line.
    pub(crate) fn gap(&mut self) {
        self.text.push('\n');
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// A string literal in double quotes: everything but printable ASCII and letters is escaped by the function.
pub(crate) fn quoted(text: &str, escape: impl Fn(char) -> String) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            ' '..='~' => literal.push(c),
            c if c.is_alphanumeric() && !crate::text::is_invisible(c) => literal.push(c),
            c => literal.push_str(&escape(c)),
        }
    }
    literal.push('"');
    literal
}
