//! The function under an attribute.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Block, Error, FnArg, ItemFn, Result, ReturnType, Safety, Signature, Type, Visibility};

use crate::{
    args, doc,
    kind::Kind,
    param::{Argument, Param},
};

/// The maximum number of parameters of a handler.
const MOST: usize = 8;

/// A parsed function, in the parts that its expansion needs.
pub(crate) struct Function {
    /// `#[cfg]`, for all items.
    pub(crate) cfgs: Vec<Attribute>,
    /// The attributes of the struct.
    pub(crate) outer: Vec<Attribute>,
    /// The attributes of the function itself.
    pub(crate) inner: Vec<Attribute>,
    pub(crate) description: Option<TokenStream>,
    pub(crate) vis: Visibility,
    /// The signature without the attributes of parameters that are ours.
    pub(crate) sig: Signature,
    pub(crate) block: Block,
    pub(crate) params: Vec<Param>,
}

impl Function {
    pub(crate) fn new(kind: &Kind, item: ItemFn) -> Result<Self> {
        let ItemFn { attrs, vis, mut sig, block, .. } = item;
        check(kind, &sig)?;
        if is_associated(&sig, &block) {
            let why = format!(
                "a {} is a function of its own, not one of a type: move it out of the `impl`, and write the type's name \
                 for `Self`",
                kind.name
            );
            return Err(Error::new_spanned(&sig.ident, why));
        }
        let description = doc::description(&attrs);
        let is = |attr: &Attribute, names: &[&str]| names.iter().any(|name| attr.path().is_ident(name));
        let (cfgs, rest): (Vec<_>, Vec<_>) = attrs.into_iter().partition(|a| is(a, &["cfg"]));
        let outer = rest.iter().filter(|a| is(a, &["doc", "deprecated", "allow", "warn", "deny"])).cloned().collect();
        let inner = rest.into_iter().filter(|a| !is(a, &["doc", "deprecated"])).collect();
        let params = params(kind, &mut sig)?;
        Ok(Self { cfgs, outer, inner, description, vis, sig, block: *block, params })
    }

    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.params.iter().filter_map(|param| match param {
            Param::Argument(argument) => Some(argument),
            Param::Extractor { .. } => None,
        })
    }

    pub(crate) fn extractors(&self) -> impl Iterator<Item = &Type> {
        self.params.iter().filter_map(|param| match param {
            Param::Extractor { ty, .. } => Some(ty),
            Param::Argument(_) => None,
        })
    }

    /// Whether one parameter extracts all arguments, so that their names are not known here.
    pub(crate) fn takes_whole(&self) -> bool {
        self.params.iter().any(|param| matches!(param, Param::Extractor { is_whole: true, .. }))
    }

    /// The type of the result, if there is one.
    pub(crate) fn output(&self) -> Option<&Type> {
        match &self.sig.output {
            ReturnType::Type(_, ty) => Some(ty),
            ReturnType::Default => None,
        }
    }
}

/// Whether the function can only be one of an `impl`, as far as a macro can see.
pub(crate) fn is_associated(sig: &Signature, block: &Block) -> bool {
    let own = |tokens| crate::param::has_self(tokens);
    // The body may have an `impl` with a `Self` of its own.
    let has_impl = block.to_token_stream().to_string().contains("impl ");
    sig.receiver().is_some() || own(sig.to_token_stream()) || (!has_impl && own(block.to_token_stream()))
}

/// Rejects functions that a client cannot call.
fn check(kind: &Kind, sig: &Signature) -> Result<()> {
    let name = kind.name;
    let fault = |at: &dyn ToTokens, what: &str| Some(Error::new_spanned(at, format!("a {name} {what}")));
    args::all(
        [
            sig.receiver().and_then(|r| {
                fault(&r.self_token, "is a function, not a method; take the data of `self` as `State<T>`")
            }),
            (!sig.generics.params.is_empty())
                .then(|| fault(&sig.generics, "cannot be generic: clients call it by name, with JSON"))
                .flatten(),
            sig.generics.where_clause.as_ref().and_then(|w| fault(w, "cannot be generic, so it has no `where`")),
            (!matches!(sig.safety, Safety::Default)).then(|| fault(&sig.safety, "cannot be `unsafe`")).flatten(),
            sig.abi.as_ref().and_then(|abi| fault(abi, "is a Rust function, not an `extern` one")),
            sig.variadic.as_ref().and_then(|v| fault(v, "cannot be variadic; take a `Vec<T>`")),
        ]
        .into_iter()
        .flatten(),
    )
}

fn params(kind: &Kind, sig: &mut Signature) -> Result<Vec<Param>> {
    let mut faults = Vec::new();
    let mut params = Vec::new();
    for input in &mut sig.inputs {
        let FnArg::Typed(param) = input else { continue };
        match Param::take(param, kind) {
            Ok(Param::Extractor { ty, .. }) if matches!(ty, Type::Reference(_)) || crate::param::has_impl(&ty) => {
                faults.push(Error::new_spanned(ty, "an extractor is taken by value"));
            }
            Ok(taken) => params.push((param.ty.clone(), taken)),
            Err(fault) => faults.push(fault),
        }
    }
    let whole = |(_, param): &&_| matches!(param, Param::Extractor { is_whole: true, .. });
    let is_argument = |(_, param): &&_| matches!(param, Param::Argument(_));
    if let (Some(_), Some((ty, _))) =
        (params.iter().find(whole), params.iter().find(is_argument).or(params.iter().filter(whole).nth(1)))
    {
        let why = format!("`{0}` takes all arguments already; drop this one, or write all without `{0}`", kind.whole);
        faults.push(Error::new_spanned(ty, why));
    }
    let extractors = params.iter().filter(|p| !is_argument(p)).count();
    if extractors + usize::from(params.iter().any(|p| is_argument(&p))) > MOST {
        faults.push(Error::new_spanned(
            &sig.inputs,
            "too many parameters: at most 8 extractors, where all arguments together count as one",
        ));
    }
    args::all(faults)?;
    Ok(params.into_iter().map(|(_, param)| param).collect())
}
