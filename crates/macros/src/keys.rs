//! The keys of `#[tool]`, `#[resource]` and `#[prompt]`. Each key calls the builder's setter of the same name; the keys of
//! [`Form::Special`] are handled by the attribute itself.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Error, Result, ext::IdentExt, spanned::Spanned};

use crate::{
    args::{self, Args},
    function::Function,
};

/// The syntax of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `key`
    Flag,
    /// `key`, `key = true` or `key = false`
    Switch,
    /// `key = expression`
    Value,
    /// `key = expression` or `key = none`
    Optional,
    /// `key = ["a", "b"]` or `key("a", "b")`: one call of the setter
    List,
    /// `key = a` or `key(a, b)`: a call of the setter for each
    Each,
    /// `key(parameter = value)`: a call of the setter for each
    Pairs,
    /// Handled by the attribute itself.
    Special,
}

use Form::{Each, Flag, List, Optional, Pairs, Special, Switch, Value};

/// The keys of an attribute, in the order in which the setters are called.
pub(crate) type Keys = [(&'static str, Form)];

/// `annotations` replaces all hints, so the hints come after it.
pub(crate) const TOOL: &Keys = &[
    ("name", Special),
    ("title", Value),
    ("description", Special),
    ("annotations", Value),
    ("read_only", Flag),
    ("destructive", Switch),
    ("idempotent", Flag),
    ("open_world", Switch),
    ("blocking", Flag),
    ("timeout", Optional),
    ("scopes", List),
    ("icons", Value),
    ("meta", Value),
    ("input_schema", Value),
    ("accepted_schema", Value),
    ("output_schema", Value),
    ("task", Special),
    ("extension_data", Each),
    ("crate", Special),
];

pub(crate) const RESOURCE: &Keys = &[
    ("name", Special),
    ("title", Value),
    ("description", Special),
    ("mime_type", Value),
    ("size", Value),
    ("annotations", Value),
    ("subscribable", Flag),
    ("unlisted", Flag),
    ("scopes", List),
    ("icons", Value),
    ("meta", Value),
    ("complete", Pairs),
    ("complete_from", Pairs),
    ("crate", Special),
];

pub(crate) const PROMPT: &Keys = &[
    ("name", Special),
    ("title", Value),
    ("description", Special),
    ("arguments", Value),
    ("scopes", List),
    ("icons", Value),
    ("meta", Value),
    ("complete", Pairs),
    ("complete_from", Pairs),
    ("crate", Special),
];

/// The calls of the setters, and of `description` for the doc comment.
pub(crate) fn calls(args: &mut Args, keys: &Keys, function: &Function) -> Result<TokenStream> {
    let given = args.expr("description")?.map(|text| quote!(#text));
    let description = given.or_else(|| function.description.clone()).map(|text| quote!(.description(#text)));
    let mut calls = description.unwrap_or_default();
    for (key, form) in keys {
        calls.extend(call(args, key, *form, function)?);
    }
    Ok(calls)
}

fn call(args: &mut Args, key: &str, form: Form, function: &Function) -> Result<TokenStream> {
    let set = Ident::new(key, Span::call_site());
    Ok(match form {
        Flag if args.flag(key)? => quote!(.#set()),
        Switch => args.switch(key)?.map(|switch| quote!(.#set(#switch))).unwrap_or_default(),
        Value => match args.expr(key)? {
            Some(value) => {
                let set = Ident::new(key, value.span());
                quote!(.#set(#value))
            }
            None => TokenStream::new(),
        },
        Optional => match args.expr(key)? {
            Some(syn::Expr::Path(word)) if word.path.is_ident("none") => quote!(.#set(::core::option::Option::None)),
            Some(value) => quote!(.#set(#value)),
            None => TokenStream::new(),
        },
        List => args.array(key)?.map(|values| quote!(.#set(#values))).unwrap_or_default(),
        Each => args.each(key)?.iter().map(|value| quote!(.#set(#value))).collect(),
        Pairs => pairs(args, key, &set, function)?,
        Flag | Special => TokenStream::new(),
    })
}

/// The calls for the arguments that are completed.
fn pairs(args: &mut Args, key: &str, set: &Ident, function: &Function) -> Result<TokenStream> {
    let pairs = args.pairs(key)?;
    let known = |name: &str| function.takes_whole() || function.arguments().any(|a| a.name() == name);
    args::all(pairs.iter().map(|pair| &pair.key).filter(|key| !known(&key.unraw().to_string())).map(|key| {
        Error::new(key.span(), format!("no parameter is called `{key}`, so there is nothing to complete"))
    }))?;
    let calls = pairs.iter().map(|pair| {
        let (name, with) = (pair.key.unraw().to_string(), &pair.value);
        quote!(.#set(#name, #with))
    });
    Ok(calls.collect())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    fn source(file: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src").join(file);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// The names of the functions that take `self`.
    fn setters(text: &str) -> BTreeSet<String> {
        let functions = text.split("pub fn ").skip(1).filter_map(|rest| {
            let signature = rest.split_once(" {").map_or(rest, |(signature, _)| signature);
            let takes_self =
                signature.contains("(mut self") || signature.contains("self,") || signature.contains("(self");
            takes_self.then(|| signature.split(['(', '<']).next().unwrap_or_default().to_owned())
        });
        functions.collect()
    }

    /// The body of a macro in `setters.rs`.
    fn shared(name: &str) -> String {
        let text = source("setters.rs");
        let (_, body) = text.split_once(&format!("macro_rules! {name} ")).expect("there is such a macro");
        body.split("macro_rules!").next().unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn check(kind: &str, keys: &Keys) {
        let file = format!("{kind}/setters.rs");
        let own = source(&file);
        let mut wanted = setters(&own);
        wanted.extend(setters(&source(&format!("{kind}.rs"))));
        for name in ["listing_setters", "scope_setters", "completion_setters"] {
            if own.contains(&format!("{name}!")) {
                wanted.extend(setters(&shared(name)));
            }
        }
        assert!(wanted.contains("description") && wanted.len() > 7, "the setters of {kind} are found: {wanted:?}");
        let names: BTreeSet<String> = keys.iter().map(|(key, _)| (*key).to_owned()).collect();
        let missing: Vec<_> = wanted.difference(&names).collect();
        assert!(missing.is_empty(), "`#[{kind}]` has no key for these setters of the builder: {missing:?}");
        // The rest is the attribute's own.
        let own: Vec<_> = names.difference(&wanted).map(String::as_str).collect();
        let expected: &[&str] = match kind {
            "tool" => &["crate", "name", "task"],
            "prompt" => &["crate", "name"],
            _ => &["crate"],
        };
        assert_eq!(own, expected, "{kind}");
    }

    #[test]
    fn each_setter_of_a_builder_has_a_key() {
        check("tool", TOOL);
        check("resource", RESOURCE);
        check("prompt", PROMPT);
    }

    #[test]
    fn each_key_is_documented() {
        let text = include_str!("lib.rs");
        for (start, keys) in [("Makes a tool", TOOL), ("Makes a resource", RESOURCE), ("Makes a prompt", PROMPT)] {
            let (_, docs) = text.split_once(&format!("/// {start}")).expect("the attribute is documented");
            let docs = docs.split("#[proc_macro_attribute]").next().unwrap_or_default();
            for (key, _) in keys {
                assert!(docs.contains(&format!("| `{key}")), "{start}: the table has no row for `{key}`");
            }
        }
    }
}
