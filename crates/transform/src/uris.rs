//! Which resources and resource templates are shown.

use couplet_types::UriTemplate;

use crate::glob::Glob;

/// The rules for URIs and URI templates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uris {
    hidden: Vec<UriPattern>,
    only: Option<Vec<UriPattern>>,
}

/// A pattern with `*`, or a URI template.
#[derive(Clone, Debug)]
struct UriPattern {
    glob: Glob,
    template: Option<UriTemplate>,
}

impl UriPattern {
    fn new(glob: Glob) -> Self {
        let template =
            glob.as_str().contains('{').then(|| UriTemplate::parse_for_matching(glob.as_str()).ok()).flatten();
        Self { glob, template }
    }

    /// Whether it is about a URI, or a URI template.
    fn matches(&self, uri: &str) -> bool {
        self.glob.matches(uri) || self.template.as_ref().is_some_and(|template| template.matches(uri).is_some())
    }
}

impl Uris {
    pub(crate) fn hide(&mut self, pattern: Glob) {
        self.hidden.push(UriPattern::new(pattern));
    }

    pub(crate) fn only(&mut self, patterns: Vec<Glob>) {
        self.only.get_or_insert_default().extend(patterns.into_iter().map(UriPattern::new));
    }

    /// Whether everything is shown.
    pub(crate) fn are_all(&self) -> bool {
        self.hidden.is_empty() && self.only.is_none()
    }

    /// Whether a resource or a resource template is shown, by its URI or its URI template.
    pub(crate) fn shows(&self, uri: &str) -> bool {
        let is_in = |patterns: &[UriPattern]| patterns.iter().any(|pattern| pattern.matches(uri));
        self.only.as_deref().is_none_or(is_in) && !is_in(&self.hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_stand_for_their_uris() {
        let glob = |pattern| Glob::new(pattern).expect("it is a pattern");
        let mut uris = Uris::default();
        assert!(uris.are_all() && uris.shows("a://b"));
        uris.hide(glob("notes://{id}"));
        uris.hide(glob("file:///etc/*"));
        for (uri, expected) in [
            ("notes://{id}", false),
            ("notes://7", false),
            ("notes://7/more", true),
            ("file:///etc/passwd", false),
            ("file:///home/a", true),
        ] {
            assert_eq!(uris.shows(uri), expected, "{uri}");
        }
        uris.only(vec![glob("file:///home/{user}")]);
        assert!(uris.shows("file:///home/a") && uris.shows("file:///home/{user}") && !uris.shows("file:///var"));
    }
}
