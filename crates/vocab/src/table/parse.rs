//! Parses `protocol.txt`. It panics on a mistake in the table, which tests find.

use couplet_types::ProtocolVersion;

use super::{Body, Definition, Kind, Member, Range, Revisions, Table, rust::RUST};

pub(super) fn table(text: &'static str) -> Table {
    let mut table = Table::default();
    let mut open: Option<(&'static str, Revisions)> = None;
    for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some(member) = line.strip_prefix("  ") {
            let (name, revisions) = open.unwrap_or_else(|| panic!("`{line}` belongs to nothing"));
            add_member(&mut table, name, read_member(member, name, revisions, text));
            continue;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (revisions, rest) = leading_revisions(rest);
        match word {
            // A test compares the list with the revisions of the types.
            "revisions" => {}
            "schema" => {
                let (dialect, place) = rest.split_once(' ').expect("a dialect and a place");
                table.dialects.push((revisions, dialect, place));
            }
            "extension" => table.extensions.extend(rest.split(' ').map(|method| (revisions, method))),
            "kinds" => {
                let (member, kinds) = rest.split_once(' ').expect("a member and its values");
                let kind = |kind: &'static str| match kind.split_once('=') {
                    Some((kind, definition)) => (kind, Some(definition)),
                    None => (kind, None),
                };
                table.result_kinds.push((revisions, member, kinds.split(' ').map(kind).collect()));
            }
            name => {
                let body =
                    rest.strip_prefix("= ").map_or(Body::Members(Vec::new()), |kind| Body::Kind(read_kind(kind)));
                let new = || Definition { name, bodies: Vec::new() };
                table.definitions.entry(name).or_insert_with(new).bodies.push((revisions, body));
                open = Some((name, revisions));
            }
        }
    }
    table.methods = table.definitions.values().filter_map(|d| Some((d.method()?, d.name))).collect();
    table
}

fn add_member(table: &mut Table, name: &str, member: Member) {
    let last = table.definitions.get_mut(name).and_then(|d| d.bodies.last_mut());
    match last {
        Some((_, Body::Members(members))) => members.push(member),
        _ => panic!("`{name}` has no members, and so no `{}`", member.name),
    }
}

/// Parses `name?: kind @revisions`, or `name @revisions` for a member with the kind of its Rust type.
fn read_member(line: &'static str, definition: &str, all: Revisions, table: &str) -> Member {
    let (front, revisions) = match line.rsplit_once(" @") {
        Some((front, revisions)) => (front, read_revisions(revisions).both(all)),
        None => (line, all),
    };
    if let Some((name, kind)) = front.split_once(": ") {
        let optional = name.ends_with('?');
        return Member { name: name.trim_end_matches('?'), optional, kind: read_kind(kind), revisions };
    }
    let field = RUST.field(definition, front).unwrap_or_else(|| panic!("no Rust type has `{definition}.{front}`"));
    let is_defined = |name: &str| table.lines().any(|l| l.split(' ').next() == Some(name));
    Member { name: front, optional: field.optional, kind: RUST.kind(field.rust, &is_defined), revisions }
}

/// Splits the revisions off the front of a line; the default is all.
fn leading_revisions(rest: &'static str) -> (Revisions, &'static str) {
    let Some(rest) = rest.strip_prefix('@') else { return (Revisions::ALL, rest) };
    let (revisions, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    (read_revisions(revisions), rest)
}

/// Parses `3-`, `-4` or `1,3`.
fn read_revisions(text: &str) -> Revisions {
    let number = |text: &str, default: usize| match text {
        "" => default,
        digits => digits.parse().unwrap_or_else(|_| panic!("`{text}` is not the number of a revision")),
    };
    let bits = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first, 1), number(last, ProtocolVersion::ALL.len()));
        (first..=last).fold(0, |bits, n| bits | 1 << (n - 1))
    };
    Revisions(text.split(',').fold(0, |all, part| all | bits(part))).both(Revisions::ALL)
}

fn read_kind(text: &'static str) -> Kind {
    let mut rest = text;
    let kind = union(&mut rest);
    assert!(rest.is_empty(), "`{rest}` does not belong to the kind `{text}`");
    kind
}

fn union(rest: &mut &'static str) -> Kind {
    let mut kinds = vec![single(rest)];
    while let Some(more) = rest.strip_prefix(" | ") {
        *rest = more;
        kinds.push(single(rest));
    }
    if kinds.len() == 1 { kinds.remove(0) } else { Kind::Union(kinds) }
}

fn single(rest: &mut &'static str) -> Kind {
    if let Some(inner) = rest.strip_prefix('[') {
        *rest = inner;
        let kind = union(rest);
        take(rest, "]");
        let most = arguments(rest).map(|a| a.trim_start_matches("..").parse().expect("a length"));
        return Kind::List(Box::new(kind), most);
    }
    if let Some(inner) = rest.strip_prefix('{') {
        *rest = inner;
        let kind = union(rest);
        take(rest, "}");
        return Kind::Map(Box::new(kind));
    }
    if let Some(inner) = rest.strip_prefix('"') {
        let (text, after) = inner.split_once('"').expect("a text ends");
        *rest = after;
        return Kind::Text(text);
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after;
    if let Ok(code) = word.parse() {
        return Kind::Code(code);
    }
    match word {
        "any" => Kind::Any,
        "object" => Kind::Object,
        "string" => Kind::String(arguments(rest)),
        "integer" => Kind::Integer(range(rest)),
        "number" => Kind::Number(range(rest)),
        "boolean" => Kind::Boolean,
        "null" => Kind::Null,
        name if name.starts_with(char::is_uppercase) => Kind::Named(name),
        other => panic!("`{other}` is not a kind"),
    }
}

fn range(rest: &mut &'static str) -> Range {
    let Some((least, most)) = arguments(rest).and_then(|a| a.split_once("..")) else { return Range::default() };
    Range { least: least.parse().ok(), most: most.parse().ok() }
}

/// Parses arguments in parentheses, if there are any.
fn arguments(rest: &mut &'static str) -> Option<&'static str> {
    let (inner, after) = rest.strip_prefix('(')?.split_once(')').expect("parentheses end");
    *rest = after;
    Some(inner)
}

fn take(rest: &mut &'static str, what: &str) {
    *rest = rest.strip_prefix(what).unwrap_or_else(|| panic!("`{what}` is missing before `{rest}`"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_ranges() {
        let open = Revisions::ALL.0 & !0b11;
        for (text, bits) in [("3-", open), ("-4", 0b1111), ("5", 0b1_0000), ("1,3", 0b101), ("-3,5", 0b1_0111)] {
            assert_eq!(read_revisions(text), Revisions(bits), "{text}");
        }
    }

    #[test]
    fn kinds_nest() {
        let kind = read_kind("[Text | string(uri)](..3) | {integer(0..)} | -3 | \"a b\"");
        let list = Kind::Union(vec![Kind::Named("Text"), Kind::String(Some("uri"))]);
        let least = Range { least: Some(0), most: None };
        let expected = vec![
            Kind::List(Box::new(list), Some(3)),
            Kind::Map(Box::new(Kind::Integer(least))),
            Kind::Code(-3),
            Kind::Text("a b"),
        ];
        assert_eq!(kind, Kind::Union(expected));
    }
}
