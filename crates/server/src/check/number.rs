//! Numbers, exact where they are integers.

use std::{cmp::Ordering, fmt};

/// A number of a schema or a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
}

/// Up to here every integer has a float of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Number {
    /// Parses a JSON number. One without a fractional part is an integer, however it is written.
    pub(super) fn parse(text: &str) -> Self {
        if let Ok(integer) = text.parse() {
            return Self::Integer(integer);
        }
        let float: f64 = text.parse().unwrap_or(f64::NAN);
        if float.fract() == 0.0 && float.abs() <= EXACT { Self::Integer(float as i128) } else { Self::Float(float) }
    }

    pub(super) fn is_integer(self) -> bool {
        match self {
            Self::Integer(_) => true,
            // Large ones have no fractional part, and infinity is none.
            Self::Float(float) => float.fract() == 0.0,
        }
    }

    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(&b)),
            _ => self.float().partial_cmp(&other.float()),
        }
    }

    pub(super) fn is_multiple_of(self, divisor: Self) -> bool {
        match (self, divisor) {
            (Self::Integer(value), Self::Integer(divisor)) => value.checked_rem(divisor) == Some(0),
            _ => {
                let (value, divisor) = (self.float(), divisor.float());
                let nearest = (value / divisor).round() * divisor;
                // Decimal fractions are not exact: 0.3 is a multiple of 0.1.
                (nearest - value).abs() <= 4.0 * f64::EPSILON * value.abs()
            }
        }
    }

    /// Whether a float of 32 bits can hold it without becoming infinite.
    pub(super) fn fits_single(self) -> bool {
        self.float().abs() <= f64::from(f32::MAX)
    }

    pub(super) fn is_positive(self) -> bool {
        self.float() > 0.0
    }

    fn float(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => integer.fmt(f),
            Self::Float(float) => float.fmt(f),
        }
    }
}
