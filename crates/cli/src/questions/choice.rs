//! Selection from a list, by value, label or number.

use couplet::types::{Choices, EnumSchema};

use crate::output::text;

/// A value and its label.
pub(crate) type Choice = (String, String);

/// Returns the choices of a field.
pub(crate) fn of(schema: &EnumSchema) -> Vec<Choice> {
    of_choices(&schema.choices, schema.enum_names.as_deref())
}

/// Returns the choices, with labels from `enumNames` if there are any.
pub(crate) fn of_choices(choices: &Choices, names: Option<&[String]>) -> Vec<Choice> {
    match choices {
        Choices::Titled(choices) => choices.iter().map(|c| (c.value.clone(), c.title.clone())).collect(),
        Choices::Untitled(values) => {
            let label = |at: usize, value: &String| names.and_then(|n| n.get(at)).unwrap_or(value).clone();
            values.iter().enumerate().map(|(at, value)| (value.clone(), label(at, value))).collect()
        }
    }
}

/// Returns the selected value. A value takes precedence over a label, and both over a number.
pub(crate) fn one(choices: &[Choice], typed: &str) -> Result<String, String> {
    let by_value = choices.iter().find(|(value, _)| value == typed);
    let by_label = || choices.iter().find(|(_, label)| label.to_lowercase() == typed.to_lowercase());
    let by_number = || typed.parse::<usize>().ok().and_then(|n| choices.get(n.checked_sub(1)?));
    let meant = by_value.or_else(by_label).or_else(by_number);
    meant.map(|(value, _)| value.clone()).ok_or_else(|| {
        let labels: Vec<_> = choices.iter().map(|(_, label)| label.as_str()).collect();
        format!("choose one of {}", labels.join(", "))
    })
}

/// Formats the numbered list.
pub(crate) fn list(choices: &[Choice], what: &str) -> String {
    let entries = choices.iter().enumerate().map(|(at, (_, label))| format!("{} {}", at + 1, text::line(label)));
    format!("{what}: {}", entries.collect::<Vec<_>>().join(" · "))
}
