//! What is measured: who, over which transport, started how.

use super::{kits::Kit, options::Options};

/// How a conversation travels, and how it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Stdio2025,
    Stdio2026,
    Http2025,
    Http2026,
}

use Transport::{Http2025, Http2026, Stdio2025, Stdio2026};

impl Transport {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Stdio2025 => "stdio-2025",
            Stdio2026 => "stdio-2026",
            Http2025 => "http-2025",
            Http2026 => "http-2026",
        }
    }

    /// The revision, as the load generator calls it.
    pub(super) const fn life(self) -> &'static str {
        match self {
            Stdio2025 | Http2025 => "2025",
            Stdio2026 | Http2026 => "2026",
        }
    }

    pub(super) const fn is_http(self) -> bool {
        matches!(self, Http2025 | Http2026)
    }
}

/// A row: its name, whose it is, the words after the program, and the transports; `{port}` is a free port.
type Row = (&'static str, Kit, &'static str, &'static [Transport]);

const STDIO: &[Transport] = &[Stdio2025, Stdio2026];
const HTTP: &[Transport] = &[Http2025, Http2026];

const ROWS: &[Row] = &[
    ("bare", Kit::Bare, "stdio", STDIO),
    ("bare", Kit::Bare, "http {port}", HTTP),
    ("bare-tokio", Kit::Bare, "stdio-tokio", &[Stdio2025]),
    ("bare-axum", Kit::Bare, "axum {port}", HTTP),
    ("couplet", Kit::Couplet, "stdio", STDIO),
    ("couplet", Kit::Couplet, "http {port}", HTTP),
    // As its examples set it up, and then with each thing that makes it faster.
    ("rmcp", Kit::Rmcp, "stdio", STDIO),
    ("rmcp", Kit::Rmcp, "http {port}", HTTP),
    ("rmcp-pipes", Kit::Rmcp, "stdio-pipes", STDIO),
    ("rmcp-nodelay", Kit::Rmcp, "http {port} nodelay", HTTP),
    ("rmcp-tuned", Kit::Rmcp, "http {port} nodelay arc", &[Http2025]),
    ("rmcp-tuned", Kit::Rmcp, "http {port} nodelay arc json", &[Http2026]),
    ("turbomcp", Kit::Turbomcp, "stdio", STDIO),
    ("turbomcp", Kit::Turbomcp, "http {port}", HTTP),
    ("tower-mcp", Kit::TowerMcp, "stdio", STDIO),
    ("tower-mcp", Kit::TowerMcp, "http {port}", HTTP),
    ("pmcp", Kit::Pmcp, "stdio", STDIO),
    ("pmcp", Kit::Pmcp, "http {port}", HTTP),
    // It knows only the last revision.
    ("rust-mcp-sdk", Kit::RustMcpSdk, "stdio", &[Stdio2026]),
    ("rust-mcp-sdk", Kit::RustMcpSdk, "http {port}", &[Http2026]),
    ("rust-mcp-sdk-json", Kit::RustMcpSdk, "http {port} json", &[Http2026]),
    ("typescript", Kit::TypeScript, "stdio", STDIO),
    ("typescript", Kit::TypeScript, "http {port}", HTTP),
    ("python", Kit::Python, "stdio", &[Stdio2025]),
    ("python", Kit::Python, "http {port}", HTTP),
    ("fastmcp", Kit::FastMcp, "stdio", &[Stdio2025]),
    ("fastmcp", Kit::FastMcp, "http {port}", HTTP),
];

/// One server over one transport.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) kit: Kit,
    pub(super) transport: Transport,
    pub(super) words: &'static str,
}

/// The kits that the options ask for.
pub(super) fn kits(options: &Options) -> Vec<Kit> {
    let mut kits: Vec<Kit> = wanted(options).map(|(_, kit, ..)| *kit).collect();
    kits.dedup();
    kits
}

/// The subjects that the options ask for, of the kits that are there.
pub(super) fn subjects(options: &Options, kits: &[Kit]) -> Vec<Subject> {
    let there = wanted(options).filter(|(_, kit, ..)| kits.contains(kit));
    let each = there.flat_map(|(name, kit, words, transports)| {
        transports.iter().map(|&transport| Subject { name, kit: *kit, transport, words })
    });
    each.collect()
}

fn wanted(options: &Options) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(|(name, kit, ..)| options.wants(name, kit.name()))
}
