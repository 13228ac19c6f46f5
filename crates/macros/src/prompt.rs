//! `#[prompt]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Result};

use crate::{
    args::Args,
    expand::{Settings, expand},
    function::Function,
    keys,
    kind::PROMPT,
    tool::name_or_own,
};

pub(crate) fn prompt(attr: TokenStream, item: TokenStream) -> TokenStream {
    expand(&PROMPT, item, |function| settings(syn::parse2(attr)?, function))
}

fn settings(mut args: Args, function: &Function) -> Result<Settings> {
    args.check(keys::PROMPT)?;
    let krate = args.krate(quote!(::couplet))?;
    let key = name_or_own(args.text("name")?, function);
    if key.value().is_empty() {
        return Err(Error::new(key.span(), "the name of a prompt cannot be empty"));
    }
    let calls = keys::calls(&mut args, keys::PROMPT, function)?;
    Ok(Settings { krate, key: quote!(#key), calls })
}
