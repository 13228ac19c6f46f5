//! The expansion that all three attributes share.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Error, FnArg, Ident, ItemFn, Pat, Result, Type, ext::IdentExt, spanned::Spanned};

use crate::{
    function::{Function, is_associated},
    input::{self, Field},
    kind::Kind,
    param::{Param, has_impl},
};

/// The parsed arguments of an attribute.
pub(crate) struct Settings {
    /// The path of the facade.
    pub(crate) krate: TokenStream,
    /// The name or the URI: the first argument of the builder.
    pub(crate) key: TokenStream,
    /// The calls of the builder's setters.
    pub(crate) calls: TokenStream,
}

/// Expands an attribute. After an error there is still an item of that name, so that the error is the only one.
pub(crate) fn expand(
    kind: &Kind,
    item: TokenStream,
    settings: impl FnOnce(&Function) -> Result<Settings>,
) -> TokenStream {
    let item: ItemFn = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => {
            let what = format!("`#[{}]` goes on a function: {error}", kind.name);
            return Error::new(error.span(), what).into_compile_error();
        }
    };
    let stand_in = stand_in(kind, &item);
    let expanded = Function::new(kind, item).and_then(|function| {
        let settings = settings(&function)?;
        Ok(write(kind, &function, &settings))
    });
    expanded.unwrap_or_else(|error| {
        let error = error.into_compile_error();
        quote!(#error #stand_in)
    })
}

/// A placeholder that can be registered, in place of a function with mistakes.
fn stand_in(kind: &Kind, item: &ItemFn) -> TokenStream {
    if is_associated(&item.sig, &item.block) {
        return TokenStream::new();
    }
    let (vis, ident) = (&item.vis, &item.sig.ident);
    let [into_trait, into_fn, definition] =
        [kind.into_trait, kind.into_fn, kind.definition].map(|n| format_ident!("{n}"));
    quote! {
        #[allow(non_camel_case_types, missing_docs, dead_code)]
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #vis struct #ident {}
        #[allow(missing_docs, dead_code)]
        #vis fn #ident() -> #ident { #ident {} }
        impl<__S> ::couplet::server::#into_trait<__S> for #ident {
            fn #into_fn(self) -> ::couplet::server::#definition<__S> { ::core::unreachable!() }
        }
    }
}

/// Writes the struct that is registered, a function of its name that returns it (a variable can be named like a function,
/// but not like a unit struct), and in a scope of its own the function, which keeps its name there and can call itself.
fn write(kind: &Kind, function: &Function, settings: &Settings) -> TokenStream {
    let Function { cfgs, outer, inner, vis, sig, block, .. } = function;
    let ident = &sig.ident;
    let call = call(kind, function);
    let registration = registration(kind, function, settings);
    quote! {
        #(#cfgs)*
        #(#outer)*
        #[allow(non_camel_case_types)]
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #vis struct #ident {}

        #(#cfgs)*
        #(#outer)*
        #[allow(deprecated)]
        #vis fn #ident() -> #ident { #ident {} }

        #(#cfgs)*
        const _: () = {
            #[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
            #(#inner)*
            #sig #block

            #call
            #registration
        };
    }
}

/// The associated function `call`, by which the function can be called elsewhere.
fn call(kind: &Kind, function: &Function) -> TokenStream {
    let Function { vis, sig, .. } = function;
    let ident = &sig.ident;
    let about = format!("The function behind the {} `{}`.", kind.name, ident.unraw());
    let names: Vec<Ident> = sig.inputs.iter().enumerate().map(|(at, input)| name(at, input, ident)).collect();
    let types = sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(param) => Some(&param.ty),
        FnArg::Receiver(_) => None,
    });
    let (constness, asyncness, output) = (&sig.constness, &sig.asyncness, &sig.output);
    let awaited = asyncness.map(|_| quote!(.await));
    let call = Ident::new("call", ident.span());
    quote! {
        #[allow(deprecated)]
        impl #ident {
            #[doc = #about]
            #[allow(non_snake_case, clippy::too_many_arguments)]
            #vis #constness #asyncness fn #call(#(#names: #types),*) #output {
                #ident(#(#names),*) #awaited
            }
        }
    }
}

/// The name of a parameter of `call`: its own, unless that is a pattern or the function's name.
fn name(at: usize, input: &FnArg, function: &Ident) -> Ident {
    match input {
        FnArg::Typed(param) => match &*param.pat {
            Pat::Ident(pat) if pat.ident != *function && pat.subpat.is_none() => pat.ident.clone(),
            _ => format_ident!("__parameter{at}"),
        },
        FnArg::Receiver(_) => format_ident!("__parameter{at}"),
    }
}

/// The implementation of `IntoTool`, `IntoResource` or `IntoPrompt`.
///
/// Types of arguments and of the result are type parameters of the function that uses the builder. It is called with the
/// real types in one place, each with the span of the user's code: there the compiler reports the ones that do not fit,
/// once.
fn registration(kind: &Kind, function: &Function, settings: &Settings) -> TokenStream {
    let krate = &settings.krate;
    let [build, into_trait, into_fn, definition] =
        [kind.name, kind.into_trait, kind.into_fn, kind.definition].map(|name| format_ident!("{name}"));
    let fields = input::fields(function);
    let input = input::define(function, &fields, kind, krate);
    let generics = input::generics(&fields);
    let bounds = bounds(kind, function, &fields, krate);
    let states = states(function, krate);
    let (future, inferred, result) = match function.sig.asyncness {
        Some(_) => (Some(quote!(, __F)), Some(quote!(, _)), quote!(__F)),
        None => (None, None, quote!(__R)),
    };
    let params = function.params.iter().scan(fields.iter(), |fields, param| match param {
        Param::Argument(_) => fields.next().map(Field::ty),
        Param::Extractor { ty, .. } => Some(ty.to_token_stream()),
    });
    let types = fields.iter().filter(|field| field.generic.is_some()).map(|field| &field.argument.ty);
    let output = output(function);
    let ident = &function.sig.ident;
    let function_call = quote_spanned!(ident.span()=> #ident::call);
    let builder = builder(kind, function, settings, &fields);
    quote! {
        #input

        #[allow(deprecated)]
        fn __build<__S, #(#generics,)* __R #future>(
            __call: fn(#(#params),*) -> #result,
        ) -> #krate::server::#definition<__S>
        where
            __S: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static,
            #states
            #bounds
        {
            #krate::server::#into_trait::<__S>::#into_fn(#krate::server::#build #builder)
        }

        #[allow(deprecated)]
        impl<__S> #krate::server::#into_trait<__S> for #ident
        where
            __S: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static,
            #states
        {
            fn #into_fn(self) -> #krate::server::#definition<__S> {
                __build::<__S, #(#types,)* #output #inferred>(#function_call)
            }
        }
    }
}

/// The bounds of the types of arguments and of the result.
fn bounds(kind: &Kind, function: &Function, fields: &[Field<'_>], krate: &TokenStream) -> TokenStream {
    let generics = input::generics(fields);
    let schema = kind.lists_arguments.then(|| quote!(#krate::schemars::JsonSchema +));
    let reply = format_ident!("{}", kind.reply);
    let future = function
        .sig
        .asyncness
        .map(|_| quote!(__F: ::core::future::Future<Output = __R> + ::core::marker::Send + 'static,));
    quote! {
        #(#generics: for<'__de> #krate::serde::Deserialize<'__de> + #schema ::core::marker::Send + 'static,)*
        #future
        __R: #krate::server::reply::IntoReply<#krate::server::reply::#reply> + 'static,
    }
}

/// The bounds of the state, for the extractors.
fn states(function: &Function, krate: &TokenStream) -> TokenStream {
    let bound = |ty: &Type| {
        let krate = at(ty.span(), krate);
        quote_spanned!(ty.span()=> #ty: #krate::server::extract::FromCall<__S>,)
    };
    function.extractors().map(bound).collect()
}

/// The tokens with another span: errors about them are shown there.
fn at(span: Span, tokens: &TokenStream) -> TokenStream {
    let tokens = tokens.clone().into_iter().map(|mut token| {
        token.set_span(span);
        token
    });
    tokens.collect()
}

/// The type of the result, if it can be named.
fn output(function: &Function) -> TokenStream {
    match function.output() {
        Some(ty) if has_impl(ty) => quote!(_),
        Some(ty) => ty.to_token_stream(),
        None => quote_spanned!(function.sig.ident.span()=> ()),
    }
}

/// The rest of the builder's expression. All arguments are extracted at the place of the first one.
fn builder(kind: &Kind, function: &Function, settings: &Settings, fields: &[Field<'_>]) -> TokenStream {
    let Settings { krate, key, calls } = settings;
    let whole = format_ident!("{}", kind.whole);
    let generics = input::generics(fields);
    let (mut names, mut types, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for param in &function.params {
        match param {
            Param::Argument(argument) => {
                let (input, field) = (format_ident!("__input"), &argument.ident);
                values.push(quote!(#input.0.#field));
                if !names.contains(&input) {
                    names.push(input);
                    types.push(quote!(#krate::server::extract::#whole<__Input<#(#generics),*>>));
                }
            }
            Param::Extractor { ty, .. } => {
                let name = format_ident!("__extracted{}", names.len());
                values.push(name.to_token_stream());
                names.push(name);
                types.push(ty.to_token_stream());
            }
        }
    }
    let marker = format_ident!("{}", if function.sig.asyncness.is_some() { "Async" } else { "Plain" });
    let state = kind.builder_has_state.then(|| quote!(, __S));
    quote! {
        ::<_, (#krate::server::handler::#marker, #(#types,)*) #state>(
            #key,
            move |#(#names: #types),*| __call(#(#values),*),
        )
        #calls
    }
}
