//! The struct that the arguments are deserialized into.
//!
//! An argument without attributes has a type parameter there. So the derives cannot fail, and a type that cannot be an
//! argument is reported in one place only, by [`crate::expand`].

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Expr, ExprLit, Ident, Lit, LitStr, ext::IdentExt, spanned::Spanned};

use crate::{
    function::Function,
    kind::Kind,
    param::{Argument, Fallback},
};

/// A field of the struct, and the parameter it is for.
pub(crate) struct Field<'f> {
    pub(crate) argument: &'f Argument,
    /// The type parameter, if it has one.
    pub(crate) generic: Option<Ident>,
}

impl Field<'_> {
    /// The type, as written inside of the generic function.
    pub(crate) fn ty(&self) -> TokenStream {
        self.generic.as_ref().map_or_else(|| self.argument.ty.to_token_stream(), ToTokens::to_token_stream)
    }
}

pub(crate) fn fields(function: &Function) -> Vec<Field<'_>> {
    let generic = |at, argument: &Argument| argument.is_plain().then(|| format_ident!("__A{at}"));
    let fields = function.arguments().enumerate();
    fields.map(|(at, argument)| Field { argument, generic: generic(at, argument) }).collect()
}

/// The definition of the struct, and of the functions that return defaults.
pub(crate) fn define(function: &Function, fields: &[Field<'_>], kind: &Kind, krate: &TokenStream) -> TokenStream {
    if fields.is_empty() {
        return TokenStream::new();
    }
    let serde = literal(&quote!(#krate::serde));
    let schema = kind.lists_arguments.then(|| {
        let schemars = literal(&quote!(#krate::schemars));
        let title = function.sig.ident.unraw().to_string();
        quote!(#[derive(#krate::schemars::JsonSchema)] #[schemars(crate = #schemars, rename = #title)])
    });
    let generics = generics(fields);
    let members = fields.iter().map(|field| {
        let Argument { ident, attrs, default, .. } = field.argument;
        // Only a schema has descriptions; without one a doc comment would be unused.
        let attrs = attrs.iter().filter(|a| kind.lists_arguments || a.path().is_ident("serde"));
        let default = default.as_ref().map(|default| match default {
            Fallback::OfType => quote!(#[serde(default)]),
            Fallback::Is(_) => {
                let path = default_fn(ident).to_string();
                quote!(#[serde(default = #path)])
            }
        });
        let ty = field.ty();
        quote!(#(#attrs)* #default #ident: #ty)
    });
    let defaults = fields.iter().filter_map(|field| define_default(field.argument));
    quote! {
        #[derive(#krate::serde::Deserialize)]
        #[serde(crate = #serde)]
        #schema
        #[allow(non_snake_case)]
        struct __Input<#(#generics),*> { #(#members),* }
        #(#defaults)*
    }
}

pub(crate) fn generics<'f>(fields: &'f [Field<'_>]) -> Vec<&'f Ident> {
    fields.iter().filter_map(|field| field.generic.as_ref()).collect()
}

fn define_default(argument: &Argument) -> Option<TokenStream> {
    let Some(Fallback::Is(expr)) = &argument.default else { return None };
    let (name, ty) = (default_fn(&argument.ident), &argument.ty);
    // A string literal is a `&str`, and arguments are owned.
    let value = match &**expr {
        Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => {
            quote_spanned!(expr.span()=> ::core::convert::From::from(#expr))
        }
        _ => expr.to_token_stream(),
    };
    Some(quote! {
        #[allow(non_snake_case)]
        fn #name() -> #ty { #value }
    })
}

fn default_fn(ident: &Ident) -> Ident {
    format_ident!("__default_{}", ident.unraw(), span = Span::call_site())
}

/// A path as the string literal that serde and schemars expect.
fn literal(path: &TokenStream) -> LitStr {
    let text: String = path.to_string().chars().filter(|c| !c.is_whitespace()).collect();
    LitStr::new(&text, Span::call_site())
}
