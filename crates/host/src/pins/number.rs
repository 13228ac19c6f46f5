//! Numbers in the form of ECMAScript, as JCS (RFC 8785) requires.

/// Returns the canonical form of a number's text; `None` if it is out of the range of 64-bit floating point.
///
/// Integers stay as they are, whatever their size, so that no two of them look alike.
pub(super) fn canonical(text: &str) -> Option<String> {
    if !text.contains(['.', 'e', 'E']) {
        return Some(if text == "-0" { "0" } else { text }.to_owned());
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite()).map(float)
}

fn float(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // The shortest digits that lead back to the number, as ECMAScript has them: `1.25e-7`.
    let text = format!("{value:e}");
    let (sign, text) = text.strip_prefix('-').map_or(("", &*text), |rest| ("-", rest));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits = mantissa.replace('.', "");
    let (count, exponent) = (digits.len() as i32, exponent.parse::<i32>().unwrap_or(0));
    // The position of the point behind the first digit.
    let point = exponent + 1;
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let body = if count <= point && point <= 21 {
        format!("{digits}{}", zeros(point - count))
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(point as usize);
        format!("{whole}.{fraction}")
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{first}{point}{rest}e{sign}{}", exponent.abs())
    };
    format!("{sign}{body}")
}
