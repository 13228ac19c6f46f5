//! `#[resource]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Error, LitStr, Result, Token,
    parse::{Parse, ParseStream},
};

use crate::{
    args::{self, Args},
    expand::{Settings, expand},
    function::Function,
    keys,
    kind::RESOURCE,
    template,
    tool::name_or_own,
};

pub(crate) fn resource(attr: TokenStream, item: TokenStream) -> TokenStream {
    expand(&RESOURCE, item, |function| settings(syn::parse2(attr)?, function))
}

/// The URI, and the rest.
struct ResourceArgs {
    uri: LitStr,
    rest: Args,
}

impl Parse for ResourceArgs {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if !input.peek(LitStr) {
            return Err(Error::new(input.span(), "the URI comes first: `#[resource(\"notes://{id}\")]`"));
        }
        let uri = input.parse()?;
        let rest = match input.parse::<Option<Token![,]>>()? {
            Some(_) => input.parse()?,
            None if input.is_empty() => Args::default(),
            None => return Err(input.error("expected `,`")),
        };
        Ok(Self { uri, rest })
    }
}

fn settings(ResourceArgs { uri, mut rest }: ResourceArgs, function: &Function) -> Result<Settings> {
    rest.check(keys::RESOURCE)?;
    check_template(&uri, function)?;
    let krate = rest.krate(quote!(::couplet))?;
    let name = name_or_own(rest.text("name")?, function);
    let calls = keys::calls(&mut rest, keys::RESOURCE, function)?;
    Ok(Settings { krate, key: quote!(#uri), calls: quote!(.name(#name) #calls) })
}

/// The template and the parameters have to name the same variables.
fn check_template(uri: &LitStr, function: &Function) -> Result<()> {
    let text = uri.value();
    let variables =
        template::variables(&text).map_err(|e| Error::new(uri.span(), format!("this is not a URI template: {e}")))?;
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(letter) {
        return Err(Error::new(uri.span(), "a URI begins with a scheme, as in `notes://today`"));
    }
    if function.takes_whole() {
        return Ok(());
    }
    let missing = variables
        .iter()
        .filter(|v| !function.arguments().any(|a| a.name() == **v))
        .map(|v| Error::new(uri.span(), format!("the template has `{{{v}}}`, but no parameter is called `{v}`")));
    let unmatched = function.arguments().filter(|a| !variables.contains(&a.name())).map(|a| {
        let name = a.name();
        let why = format!("the template has no `{{{name}}}`; if this is an extractor, write `#[extract]` before it");
        Error::new(a.ident.span(), why)
    });
    args::all(missing.chain(unmatched))
}
