//! Doc comments as descriptions.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The doc comment among the attributes, as an expression of the type `&str`.
pub(crate) fn description(attrs: &[Attribute]) -> Option<TokenStream> {
    let docs: Vec<&Expr> = attrs.iter().filter_map(doc).collect();
    let texts: Option<Vec<String>> = docs.iter().map(|doc| text(doc)).collect();
    match texts {
        Some(texts) => Some(tidy(&texts.join("\n"))).filter(|text| !text.is_empty()).map(ToTokens::into_token_stream),
        // Some of it is a macro call, as in `#[doc = include_str!("add.md")]`.
        None => Some(quote!(::core::concat!(#(#docs, "\n"),*).trim())),
    }
}

fn doc(attr: &Attribute) -> Option<&Expr> {
    match &attr.meta {
        Meta::NameValue(doc) if doc.path.is_ident("doc") => Some(&doc.value),
        _ => None,
    }
}

fn text(doc: &Expr) -> Option<String> {
    match doc {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// Removes the common indentation, and empty lines at both ends.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let margin = lines.iter().filter(|l| !l.is_empty()).map(|l| l.len() - l.trim_start().len()).min().unwrap_or(0);
    let lines: Vec<&str> = lines.iter().map(|l| l.get(margin..).unwrap_or("")).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doc_comments_become_text() {
        for (text, want) in [
            (" Adds.", "Adds."),
            (" Adds.\n\n Really.\n", "Adds.\n\nReally."),
            (" One of:\n   * a\n   * b", "One of:\n  * a\n  * b"),
            ("\n    Block.\n    More.\n    ", "Block.\nMore."),
            ("", ""),
        ] {
            assert_eq!(tidy(text), want);
        }
    }
}
