//! `#[prompt]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Result, ext::IdentExt};

use crate::{
    args::{self, Args},
    expand::{Settings, expand},
    function::Function,
    kind::PROMPT,
    tool::{described, name_or_own},
};

const KEYS: [&str; 5] = ["name", "title", "description", "complete", "crate"];

pub(crate) fn prompt(attr: TokenStream, item: TokenStream) -> TokenStream {
    expand(&PROMPT, item, |function| settings(syn::parse2(attr)?, function))
}

fn settings(mut args: Args, function: &Function) -> Result<Settings> {
    args.check(&KEYS)?;
    let krate = args.krate(quote!(::couplet))?;
    let key = name_or_own(args.text("name")?, function);
    if key.value().is_empty() {
        return Err(Error::new(key.span(), "a prompt needs a name"));
    }
    let described = described(&mut args, function)?;
    let completed = completed(&mut args, function)?;
    Ok(Settings { krate, key: quote!(#key), calls: quote!(#described #completed) })
}

/// The calls that set the functions that complete arguments.
pub(crate) fn completed(args: &mut Args, function: &Function) -> Result<TokenStream> {
    let pairs = args.list("complete")?;
    let known = |name: &str| function.takes_whole() || function.arguments().any(|a| a.name() == name);
    args::all(pairs.iter().map(|pair| &pair.key).filter(|key| !known(&key.unraw().to_string())).map(|key| {
        Error::new(key.span(), format!("no parameter is called `{key}`, so there is nothing to complete"))
    }))?;
    let calls = pairs.iter().map(|pair| {
        let (name, with) = (pair.key.unraw().to_string(), &pair.value);
        quote!(.complete(#name, #with))
    });
    Ok(calls.collect())
}
