//! One parameter: an argument of the call, or an extractor.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, Error, Expr, GenericArgument, Ident, LitStr, Meta, Pat, PatIdent, PatType, PathArguments, Result, Token,
    Type, ext::IdentExt,
};

use crate::kind::Kind;

/// The extractors that are recognized by name; others are marked with `#[extract]`.
const EXTRACTORS: [&str; 9] = ["State", "Auth", "Ctx", "Args", "RawArgs", "Path", "Uri", "Meta", "Completing"];

/// The extractors with a type parameter.
const GENERIC: [&str; 4] = ["State", "Auth", "Args", "Path"];

pub(crate) enum Param {
    Argument(Argument),
    Extractor { ty: Type, is_whole: bool },
}

/// A parameter whose value the client sends.
pub(crate) struct Argument {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    /// The attributes of the field: doc comments, `#[serde(..)]` and `#[schemars(..)]`.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) default: Option<Fallback>,
}

/// The value of an argument that the client omits.
pub(crate) enum Fallback {
    OfType,
    Is(Box<Expr>),
}

impl Param {
    /// Parses a parameter, and removes the attributes that a function cannot have.
    pub(crate) fn take(param: &mut PatType, kind: &Kind) -> Result<Self> {
        let (ours, kept) = std::mem::take(&mut param.attrs).into_iter().partition(is_ours);
        param.attrs = kept;
        refuse_cfg(&param.attrs)?;
        let marked = ours.iter().any(|attr: &Attribute| attr.path().is_ident("extract"));
        match extractor(&param.ty) {
            Some(name) if !marked => {
                if let Some((_, why)) = kind.misplaced.iter().find(|(refused, _)| *refused == name) {
                    return Err(Error::new_spanned(&param.ty, why));
                }
                plain_extractor(&ours)?;
                Ok(Self::Extractor { ty: (*param.ty).clone(), is_whole: name == kind.whole })
            }
            _ if marked => {
                plain_extractor(&ours)?;
                Ok(Self::Extractor { ty: (*param.ty).clone(), is_whole: false })
            }
            _ => Argument::new(param, ours).map(Self::Argument),
        }
    }
}

impl Argument {
    fn new(param: &PatType, attrs: Vec<Attribute>) -> Result<Self> {
        let ident = match &*param.pat {
            Pat::Ident(PatIdent { ident, by_ref: None, subpat: None, .. }) => ident.clone(),
            pat => {
                let why = "an argument needs a name; if this is an extractor, write `#[extract]` before it";
                return Err(Error::new_spanned(pat, why));
            }
        };
        owned(&param.ty)?;
        let (defaults, attrs): (Vec<_>, Vec<_>) = attrs.into_iter().partition(|a| a.path().is_ident("default"));
        let default = match defaults.as_slice() {
            [] => None,
            [default] => Some(Fallback::new(default)?),
            [_, second, ..] => return Err(Error::new_spanned(second, "there is a default already")),
        };
        Ok(Self { ident, ty: (*param.ty).clone(), attrs, default })
    }

    /// The name that clients use.
    pub(crate) fn name(&self) -> String {
        let renamed = self.attrs.iter().filter(|a| a.path().is_ident("serde")).find_map(renamed);
        renamed.unwrap_or_else(|| self.ident.unraw().to_string())
    }

    /// Whether only its type determines how it is deserialized.
    pub(crate) fn is_plain(&self) -> bool {
        self.default.is_none() && self.attrs.iter().all(|a| a.path().is_ident("doc"))
    }
}

impl Fallback {
    fn new(attr: &Attribute) -> Result<Self> {
        match &attr.meta {
            Meta::Path(_) => Ok(Self::OfType),
            Meta::List(list) => Ok(Self::Is(Box::new(list.parse_args()?))),
            Meta::NameValue(_) => Err(Error::new_spanned(attr, "write the default in parentheses: `#[default(1)]`")),
        }
    }
}

/// Whether the tokens mention `Self`.
pub(crate) fn has_self(tokens: TokenStream) -> bool {
    mentions(tokens, &|token| matches!(token, TokenTree::Ident(word) if word == "Self"))
}

/// Whether the type mentions `impl Trait`.
pub(crate) fn has_impl(ty: &Type) -> bool {
    mentions(ty.to_token_stream(), &|token| matches!(token, TokenTree::Ident(word) if word == "impl"))
}

fn is_ours(attr: &Attribute) -> bool {
    ["doc", "serde", "schemars", "default", "extract"].iter().any(|name| attr.path().is_ident(name))
}

fn refuse_cfg(attrs: &[Attribute]) -> Result<()> {
    match attrs.iter().find(|a| a.path().is_ident("cfg") || a.path().is_ident("cfg_attr")) {
        Some(cfg) => Err(Error::new_spanned(cfg, "a parameter cannot depend on `cfg`; write the function twice")),
        None => Ok(()),
    }
}

/// The name of the extractor that a type is, also in an `Option`. A generic extractor without its parameter is none: a
/// type of the user's own that is called `State` is an argument.
fn extractor(ty: &Type) -> Option<&'static str> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if last.ident != "Option" {
        let name = EXTRACTORS.into_iter().find(|name| last.ident == name)?;
        return (!GENERIC.contains(&name) || !last.arguments.is_empty()).then_some(name);
    }
    match &last.arguments {
        PathArguments::AngleBracketed(inner) => match inner.args.first()? {
            GenericArgument::Type(inner) => extractor(inner),
            _ => None,
        },
        _ => None,
    }
}

/// Rejects attributes of arguments on an extractor.
fn plain_extractor(attrs: &[Attribute]) -> Result<()> {
    match attrs.iter().find(|a| !a.path().is_ident("doc") && !a.path().is_ident("extract")) {
        Some(attr) => Err(Error::new_spanned(attr, "this parameter is an extractor; only arguments can have this")),
        None => Ok(()),
    }
}

fn owned(ty: &Type) -> Result<()> {
    if has_impl(ty) {
        return Err(Error::new_spanned(ty, "an argument needs a type of its own, not `impl Trait`"));
    }
    if !mentions(ty.to_token_stream(), &|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == '&')) {
        return Ok(());
    }
    let inner = match ty {
        Type::Reference(reference) => reference.elem.to_token_stream().to_string(),
        _ => String::new(),
    };
    let instead = match (inner.as_str(), ty) {
        ("str", _) => "take `String`".to_owned(),
        (_, Type::Reference(reference)) => match &*reference.elem {
            Type::Slice(slice) => format!("take `Vec<{}>`", slice.elem.to_token_stream()),
            _ => format!("take `{inner}`"),
        },
        _ => "take a type without references".to_owned(),
    };
    Err(Error::new_spanned(ty, format!("{instead}: arguments are owned")))
}

fn mentions(tokens: TokenStream, wanted: &dyn Fn(&TokenTree) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mentions(group.stream(), wanted),
        token => wanted(&token),
    })
}

/// The name in `#[serde(rename = "name")]`. Mistakes are left to serde, which sees the attribute too.
fn renamed(attr: &Attribute) -> Option<String> {
    let mut name = None;
    let _ = attr.parse_nested_meta(|meta| {
        if meta.path.is_ident("rename") && meta.input.peek(Token![=]) {
            name = Some(meta.value()?.parse::<LitStr>()?.value());
        } else if meta.input.peek(Token![=]) {
            meta.value()?.parse::<Expr>()?;
        } else if meta.input.peek(syn::token::Paren) {
            meta.input.parse::<TokenTree>()?;
        }
        Ok(())
    });
    name
}
