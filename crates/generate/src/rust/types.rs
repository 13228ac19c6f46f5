//! Types in Rust: structs, enums, and aliases.

use crate::{
    model::{EnumValue, Field, Integer, Kind, Literal, Model, Object, Type, TypeId, Variant, components},
    names::{Scope, pascal, snake},
    writer::Writer,
};

use super::{
    KEYWORDS,
    text::{docs, literal},
};

/// The most parameters of a constructor.
const MOST_PARAMETERS: usize = 8;

/// The types of a model, and what Rust has to know about all of them.
pub(super) struct Types<'m> {
    model: &'m Model,
    /// The cycles without an array or a map between: those need a box.
    direct: Vec<Option<usize>>,
    /// All cycles: an alias in one would not end.
    whole: Vec<Option<usize>>,
    /// Whether values of a type are arguments, which users construct.
    is_input: Vec<bool>,
}

/// A field, with its name in Rust.
struct Named<'m> {
    ident: String,
    field: &'m Field,
}

impl<'m> Types<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        let mut direct = vec![Vec::new(); model.types.len()];
        let mut whole = direct.clone();
        for (id, def) in model.types.iter().enumerate() {
            for ty in def.kind.types() {
                ty.each_named(&mut |to, is_direct| {
                    whole[id].push(to);
                    if is_direct {
                        direct[id].push(to);
                    }
                });
            }
        }
        let prompts = model.prompts.iter().map(|prompt| prompt.input);
        let templates = model.templates.iter().map(|template| template.input);
        let inputs = model.tools.iter().map(|tool| tool.input).chain(prompts).chain(templates);
        let mut open: Vec<TypeId> = inputs.flatten().map(|input| input.ty).collect();
        let mut is_input = vec![false; model.types.len()];
        while let Some(id) = open.pop() {
            if let Some(seen @ false) = is_input.get_mut(id) {
                *seen = true;
                open.extend(&whole[id]);
            }
        }
        Self { model, direct: components(&direct), whole: components(&whole), is_input }
    }

    pub(super) fn write(&self, id: TypeId, out: &mut Writer) {
        let Some(def) = self.model.types.get(id) else { return };
        out.gap();
        docs(&def.docs, None, out);
        match &def.kind {
            Kind::Object(object) => self.object(id, object, out),
            Kind::Enum(values) => enumeration(&def.name, values, out),
            Kind::Union(variants) => self.union(id, variants, out),
            Kind::Alias(ty) if self.whole.get(id) == Some(&None) => {
                out.line(format!("pub type {} = {};", def.name, self.name(ty, id, true)));
            }
            Kind::Alias(ty) => {
                out.line("#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]");
                out.line("#[serde(transparent)]");
                out.line(format!("pub struct {}(pub {});", def.name, self.name(ty, id, true)));
            }
        }
    }

    fn object(&self, id: TypeId, object: &'m Object, out: &mut Writer) {
        let name = self.type_name(id);
        let mut scope = Scope::new(&[KEYWORDS]);
        let mut ident = |name: &str| scope.claim(&snake(name), "field_");
        let fields: Vec<Named<'_>> =
            object.fields.iter().map(|field| Named { ident: ident(&field.name), field }).collect();
        let rest = object.rest.as_ref().map(|ty| (ident("additional_properties"), self.name(ty, id, false)));
        let needed: Vec<&Named<'_>> =
            fields.iter().filter(|named| named.field.is_required && !self.is_constant(&named.field.ty)).collect();
        let default = if needed.is_empty() { "Default, " } else { "" };
        out.line(format!("#[derive(Clone, Debug, {default}PartialEq, Serialize, Deserialize)]"));
        out.line(format!("pub struct {name} {{"));
        out.indented(|out| {
            for Named { ident, field } in &fields {
                docs(&field.docs, None, out);
                attributes(ident, field, out);
                out.line(format!("pub {ident}: {},", self.field_type(field, id)));
            }
            if let Some((ident, ty)) = &rest {
                out.line("/// All other members.");
                out.line("#[serde(flatten)]");
                out.line(format!("pub {ident}: BTreeMap<String, {ty}>,"));
            }
        });
        out.line("}");
        let has_more = needed.len() < fields.len() || rest.is_some();
        let is_input = self.is_input.get(id) == Some(&true);
        if is_input && has_more && (1..=MOST_PARAMETERS).contains(&needed.len()) {
            self.constructor(id, (&fields, &needed), rest.as_ref().map(|(ident, _)| ident.as_str()), out);
        }
    }

    /// A function that takes what is required.
    fn constructor(
        &self,
        id: TypeId,
        (fields, needed): (&[Named<'_>], &[&Named<'_>]),
        rest: Option<&str>,
        out: &mut Writer,
    ) {
        let is_needed = |named: &Named<'_>| needed.iter().any(|one| one.ident == named.ident);
        let parameter = |named: &&Named<'_>| match named.field.ty {
            Type::String => format!("{}: impl Into<String>", named.ident),
            _ => format!("{}: {}", named.ident, self.field_type(named.field, id)),
        };
        let parameters: Vec<_> = needed.iter().map(parameter).collect();
        let value = |named: &Named<'_>| match (is_needed(named), &named.field.ty) {
            (true, Type::String) => format!("{0}: {0}.into(),", named.ident),
            (true, _) => format!("{},", named.ident),
            (false, _) => format!("{}: Default::default(),", named.ident),
        };
        out.gap();
        out.line(format!("impl {} {{", self.type_name(id)));
        out.indented(|out| {
            out.line("/// Creates a value with what is required.");
            out.line(format!("pub fn new({}) -> Self {{", parameters.join(", ")));
            out.indented(|out| {
                out.line("Self {");
                out.indented(|out| {
                    fields.iter().for_each(|named| out.line(value(named)));
                    rest.into_iter().for_each(|ident| out.line(format!("{ident}: Default::default(),")));
                });
                out.line("}");
            });
            out.line("}");
        });
        out.line("}");
    }

    fn union(&self, id: TypeId, variants: &[Variant], out: &mut Writer) {
        out.line("#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]");
        out.line("#[serde(untagged)]");
        out.line(format!("pub enum {} {{", self.type_name(id)));
        out.indented(|out| {
            let mut scope = Scope::new(&["Self"]);
            for variant in variants {
                let name = scope.claim(&variant.name, "Variant");
                out.line(format!("{name}({}),", self.name(&variant.ty, id, true)));
            }
        });
        out.line("}");
    }

    fn field_type(&self, field: &Field, id: TypeId) -> String {
        match (&field.ty, field.is_required) {
            (Type::Nullable(_), _) | (_, true) => self.name(&field.ty, id, true),
            (ty, false) => format!("Option<{}>", self.name(ty, id, true)),
        }
    }

    /// Whether a type has one value only.
    fn is_constant(&self, ty: &Type) -> bool {
        let Type::Named(id) = ty else { return false };
        matches!(self.model.types.get(*id).map(|def| &def.kind), Some(Kind::Enum(values)) if values.len() == 1)
    }

    fn type_name(&self, id: TypeId) -> &str {
        self.model.types.get(id).map_or("Value", |def| &def.name)
    }

    /// The name of a type inside another one.
    fn name(&self, ty: &Type, from: TypeId, is_direct: bool) -> String {
        match ty {
            Type::Any => "Value".to_owned(),
            Type::Null => "()".to_owned(),
            Type::Boolean => "bool".to_owned(),
            Type::Integer(Integer::Signed(bits)) => format!("i{bits}"),
            Type::Integer(Integer::Unsigned(bits)) => format!("u{bits}"),
            Type::Number => "f64".to_owned(),
            Type::String => "String".to_owned(),
            Type::Array(inner) => format!("Vec<{}>", self.name(inner, from, false)),
            Type::Tuple(items) => {
                let items: Vec<_> = items.iter().map(|item| self.name(item, from, is_direct)).collect();
                format!("({}{})", items.join(", "), if items.len() == 1 { "," } else { "" })
            }
            Type::Map(inner) => format!("BTreeMap<String, {}>", self.name(inner, from, false)),
            Type::Nullable(inner) => format!("Option<{}>", self.name(inner, from, is_direct)),
            Type::Literals(list) => of_literals(list).to_owned(),
            Type::Named(id) => {
                let is_cycle = self
                    .direct
                    .get(from)
                    .copied()
                    .flatten()
                    .is_some_and(|cycle| self.direct.get(*id).copied().flatten() == Some(cycle));
                let name = self.type_name(*id);
                if is_direct && is_cycle { format!("Box<{name}>") } else { name.to_owned() }
            }
        }
    }
}

fn attributes(ident: &str, field: &Field, out: &mut Writer) {
    let mut serde = Vec::new();
    if ident != field.name {
        serde.push(format!("rename = {}", literal(&field.name)));
    }
    if !field.is_required {
        serde.push("default, skip_serializing_if = \"Option::is_none\"".to_owned());
    }
    if !serde.is_empty() {
        out.line(format!("#[serde({})]", serde.join(", ")));
    }
}

fn enumeration(name: &str, values: &[EnumValue], out: &mut Writer) {
    let default = if values.len() == 1 { "Default, " } else { "" };
    out.line(format!("#[derive(Clone, Copy, Debug, {default}PartialEq, Eq, Serialize, Deserialize)]"));
    out.line(format!("pub enum {name} {{"));
    out.indented(|out| {
        let mut scope = Scope::new(&["Self"]);
        for value in values {
            docs(&value.docs, None, out);
            if values.len() == 1 {
                out.line("#[default]");
            }
            let ident = scope.claim(&pascal(&value.text), "Value");
            if ident != value.text {
                out.line(format!("#[serde(rename = {})]", literal(&value.text)));
            }
            out.line(format!("{ident},"));
        }
    });
    out.line("}");
}

/// The type that has all of these values, and more.
fn of_literals(list: &[Literal]) -> &'static str {
    let all = |is: fn(&Literal) -> bool| list.iter().all(is);
    match () {
        () if all(|literal| matches!(literal, Literal::Boolean(_))) => "bool",
        () if all(|literal| matches!(literal, Literal::Integer(_))) => "i64",
        () if all(|literal| matches!(literal, Literal::Integer(_) | Literal::Number(_))) => "f64",
        () => "Value",
    }
}
