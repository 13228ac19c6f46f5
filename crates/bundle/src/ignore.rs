//! Files that are not packed, by patterns in the syntax of `.gitignore`.

/// Files that are never packed: artifacts of editors, package managers and systems, and files that may contain secrets.
const ALWAYS: &[&str] = &[
    ".DS_Store",
    "Thumbs.db",
    ".git",
    ".gitignore",
    ".gitattributes",
    ".github",
    ".mcpbignore",
    ".env*",
    "*.log",
    "*.map",
    ".npm",
    ".npmrc",
    ".yarn",
    ".yarnrc*",
    ".pnp.*",
    ".eslintrc*",
    ".eslintignore",
    ".editorconfig",
    ".prettierrc*",
    ".prettierignore",
    ".nycrc",
    ".babelrc",
    "node_modules/.cache",
    "node_modules/.bin",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "*.mcpb",
    "*.d.ts",
    "*.tsbuildinfo",
    "tsconfig.json",
    "__pycache__",
    "*.pyc",
    ".venv",
    "*.pdb",
];

/// Patterns; the last one that matches decides.
#[derive(Debug)]
pub(crate) struct Ignore {
    patterns: Vec<Pattern>,
}

#[derive(Debug)]
struct Pattern {
    glob: Vec<char>,
    /// Includes a file that an earlier pattern excluded.
    is_exception: bool,
    /// Matches only folders.
    is_folder: bool,
    /// Matches from the top folder on, and not at any depth.
    is_anchored: bool,
}

impl Ignore {
    /// The built-in patterns, and those of a `.mcpbignore`.
    pub(crate) fn new(text: &str) -> Self {
        let own = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self { patterns: ALWAYS.iter().copied().chain(own).filter_map(Pattern::new).collect() }
    }

    /// Whether a path, with `/` as the separator, is excluded. The walk does not descend into excluded folders.
    pub(crate) fn has(&self, path: &str, is_folder: bool) -> bool {
        let fits = |pattern: &&Pattern| (is_folder || !pattern.is_folder) && pattern.fits(path);
        self.patterns.iter().rev().find(fits).is_some_and(|pattern| !pattern.is_exception)
    }
}

impl Pattern {
    fn new(line: &str) -> Option<Self> {
        let (line, is_exception) = line.strip_prefix('!').map_or((line, false), |rest| (rest, true));
        let (line, is_folder) = line.strip_suffix('/').map_or((line, false), |rest| (rest, true));
        let is_anchored = line.contains('/');
        let glob: Vec<char> = line.trim_start_matches('/').chars().collect();
        (!glob.is_empty()).then_some(Self { glob, is_exception, is_folder, is_anchored })
    }

    fn fits(&self, path: &str) -> bool {
        let whole: Vec<char> = path.chars().collect();
        match self.is_anchored {
            true => matches(&self.glob, &whole),
            false => matches(&self.glob, &path.rsplit('/').next().unwrap_or(path).chars().collect::<Vec<_>>()),
        }
    }
}

/// Matches a glob: `*` and `?` match anything but `/`, `**` matches anything.
fn matches(glob: &[char], text: &[char]) -> bool {
    match (glob, text) {
        ([], []) => true,
        (['*', '*', '/', rest @ ..], _) => {
            matches(rest, text) || text.iter().position(|&c| c == '/').is_some_and(|at| matches(glob, &text[at + 1..]))
        }
        (['*', '*'], _) => true,
        (['*', rest @ ..], _) => {
            let end = text.iter().position(|&c| c == '/').unwrap_or(text.len());
            (0..=end).any(|at| matches(rest, &text[at..]))
        }
        (['?', rest @ ..], [c, text @ ..]) if *c != '/' => matches(rest, text),
        ([a, glob @ ..], [b, text @ ..]) if a == b => matches(glob, text),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        let ignore = Ignore::new("# mine\n/build\nsecret/\n*.tmp\n!keep.tmp\ndocs/**/draft.md\nsrc/*.rs\n");
        for (path, is_folder, expected) in [
            ("a.log", false, true),
            ("deep/er/a.log", false, true),
            (".env", false, true),
            (".env.local", false, true),
            ("env", false, false),
            ("build", true, true),
            ("sub/build", true, false),
            ("secret", true, true),
            ("secret", false, false),
            ("sub/secret", true, true),
            ("a.tmp", false, true),
            ("keep.tmp", false, false),
            ("docs/draft.md", false, true),
            ("docs/a/b/draft.md", false, true),
            ("src/a.rs", false, true),
            ("src/a/b.rs", false, false),
            ("node_modules/.bin", true, true),
            ("server/weather", false, false),
        ] {
            assert_eq!(ignore.has(path, is_folder), expected, "{path}");
        }
    }
}
