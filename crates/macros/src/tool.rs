//! `#[tool]`.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Error, Expr, LitStr, Result, ext::IdentExt, spanned::Spanned};

use crate::{
    args::Args,
    expand::{Settings, expand},
    function::Function,
    kind::TOOL,
};

const KEYS: [&str; 16] = [
    "name",
    "title",
    "description",
    "read_only",
    "destructive",
    "idempotent",
    "open_world",
    "blocking",
    "timeout",
    "no_timeout",
    "icons",
    "meta",
    "output_schema",
    "scopes",
    "task",
    "crate",
];

pub(crate) fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    expand(&TOOL, item, |function| settings(syn::parse2(attr)?, function))
}

fn settings(mut args: Args, function: &Function) -> Result<Settings> {
    args.check(&KEYS)?;
    let krate = args.krate(quote!(::couplet))?;
    let name = args.text("name")?;
    let key = checked_name(name, function)?;
    let mut calls = described(&mut args, function)?;
    if args.flag("read_only")? {
        calls.extend(quote!(.read_only()));
    }
    if let Some(switch) = args.switch("destructive")? {
        calls.extend(quote!(.destructive(#switch)));
    }
    if args.flag("idempotent")? {
        calls.extend(quote!(.idempotent()));
    }
    if let Some(switch) = args.switch("open_world")? {
        calls.extend(quote!(.open_world(#switch)));
    }
    if args.flag("blocking")? {
        if let Some(word) = function.sig.asyncness {
            let why = "an `async` function cannot be `blocking`: leave out one of the two";
            return Err(Error::new(word.span, why));
        }
        calls.extend(quote!(.blocking()));
    }
    if args.flag("no_timeout")? {
        calls.extend(quote!(.no_timeout()));
    }
    for key in ["timeout", "icons", "meta", "output_schema"] {
        if let Some(value) = args.expr(key)? {
            let set = Ident::new(key, value.span());
            calls.extend(quote!(.#set(#value)));
        }
    }
    let scopes = args.words("scopes")?;
    if !scopes.is_empty() {
        calls.extend(quote!(.scopes([#(#scopes),*])));
    }
    if let Some(choice) = args.choice("task")? {
        let task = task(choice, &krate);
        calls.extend(quote!(.extension_data(#task)));
    }
    Ok(Settings { krate, key: quote!(#key), calls })
}

/// What a tool is told about tasks: a word, or an expression.
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

/// The calls that set the title and the description.
pub(crate) fn described(args: &mut Args, function: &Function) -> Result<TokenStream> {
    let title = args.expr("title")?.map(|title| quote!(.title(#title)));
    let given = args.expr("description")?.map(|text| quote!(#text));
    let description = given.or_else(|| function.description.clone()).map(|text| quote!(.description(#text)));
    Ok(quote!(#title #description))
}

/// The name that is given, or else the function's.
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
