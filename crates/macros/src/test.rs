//! `#[test]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Error, ItemFn, Result, ReturnType};

use crate::{args::Args, keys::Form};

/// The revisions, as they are written in Rust: names to pass on, because a macro cannot see `ProtocolVersion::ALL`. The
/// test below fails when one is missing here.
const REVISIONS: [&str; 5] = ["2024_11_05", "2025_03_26", "2025_06_18", "2025_11_25", "2026_07_28"];

pub(crate) fn test(attr: TokenStream, item: TokenStream) -> TokenStream {
    expand(attr, item).unwrap_or_else(Error::into_compile_error)
}

fn expand(attr: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let mut args: Args = syn::parse2(attr)?;
    args.check(&[("crate", Form::Special)])?;
    let testing = args.krate(quote!(::couplet_testing))?;
    let mut function: ItemFn = syn::parse2(item)?;
    if function.sig.asyncness.is_none() {
        return Err(Error::new(function.sig.fn_token.span, "the function is not `async`; `#[test]` alone runs it"));
    }
    // What says how a test is run belongs to the tests, not to the function.
    let is_run = |a: &Attribute| ["ignore", "should_panic", "cfg"].iter().any(|name| a.path().is_ident(name));
    let (run, rest): (Vec<_>, Vec<_>) = function.attrs.into_iter().partition(is_run);
    function.attrs = rest;
    match function.sig.inputs.len() {
        0 => Ok(once(&testing, &run, &function)),
        1 => Ok(each(&testing, &run, &function)),
        _ => Err(Error::new(function.sig.paren_token.span.join(), "a test takes the revision, or nothing")),
    }
}

fn once(testing: &TokenStream, run: &[Attribute], function: &ItemFn) -> TokenStream {
    let (name, output) = (&function.sig.ident, &function.sig.output);
    quote! {
        #(#run)*
        #[::core::prelude::v1::test]
        fn #name() #output {
            #function
            #testing::block_on(#name())
        }
    }
}

fn each(testing: &TokenStream, run: &[Attribute], function: &ItemFn) -> TokenStream {
    let name = &function.sig.ident;
    let cfgs: Vec<_> = run.iter().filter(|a| a.path().is_ident("cfg")).collect();
    let run = quote!(#(#run)*);
    // The result has to be named from inside the module, where the function's imports are not.
    let output = match &function.sig.output {
        ReturnType::Default => None,
        ReturnType::Type(..) => Some(quote!(-> impl ::std::process::Termination)),
    };
    let revisions = REVISIONS.map(|revision| format_ident!("V{revision}"));
    let tests = REVISIONS.map(|revision| format_ident!("v{revision}"));
    quote! {
        #(#cfgs)*
        #[cfg(test)]
        #function

        #(#cfgs)*
        #[cfg(test)]
        mod #name {
            #(
                #run
                #[::core::prelude::v1::test]
                fn #tests() #output {
                    #testing::block_on(super::#name(#testing::types::ProtocolVersion::#revisions))
                }
            )*
        }
    }
}

#[cfg(test)]
mod tests {
    use couplet_types::ProtocolVersion;

    #[test]
    fn all_revisions_are_here() {
        let known: Vec<_> = ProtocolVersion::ALL.iter().map(|version| version.as_str().replace('-', "_")).collect();
        assert_eq!(super::REVISIONS.to_vec(), known, "add the revision to `crates/macros/src/test.rs`");
    }
}
