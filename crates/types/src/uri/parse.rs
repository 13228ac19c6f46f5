//! Parsing of templates.

use super::{
    Expression, MAX_VARIABLES, Modifier, Operator, Part, TemplateError, Variable,
    expand::{encode, starts_with_triplet},
};

pub(super) fn parse_parts(text: &str) -> Result<Vec<Part>, TemplateError> {
    let mut parts = Vec::new();
    let (mut at, mut variables) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(body) = rest.strip_prefix('{') {
            let (body, _) = body.split_once('}').ok_or_else(|| TemplateError::new(at, "`{` is never closed"))?;
            let expression = parse_expression(body, at)?;
            variables += expression.variables.len();
            if variables > MAX_VARIABLES {
                return Err(TemplateError::new(at, "the template has more than 256 variables"));
            }
            parts.push(Part::Expression(expression));
            at += body.len() + 2;
        } else {
            let literal = rest.split('{').next().unwrap_or(rest);
            parts.push(Part::Literal(parse_literal(literal, at)?));
            at += literal.len();
        }
    }
    Ok(parts)
}

fn parse_literal(text: &str, offset: usize) -> Result<String, TemplateError> {
    for (at, c) in text.char_indices() {
        let refused = match c {
            '%' => !starts_with_triplet(text.as_bytes().get(at..).unwrap_or_default()),
            _ => c.is_control() || " \"<>\\^`|}".contains(c),
        };
        if refused {
            let reason = format!("{c:?} cannot stand in a uri template, write it percent-encoded");
            return Err(TemplateError::new(offset + at, reason));
        }
    }
    let mut literal = String::with_capacity(text.len());
    encode(text, Operator::Reserved, &mut literal);
    Ok(literal)
}

fn parse_expression(body: &str, offset: usize) -> Result<Expression, TemplateError> {
    let first = body.chars().next().unwrap_or_default();
    if "=,!@|".contains(first) {
        return Err(TemplateError::new(offset + 1, format!("the operator `{first}` is reserved")));
    }
    let operator = match Operator::MARKED.iter().find(|(mark, _)| *mark == first) {
        Some((_, operator)) => *operator,
        None if first == '+' => Operator::Reserved,
        None => Operator::Simple,
    };
    let mark = usize::from(operator != Operator::Simple);
    let mut at = offset + 1 + mark;
    let mut variables = Vec::new();
    for item in body.get(mark..).unwrap_or_default().split(',') {
        variables.push(parse_variable(item, at)?);
        at += item.len() + 1;
    }
    Ok(Expression { offset, operator, variables })
}

fn parse_variable(item: &str, offset: usize) -> Result<Variable, TemplateError> {
    let (name, modifier) = if let Some(name) = item.strip_suffix('*') {
        (name, Modifier::Explode)
    } else if let Some((name, digits)) = item.split_once(':') {
        let valid = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        let length = digits.parse().ok().filter(|&length| valid && !digits.starts_with('0') && length > 0);
        let length =
            length.ok_or_else(|| TemplateError::new(offset + name.len(), "`:` needs a number from 1 to 9999"))?;
        (name, Modifier::Prefix(length))
    } else {
        (item, Modifier::None)
    };
    if name.is_empty() {
        return Err(TemplateError::new(offset, "a variable name is missing"));
    }
    for (at, b) in name.bytes().enumerate() {
        let allowed = match b {
            b'%' => starts_with_triplet(name.as_bytes().get(at..).unwrap_or_default()),
            b'.' => at > 0 && at + 1 < name.len() && name.as_bytes().get(at - 1) != Some(&b'.'),
            _ => b.is_ascii_alphanumeric() || b == b'_',
        };
        if !allowed {
            return Err(TemplateError::new(offset + at, format!("`{name}` is not a variable name")));
        }
    }
    Ok(Variable { name: name.to_owned(), modifier })
}
