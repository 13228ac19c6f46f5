//! Expansion of templates.

use super::{Expression, Modifier, Operator, TemplateValue, Variable};

impl Expression {
    pub(super) fn expand(&self, values: &[(&str, TemplateValue)], uri: &mut String) {
        let mut lead = self.operator.mark();
        for variable in &self.variables {
            let Some((_, value)) = values.iter().find(|(name, _)| *name == variable.name) else { continue };
            for item in self.items(variable, value) {
                uri.extend(lead);
                uri.push_str(&item);
                lead = Some(self.operator.separator());
            }
        }
    }

    /// What goes between the separators for one variable: nothing if it is undefined.
    fn items(&self, variable: &Variable, value: &TemplateValue) -> Vec<String> {
        let encoded = |text: &str| {
            let mut out = String::new();
            encode(text, self.operator, &mut out);
            out
        };
        let named = |name: &str, value: String| match (self.operator, value.is_empty()) {
            (Operator::Parameter, true) => name.to_owned(),
            _ => format!("{name}={value}"),
        };
        let whole = |value: String| match self.operator.is_named() {
            true => named(&variable.name, value),
            false => value,
        };
        match (value, variable.modifier) {
            (TemplateValue::Text(text), Modifier::Prefix(length)) => {
                vec![whole(encoded(&text.chars().take(length).collect::<String>()))]
            }
            (TemplateValue::Text(text), _) => vec![whole(encoded(text))],
            (TemplateValue::List(list), Modifier::Explode) => list.iter().map(|item| whole(encoded(item))).collect(),
            (TemplateValue::Map(map), Modifier::Explode) if self.operator.is_named() => {
                map.iter().map(|(name, value)| named(&encoded(name), encoded(value))).collect()
            }
            (TemplateValue::Map(map), Modifier::Explode) => {
                map.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect()
            }
            (TemplateValue::List(list), _) if list.is_empty() => Vec::new(),
            (TemplateValue::List(list), _) => {
                vec![whole(list.iter().map(|item| encoded(item)).collect::<Vec<_>>().join(","))]
            }
            (TemplateValue::Map(map), _) if map.is_empty() => Vec::new(),
            (TemplateValue::Map(map), _) => {
                let pairs = map.iter().map(|(name, value)| format!("{},{}", encoded(name), encoded(value)));
                vec![whole(pairs.collect::<Vec<_>>().join(","))]
            }
        }
    }
}

/// Percent-encodes all but unreserved characters; for some operators also reserved ones and triplets stay.
pub(super) fn encode(text: &str, operator: Operator, out: &mut String) {
    let bytes = text.as_bytes();
    for (at, &b) in bytes.iter().enumerate() {
        let unreserved = b.is_ascii_alphanumeric() || b"-._~".contains(&b);
        let reserved =
            b":/?#[]@!$&'()*+,;=".contains(&b) || b == b'%' && starts_with_triplet(bytes.get(at..).unwrap_or_default());
        if unreserved || reserved && operator.keeps_reserved() {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
    }
}

pub(super) fn starts_with_triplet(bytes: &[u8]) -> bool {
    matches!(bytes, [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}
