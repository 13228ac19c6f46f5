//! `src/table/types.txt` is what the Rust types say, and the table agrees with it.
//!
//! `UPDATE_GOLDEN=1 cargo test -p couplet-vocab` rewrites the file.

use std::{fmt::Write, fs, path::Path};

use syn::{
    Attribute, Expr, ExprLit, Fields, Ident, Item, ItemEnum, ItemStruct, Lit, LitStr, Meta, Token, Type, braced,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
};

/// Definitions whose name is neither that of the type nor an alias in its documentation.
const MORE_NAMES: &[(&str, &str)] = &[
    ("CancelTaskParams", "CancelTaskRequestParams"),
    ("ElicitationCompleteParams", "ElicitationCompleteNotificationParams"),
    ("EmptyResult", "Result"),
    ("GetTaskParams", "GetTaskRequestParams"),
    ("GetTaskPayloadParams", "GetTaskPayloadRequestParams"),
    ("PingParams", "RequestParams"),
    ("Resource", "ResourceLink"),
    ("RpcError", "Error"),
    ("TaskRequestsCapability", "ClientTaskRequestsCapability"),
    ("TaskRequestsCapability", "ServerTaskRequestsCapability"),
    ("TasksCapability", "ClientTasksCapability"),
    ("TasksCapability", "ServerTasksCapability"),
];

const HEAD: &str = "\
# The Rust types as data, written by a test from their source (`tests/vocab/types.rs`). Do not edit.
#
#   Type Alias : what it is
#     member? Kind : what it is
#   Type = value | value : what it is
";

#[test]
fn the_file_is_what_the_types_say() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../types/src");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/table/types.txt");
    let mut paths: Vec<_> = fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut out = HEAD.to_owned();
    for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "rs")) {
        let items = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap().items;
        items.iter().for_each(|item| print_item(item, &mut out));
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|v| v == "1") {
        fs::write(&file, &out).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let changed = out.lines().zip(kept.lines()).find(|(new, old)| new != old);
    assert!(kept == out, "the types have changed ({changed:?}): run the tests with UPDATE_GOLDEN=1, then the table");
}

fn print_item(item: &Item, out: &mut String) {
    match item {
        Item::Struct(item) if matches!(item.vis, syn::Visibility::Public(_)) => print_struct(item, out),
        Item::Enum(item) if matches!(item.vis, syn::Visibility::Public(_)) => print_enum(item, out),
        Item::Macro(item) => {
            let name = item.mac.path.get_ident().map(ToString::to_string).unwrap_or_default();
            match name.as_str() {
                "capability" => print_capability(&item.mac.parse_body().unwrap(), out),
                "open_strings" => print_strings(&item.mac.parse_body().unwrap(), out),
                "task_params" => print_task_params(&item.mac.parse_body().unwrap(), out),
                _ => {}
            }
        }
        _ => {}
    }
}

/// A structure with named members that go over the wire as they are.
fn print_struct(item: &ItemStruct, out: &mut String) {
    let Fields::Named(fields) = &item.fields else { return };
    if !derives(&item.attrs, "Deserialize") {
        return;
    }
    print_name(&item.ident, &item.attrs, out);
    for field in &fields.named {
        let ident = field.ident.as_ref().unwrap();
        print_member(ident, &field.attrs, &field.ty, out);
    }
}

fn print_capability(capability: &Block<Member>, out: &mut String) {
    print_name(&capability.name, &capability.attrs, out);
    for member in &capability.members {
        let ty = kind(&member.ty);
        writeln!(out, "  {}? {ty} : {}", camel(&member.name.to_string()), words(&member.attrs)).unwrap();
    }
}

fn print_strings(strings: &Block<Value>, out: &mut String) {
    let values: Vec<_> = strings.members.iter().map(|v| v.text.value()).collect();
    writeln!(out, "{} = {} : {}", strings.name, values.join(" | "), words(&strings.attrs)).unwrap();
}

/// The macro says what members these have.
fn print_task_params(params: &Names, out: &mut String) {
    for (attrs, name) in &params.0 {
        print_name(name, attrs, out);
        writeln!(out, "  taskId String : Names the task.\n  _meta? Meta : The open `_meta` map.").unwrap();
    }
}

/// An enumeration of plain words.
fn print_enum(item: &ItemEnum, out: &mut String) {
    let is_plain = item.variants.iter().all(|v| v.fields.is_empty());
    let Some(case) = serde_text(&item.attrs, "rename_all").filter(|_| is_plain) else { return };
    let rename = |ident: &Ident| match case.as_str() {
        "lowercase" => ident.to_string().to_lowercase(),
        "snake_case" => snake(&ident.to_string()),
        "camelCase" => camel(&snake(&ident.to_string())),
        other => panic!("the case `{other}` is not known here"),
    };
    let values: Vec<_> = item.variants.iter().map(|v| rename(&v.ident)).collect();
    writeln!(out, "{} = {} : {}", item.ident, values.join(" | "), words(&item.attrs)).unwrap();
}

fn print_name(ident: &Ident, attrs: &[Attribute], out: &mut String) {
    let name = ident.to_string();
    let more = MORE_NAMES.iter().filter(|(rust, _)| *rust == name).map(|(_, more)| (*more).into());
    let names: Vec<String> = [name.clone()].into_iter().chain(aliases(attrs)).chain(more).collect();
    writeln!(out, "{} : {}", names.join(" "), words(attrs)).unwrap();
}

fn print_member(ident: &Ident, attrs: &[Attribute], ty: &Type, out: &mut String) {
    let name = serde_text(attrs, "rename").unwrap_or_else(|| camel(&ident.to_string()));
    let kind = kind(ty);
    let kind =
        kind.strip_prefix("Option<").and_then(|k| k.strip_suffix('>')).map(|k| (true, k)).unwrap_or((false, &kind));
    // `null` stands for nothing where the member has to be there.
    let is_null = serde_text(attrs, "deserialize_with").is_some_and(|with| with == "Option::deserialize");
    let (mark, null) = match (kind.0, is_null) {
        (true, false) => ("?", ""),
        (_, true) => ("", " or null"),
        _ => ("", ""),
    };
    writeln!(out, "  {name}{mark} {}{null} : {}", kind.1, words(attrs)).unwrap();
}

/// `Name { members }` inside of a macro, with attributes in front.
struct Block<M> {
    attrs: Vec<Attribute>,
    name: Ident,
    members: Punctuated<M, Token![,]>,
}

impl<M: Parse> Parse for Block<M> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let name = input.parse()?;
        let inner;
        braced!(inner in input);
        Ok(Self { attrs, name, members: Punctuated::parse_terminated(&inner)? })
    }
}

struct Member {
    attrs: Vec<Attribute>,
    name: Ident,
    ty: Type,
}

impl Parse for Member {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        Ok(Self { attrs, name, ty: input.parse()? })
    }
}

struct Value {
    text: LitStr,
}

impl Parse for Value {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.call(Attribute::parse_outer)?;
        input.parse::<Ident>()?;
        input.parse::<Token![=]>()?;
        Ok(Self { text: input.parse()? })
    }
}

/// Names with commas between them, and attributes in front of each.
struct Names(Vec<(Vec<Attribute>, Ident)>);

impl Parse for Names {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut names = Vec::new();
        while !input.is_empty() {
            names.push((input.call(Attribute::parse_outer)?, input.parse()?));
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(Self(names))
    }
}

/// The first paragraph of the documentation, in one line.
fn words(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter_map(|a| match &a.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => literal(&pair.value),
        _ => None,
    });
    let first: Vec<_> = lines.map(|l| l.trim().to_owned()).take_while(|l| !l.is_empty()).collect();
    first.join(" ")
}

fn literal(value: &Expr) -> Option<String> {
    if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value { Some(text.value()) } else { None }
}

fn derives(attrs: &[Attribute], what: &str) -> bool {
    attrs.iter().filter(|a| a.path().is_ident("derive")).any(|a| {
        let paths = a.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated).unwrap();
        paths.iter().any(|p| p.is_ident(what))
    })
}

/// The names under which a type is found in the documentation.
fn aliases(attrs: &[Attribute]) -> Vec<String> {
    let names = attrs.iter().filter(|a| a.path().is_ident("doc")).filter_map(|a| named_text(a, "alias"));
    // The data of an error is found under the error's name, which is another definition.
    names.filter(|name| !name.ends_with("Error")).collect()
}

/// The value of `name = "value"` in an attribute of serde's.
fn serde_text(attrs: &[Attribute], name: &str) -> Option<String> {
    attrs.iter().filter(|a| a.path().is_ident("serde")).find_map(|a| named_text(a, name))
}

fn named_text(attr: &Attribute, name: &str) -> Option<String> {
    let list = attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
    list.iter().find_map(|meta| match meta {
        Meta::NameValue(pair) if pair.path.is_ident(name) => literal(&pair.value),
        _ => None,
    })
}

/// A type without paths and spaces: `Option<Vec<Role>>`.
fn kind(ty: &Type) -> String {
    let Type::Path(path) = ty else { panic!("a member is not of a named type") };
    let last = path.path.segments.last().unwrap();
    match &last.arguments {
        syn::PathArguments::AngleBracketed(inner) => {
            let inner = inner.args.iter().map(|a| match a {
                syn::GenericArgument::Type(ty) => kind(ty),
                _ => panic!("a member has a type with something else inside"),
            });
            format!("{}<{}>", last.ident, inner.collect::<Vec<_>>().join(","))
        }
        _ => last.ident.to_string(),
    }
}

fn camel(snake: &str) -> String {
    let mut words = snake.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| all + &word[..1].to_uppercase() + &word[1..])
}

fn snake(pascal: &str) -> String {
    let mut out = String::new();
    for (at, c) in pascal.char_indices() {
        if c.is_uppercase() && at > 0 {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}
