//! Exact decimals for computations: an integer and a scale. The scale is preserved, so `100.10` stays as it is.

use std::cmp::Ordering;
use std::fmt;

/// The number `mantissa / 10^scale`.
#[derive(Clone, Copy, Debug)]
pub(in crate::fhirpath) struct Number {
    pub(in crate::fhirpath) mantissa: i128,
    pub(in crate::fhirpath) scale: u32,
}

/// The maximum number of digits after the decimal point of a quotient.
const QUOTIENT_SCALE: u32 = 8;
/// The maximum scale of products and powers.
const MAX_SCALE: u32 = 28;

impl Number {
    pub(in crate::fhirpath) fn whole(value: i64) -> Number {
        Number {
            mantissa: i128::from(value),
            scale: 0,
        }
    }

    /// Parses a decimal number. `None` if the digits do not fit into 128 bits, which hold 38 digits, or if there are
    /// more than 60 digits after the decimal point. An exponent is applied first.
    pub(in crate::fhirpath) fn parse(text: &str) -> Option<Number> {
        let (digits, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (negative, digits) = match digits.as_bytes().first()? {
            b'-' => (true, &digits[1..]),
            b'+' => (false, &digits[1..]),
            _ => (false, digits),
        };
        let (mut mantissa, mut scale, mut point, mut any) = (0i128, 0i32, false, false);
        for byte in digits.bytes() {
            match byte {
                b'0'..=b'9' => {
                    mantissa = mantissa.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
                    scale += i32::from(point);
                    any = true;
                }
                b'.' if !point => point = true,
                _ => return None,
            }
        }
        if !any {
            return None;
        }
        scale = scale.checked_sub(exponent)?;
        if scale < 0 {
            mantissa = mantissa.checked_mul(power(scale.unsigned_abs())?)?;
            scale = 0;
        }
        let mantissa = if negative { -mantissa } else { mantissa };
        (scale <= 60).then_some(Number {
            mantissa,
            scale: scale as u32,
        })
    }

    fn aligned(self, other: Number) -> Option<(i128, i128, u32)> {
        let scale = self.scale.max(other.scale);
        let left = self.mantissa.checked_mul(power(scale - self.scale)?)?;
        let right = other.mantissa.checked_mul(power(scale - other.scale)?)?;
        Some((left, right, scale))
    }

    /// Returns the order of two numbers. Trailing zeros do not matter.
    pub(in crate::fhirpath) fn compare(self, other: Number) -> Ordering {
        match self.aligned(other) {
            Some((left, right, _)) => left.cmp(&right),
            None => {
                let (left, right) = (self.trimmed(), other.trimmed());
                match left.aligned(right) {
                    Some((left, right, _)) => left.cmp(&right),
                    None => left.to_f64().total_cmp(&right.to_f64()),
                }
            }
        }
    }

    pub(in crate::fhirpath) fn add(self, other: Number) -> Option<Number> {
        let (left, right, scale) = self.aligned(other)?;
        Some(Number {
            mantissa: left.checked_add(right)?,
            scale,
        })
    }

    pub(in crate::fhirpath) fn negate(self) -> Number {
        Number {
            mantissa: -self.mantissa,
            scale: self.scale,
        }
    }

    pub(in crate::fhirpath) fn subtract(self, other: Number) -> Option<Number> {
        self.add(other.negate())
    }

    pub(in crate::fhirpath) fn multiply(self, other: Number) -> Option<Number> {
        let mantissa = self.mantissa.checked_mul(other.mantissa).or_else(|| {
            let (left, right) = (self.trimmed(), other.trimmed());
            left.mantissa.checked_mul(right.mantissa)
        })?;
        let exact = match self.mantissa.checked_mul(other.mantissa) {
            Some(_) => self.scale + other.scale,
            None => self.trimmed().scale + other.trimmed().scale,
        };
        let product = Number { mantissa, scale: exact };
        Some(if exact > MAX_SCALE {
            product.rounded(MAX_SCALE)
        } else {
            product
        })
    }

    /// Returns the quotient, rounded to eight digits after the decimal point. `None` for a divisor of zero or on
    /// overflow.
    pub(in crate::fhirpath) fn divide(self, other: Number) -> Option<Number> {
        if other.mantissa == 0 {
            return None;
        }
        let (left, right, _) = self.trimmed().aligned(other.trimmed())?;
        let scaled = left.checked_mul(power(QUOTIENT_SCALE + 1)?)?;
        let quotient = Number {
            mantissa: scaled / right,
            scale: QUOTIENT_SCALE + 1,
        };
        Some(quotient.rounded(QUOTIENT_SCALE).trimmed())
    }

    /// Returns the integer part of the quotient, truncated toward zero. `None` for a divisor of zero or on overflow.
    pub(in crate::fhirpath) fn div(self, other: Number) -> Option<i128> {
        let (left, right, _) = self.aligned(other)?;
        left.checked_div(right)
    }

    pub(in crate::fhirpath) fn modulo(self, other: Number) -> Option<Number> {
        let (left, right, scale) = self.aligned(other)?;
        Some(Number {
            mantissa: left.checked_rem(right)?,
            scale,
        })
    }

    /// Rounds to `scale` digits after the decimal point, half away from zero. Never adds digits.
    pub(in crate::fhirpath) fn rounded(self, scale: u32) -> Number {
        if self.scale <= scale {
            return self;
        }
        let Some(divisor) = power(self.scale - scale) else {
            return Number { mantissa: 0, scale };
        };
        let half = divisor / 2;
        let adjusted = if self.mantissa < 0 {
            self.mantissa.saturating_sub(half)
        } else {
            self.mantissa.saturating_add(half)
        };
        Number {
            mantissa: adjusted / divisor,
            scale,
        }
    }

    /// Returns the integer part.
    pub(in crate::fhirpath) fn truncated(self) -> i128 {
        power(self.scale).map_or(0, |divisor| self.mantissa / divisor)
    }

    pub(in crate::fhirpath) fn floor(self) -> i128 {
        power(self.scale).map_or(if self.mantissa < 0 { -1 } else { 0 }, |divisor| {
            self.mantissa.div_euclid(divisor)
        })
    }

    /// Returns the number without trailing zeros after the decimal point.
    pub(in crate::fhirpath) fn trimmed(self) -> Number {
        let mut number = self;
        while number.scale > 0 && number.mantissa % 10 == 0 {
            number = Number {
                mantissa: number.mantissa / 10,
                scale: number.scale - 1,
            };
        }
        number
    }

    /// Returns the number with exactly this many digits after the decimal point, rounded if necessary. `None` on
    /// overflow.
    pub(in crate::fhirpath) fn rescaled(self, scale: u32) -> Option<Number> {
        match scale.checked_sub(self.scale) {
            Some(more) => Some(Number {
                mantissa: self.mantissa.checked_mul(power(more)?)?,
                scale,
            }),
            None => Some(self.rounded(scale)),
        }
    }

    pub(in crate::fhirpath) fn to_i32(self) -> Option<i32> {
        let whole = self.trimmed();
        if whole.scale == 0 {
            i32::try_from(whole.mantissa).ok()
        } else {
            None
        }
    }

    pub(in crate::fhirpath) fn to_f64(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Returns the exact power. `None` on overflow, or if it has more than [`MAX_SCALE`] digits after the decimal
    /// point.
    pub(in crate::fhirpath) fn to_the_power(self, exponent: u32) -> Option<Number> {
        let (mut power, mut square, mut left) = (Number::whole(1), self, exponent);
        loop {
            if left & 1 == 1 {
                power = power.multiply_exactly(square)?;
            }
            left >>= 1;
            if left == 0 {
                return Some(power);
            }
            square = square.multiply_exactly(square)?;
        }
    }

    fn multiply_exactly(self, other: Number) -> Option<Number> {
        let product = Number {
            mantissa: self.mantissa.checked_mul(other.mantissa)?,
            scale: self.scale + other.scale,
        };
        (product.scale <= MAX_SCALE).then_some(product)
    }

    /// Converts a floating point result to a decimal with 15 significant digits, because a double is exact to so many
    /// digits. `None` if the result is not finite or is too large.
    pub(in crate::fhirpath) fn from_f64(value: f64) -> Option<Number> {
        if !value.is_finite() {
            return None;
        }
        Number::parse(&format!("{value:.14e}")).map(Number::trimmed)
    }
}

fn power(exponent: u32) -> Option<i128> {
    10i128.checked_pow(exponent)
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mantissa < 0 {
            formatter.write_str("-")?;
        }
        let digits = self.mantissa.unsigned_abs().to_string();
        let scale = self.scale as usize;
        if scale == 0 {
            return formatter.write_str(&digits);
        }
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        write!(formatter, "{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn digits_are_kept() {
        for text in ["100.10", "-0.050", "0", "12345678901234567890.123456789"] {
            assert_eq!(number(text).to_string(), text);
        }
        assert_eq!(number("1.5e3").to_string(), "1500");
        assert_eq!(number("1.5e-3").to_string(), "0.0015");
    }

    #[test]
    fn arithmetic_is_exact() {
        assert_eq!(number("0.1").add(number("0.20")).unwrap().to_string(), "0.30");
        assert_eq!(number("1.5").multiply(number("-2.0")).unwrap().to_string(), "-3.00");
        assert_eq!(number("1").divide(number("3")).unwrap().to_string(), "0.33333333");
        assert_eq!(number("2.5").rounded(0).to_string(), "3");
        assert_eq!(number("-2.5").rounded(0).to_string(), "-3");
        assert!(number("1").divide(number("0.0")).is_none());
        assert_eq!(number("1.0").compare(number("1.000")), Ordering::Equal);
    }
}
