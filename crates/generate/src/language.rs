//! The languages.

use std::fmt;

/// A language that clients are generated in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// Rust, for the client of `couplet`.
    Rust,
    /// TypeScript, for `@modelcontextprotocol/client`.
    TypeScript,
    /// Python, for `mcp`.
    Python,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 3] = [Self::Rust, Self::TypeScript, Self::Python];

    /// Returns the name on the command line, such as `rust`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::TypeScript => "typescript",
            Self::Python => "python",
        }
    }

    /// Returns the extension of its files, such as `rs`.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Rust => "rs",
            Self::TypeScript => "ts",
            Self::Python => "py",
        }
    }

    /// Returns the name of the file of a module's tests; none in Rust, where tests are part of the module.
    ///
    /// ```
    /// use couplet_generate::Language;
    ///
    /// assert_eq!(Language::Python.tests_file("weather").as_deref(), Some("test_weather.py"));
    /// assert_eq!(Language::Rust.tests_file("weather"), None);
    /// ```
    pub fn tests_file(self, module: &str) -> Option<String> {
        match self {
            Self::Rust => None,
            Self::TypeScript => Some(format!("{module}.test.ts")),
            Self::Python => Some(format!("test_{module}.py")),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
