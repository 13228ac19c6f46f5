//! The templates of a view, in the order in which they are compared with a URI.
//!
//! A server that is early in the configuration must not own the URIs of others with a template for everything, so the most
//! specific template counts.

use std::cmp::Reverse;

use couplet_types::UriTemplate;

use crate::service::item::ViewItem;

/// The templates with their positions among those of the view, the most specific first.
pub(crate) struct Matchers(Vec<(UriTemplate, usize)>);

impl Matchers {
    pub(crate) fn new(templates: &[ViewItem]) -> Self {
        let parsed = |(at, item): (usize, &ViewItem)| Some((UriTemplate::parse_for_matching(&item.raw).ok()?, at));
        let mut all: Vec<_> = templates.iter().enumerate().filter_map(parsed).collect();
        // The sort is stable: among equals the order of the configuration counts.
        all.sort_by_cached_key(|(template, _)| Specificity::of(template));
        Self(all)
    }

    /// The position of the most specific template for a URI.
    pub(crate) fn find(&self, uri: &str) -> Option<usize> {
        let (_, at) = self.0.iter().find(|(template, _)| template.matches(uri).is_some())?;
        Some(*at)
    }
}

/// How much of a URI a template leaves open. The least is the most specific.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Specificity {
    /// The length of the text in front of the first variable.
    prefix: Reverse<usize>,
    variables: usize,
    /// The length of all text outside of variables.
    literal: Reverse<usize>,
}

impl Specificity {
    fn of(template: &UriTemplate) -> Self {
        let text = template.as_str();
        let prefix = text.find('{').unwrap_or(text.len());
        let literal = text.split('{').enumerate().map(|(at, part)| match part.split_once('}') {
            Some((_, literal)) if at > 0 => literal.len(),
            _ => part.len(),
        });
        let literal = literal.sum();
        Self { prefix: Reverse(prefix), variables: template.variables().count(), literal: Reverse(literal) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_template_is_first() {
        let order = [
            "files:///home/ann/{+path}",
            "files:///{a}.txt",
            "files:///{+path}",
            "files:///{a}/page/{b}",
            "files:///{a}/{b}",
            "files:{+rest}",
            "{scheme}://one",
            "{+everything}",
        ];
        let of = |text: &str| Specificity::of(&UriTemplate::parse(text).unwrap());
        for pair in order.windows(2) {
            assert!(of(pair[0]) < of(pair[1]), "{pair:?}");
        }
    }
}
