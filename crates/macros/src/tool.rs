//! `#[tool]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Expr, LitStr, Result, ext::IdentExt};

use crate::{
    args::Args,
    expand::{Settings, expand},
    function::Function,
    keys,
    kind::TOOL,
};

pub(crate) fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    expand(&TOOL, item, |function| settings(syn::parse2(attr)?, function))
}

fn settings(mut args: Args, function: &Function) -> Result<Settings> {
    args.check(keys::TOOL)?;
    let krate = args.krate(quote!(::couplet))?;
    let name = args.text("name")?;
    let key = checked_name(name, function)?;
    if let (Some(word), true) = (function.sig.asyncness, args.has("blocking")) {
        let why = "an `async` function cannot be `blocking`: leave out one of the two";
        return Err(Error::new(word.span, why));
    }
    let mut calls = keys::calls(&mut args, keys::TOOL, function)?;
    if let Some(choice) = args.choice("task")? {
        let task = task(choice, &krate);
        calls.extend(quote!(.extension_data(#task)));
    }
    Ok(Settings { krate, key: quote!(#key), calls })
}

/// The extension data for tasks: a word, or an expression.
fn task(choice: Option<Expr>, krate: &TokenStream) -> TokenStream {
    let task = quote!(#krate::tasks::Task);
    match choice {
        None => quote!(#task::optional()),
        Some(Expr::Path(word)) if word.path.is_ident("optional") || word.path.is_ident("required") => {
            quote!(#task::#word())
        }
        Some(expr) => quote!(#expr),
    }
}

/// The given name, or else the function's.
pub(crate) fn name_or_own(name: Option<LitStr>, function: &Function) -> LitStr {
    let own = &function.sig.ident;
    name.unwrap_or_else(|| LitStr::new(&own.unraw().to_string(), own.span()))
}

fn checked_name(name: Option<LitStr>, function: &Function) -> Result<LitStr> {
    let given = name.is_some();
    let name = name_or_own(name, function);
    let text = name.value();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if (1..=128).contains(&text.len()) && text.chars().all(allowed) {
        return Ok(name);
    }
    let rule = "a tool name has 1 to 128 letters (a to z, A to Z), digits, `_`, `-` and `.`";
    let hint = if given { "" } else { "; give it another: `#[tool(name = \"…\")]`" };
    Err(Error::new(name.span(), format!("{rule}{hint}")))
}
