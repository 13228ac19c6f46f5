//! The arguments of an attribute: `name = "add", read_only, complete(n = squares)`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{
    Error, Expr, ExprLit, Ident, Lit, LitStr, Path, Result, Token,
    ext::IdentExt,
    parenthesized,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
    token::Paren,
};

use crate::keys::Keys;

/// The entries of an attribute; each is taken once.
#[derive(Default)]
pub(crate) struct Args(Vec<Entry>);

struct Entry {
    key: Ident,
    value: Value,
}

enum Value {
    Flag,
    Expr(Expr),
    List(Punctuated<Pair, Token![,]>),
    Words(Punctuated<Expr, Token![,]>),
}

/// `key = value` in a list.
pub(crate) struct Pair {
    pub(crate) key: Ident,
    pub(crate) value: Expr,
}

impl Args {
    /// Rejects unknown and duplicate keys.
    pub(crate) fn check(&self, keys: &Keys) -> Result<()> {
        let known: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
        let faults = self.0.iter().enumerate().filter_map(|(at, Entry { key, .. })| {
            let name = key.to_string();
            if !known.contains(&name.as_str()) {
                return Some(Error::new(key.span(), unknown(&name, &known)));
            }
            let earlier = self.0.iter().take(at).any(|e| e.key == *key);
            earlier.then(|| Error::new(key.span(), format!("`{name}` is given twice")))
        });
        all(faults)
    }

    /// `key = "text"`, a literal.
    pub(crate) fn text(&mut self, key: &str) -> Result<Option<LitStr>> {
        match self.take(key) {
            None => Ok(None),
            Some((_, Value::Expr(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })))) => Ok(Some(text)),
            Some((span, _)) => Err(Error::new(span, format!("`{key}` needs a string literal: `{key} = \"…\"`"))),
        }
    }

    /// `key = expression`.
    pub(crate) fn expr(&mut self, key: &str) -> Result<Option<Expr>> {
        match self.take(key) {
            None => Ok(None),
            Some((_, Value::Expr(expr))) => Ok(Some(expr)),
            Some((span, _)) => Err(Error::new(span, format!("`{key}` needs a value: `{key} = …`"))),
        }
    }

    /// `key`, without a value.
    pub(crate) fn flag(&mut self, key: &str) -> Result<bool> {
        match self.take(key) {
            None => Ok(false),
            Some((_, Value::Flag)) => Ok(true),
            Some((span, _)) => Err(Error::new(span, format!("`{key}` takes no value; leave it out instead"))),
        }
    }

    /// `key`, or `key = true` or `key = false`.
    pub(crate) fn switch(&mut self, key: &str) -> Result<Option<TokenStream>> {
        match self.take(key) {
            None => Ok(None),
            Some((_, Value::Flag)) => Ok(Some(quote!(true))),
            Some((_, Value::Expr(Expr::Lit(ExprLit { lit: Lit::Bool(switch), .. })))) => {
                Ok(Some(switch.to_token_stream()))
            }
            Some((span, _)) => Err(Error::new(span, format!("write `{key}` or `{key} = false`"))),
        }
    }

    /// `key`, or `key = expression`.
    pub(crate) fn choice(&mut self, key: &str) -> Result<Option<Option<Expr>>> {
        match self.take(key) {
            None => Ok(None),
            Some((_, Value::Flag)) => Ok(Some(None)),
            Some((_, Value::Expr(expr))) => Ok(Some(Some(expr))),
            Some((span, _)) => Err(Error::new(span, format!("write `{key}` or `{key} = …`"))),
        }
    }

    /// `key(a = x, b = y)`.
    pub(crate) fn pairs(&mut self, key: &str) -> Result<Vec<Pair>> {
        match self.take(key) {
            None => Ok(Vec::new()),
            Some((_, Value::List(pairs))) => Ok(pairs.into_iter().collect()),
            Some((span, _)) => Err(Error::new(span, format!("write `{key}(parameter = …)`"))),
        }
    }

    /// `key = ["a", "b"]`, `key = expression` or `key("a", "b")`, as one expression.
    pub(crate) fn array(&mut self, key: &str) -> Result<Option<TokenStream>> {
        match self.take(key) {
            None => Ok(None),
            Some((_, Value::Words(words))) if !words.is_empty() => Ok(Some(quote!([#words]))),
            Some((_, Value::Expr(list))) if !matches!(list, Expr::Lit(_)) && !is_empty_array(&list) => {
                Ok(Some(list.into_token_stream()))
            }
            Some((span, _)) => Err(Error::new(span, format!("write `{key} = [\"…\"]`, with one or more"))),
        }
    }

    /// `key = a` or `key(a, b)`.
    pub(crate) fn each(&mut self, key: &str) -> Result<Vec<Expr>> {
        match self.take(key) {
            None => Ok(Vec::new()),
            Some((_, Value::Expr(expr))) => Ok(vec![expr]),
            Some((_, Value::Words(words))) if !words.is_empty() => Ok(words.into_iter().collect()),
            Some((span, _)) => Err(Error::new(span, format!("write `{key} = …` or `{key}(…, …)`"))),
        }
    }

    /// Whether a key is given.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|entry| entry.key == key)
    }

    /// `crate = "path"`: the path of the facade.
    pub(crate) fn krate(&mut self, default: TokenStream) -> Result<TokenStream> {
        match self.text("crate")? {
            Some(path) => Ok(path.parse::<Path>()?.to_token_stream()),
            None => Ok(default),
        }
    }

    fn take(&mut self, key: &str) -> Option<(Span, Value)> {
        let at = self.0.iter().position(|entry| entry.key == key)?;
        let entry = self.0.remove(at);
        Some((entry.key.span(), entry.value))
    }
}

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let entries = Punctuated::<Entry, Token![,]>::parse_terminated(input)?;
        Ok(Self(entries.into_iter().collect()))
    }
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        // `crate` is a keyword.
        let key = Ident::parse_any(input)?;
        let value = if input.peek(Paren) {
            let list;
            parenthesized!(list in input);
            // A list of pairs begins with a name and `=`, whatever the name is.
            match list.fork().call(Ident::parse_any).is_ok() && list.peek2(Token![=]) {
                true => Value::List(Punctuated::parse_terminated(&list)?),
                false => Value::Words(Punctuated::parse_terminated(&list)?),
            }
        } else if input.parse::<Option<Token![=]>>()?.is_some() {
            Value::Expr(input.parse()?)
        } else {
            Value::Flag
        };
        Ok(Self { key, value })
    }
}

impl Parse for Pair {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let key = input.call(Ident::parse_any)?;
        input.parse::<Token![=]>()?;
        Ok(Self { key, value: input.parse()? })
    }
}

/// Combines errors into one, if there are any.
pub(crate) fn all(errors: impl IntoIterator<Item = Error>) -> Result<()> {
    let sum = errors.into_iter().reduce(|mut sum, error| {
        sum.combine(error);
        sum
    });
    sum.map_or(Ok(()), Err)
}

fn is_empty_array(expr: &Expr) -> bool {
    matches!(expr, Expr::Array(array) if array.elems.is_empty())
}

fn unknown(name: &str, known: &[&str]) -> String {
    let list = known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ");
    match known.iter().map(|k| (distance(name, k), k)).min() {
        Some((far, near)) if far <= near.len().div_ceil(3) => {
            format!("unknown key `{name}`; did you mean `{near}`? the keys are {list}")
        }
        _ => format!("unknown key `{name}`; the keys are {list}"),
    }
}

/// The edit distance, in bytes. A dependency would weigh more than these lines.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Form;

    #[test]
    fn keys_are_checked() {
        let known = [("name", Form::Special), ("title", Form::Value), ("read_only", Form::Flag)];
        for (text, want) in [
            ("name = \"a\", read_only", None),
            (
                "titel = \"a\"",
                Some("unknown key `titel`; did you mean `title`? the keys are `name`, `title`, `read_only`"),
            ),
            ("xyzzy", Some("unknown key `xyzzy`; the keys are `name`, `title`, `read_only`")),
            ("name = \"a\", name = \"b\"", Some("`name` is given twice")),
        ] {
            let args: Args = syn::parse_str(text).expect("it has the form of arguments");
            assert_eq!(args.check(&known).err().map(|e| e.to_string()).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn distances() {
        for (a, b, want) in [("", "abc", 3), ("titel", "title", 2), ("name", "name", 0), ("nam", "name", 1)] {
            assert_eq!(distance(a, b), want, "{a} {b}");
        }
    }
}
