//! UCUM units: which units are commensurable, and conversion between them. The `octofhir-ucum` crate knows the units
//! and returns factors in decimal digits. This file computes with these factors in integers of 256 bits, so exact
//! factors stay exact. It does not handle calendar units.
//!
//! Invariant: [`lookup`] returns no unit for a text that UCUM does not define. So a quantity with such a unit is
//! comparable only with quantities that have the same text as unit.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

use arrow::datatypes::i256;
use rustc_hash::FxHashMap;

use super::number::Number;

/// A unit of UCUM.
#[derive(Debug)]
pub(in crate::fhirpath) struct Unit {
    code: Box<str>,
    dimension: [i8; 7],
    /// The arbitrary units in this unit, with their exponents. An arbitrary unit such as `[iU]` is commensurable only
    /// with itself.
    arbitrary: Vec<(&'static str, i32)>,
    scale: Scale,
}

/// How a number of the unit converts to base units.
#[derive(Debug)]
enum Scale {
    /// `value * factor + offset`. Only temperatures have an offset other than zero.
    Linear { factor: Digits, offset: Digits },
    /// A function that is not linear, as for `[pH]` and `dB`. The crate converts such units, in floating point.
    Function,
}

/// The number `digits * 10^exponent`.
#[derive(Clone, Copy, Debug)]
struct Digits {
    digits: i256,
    exponent: i32,
}

/// A factor with more digits than `EXACT_DIGITS` counts as rounded. Amounts that were computed with a rounded factor
/// are equal if they agree in [`AGREEING_DIGITS`] digits.
const EXACT_DIGITS: u32 = 26;
const AGREEING_DIGITS: u32 = 24;
/// If the decimal digits of a converted number do not end, the number keeps this many digits after its first one.
const ENDLESS_DIGITS: u32 = 18;
/// The maximum number of units that a thread caches.
const MAX_CACHED: usize = 1024;

thread_local! {
    static KNOWN: RefCell<FxHashMap<Box<str>, Option<Arc<Unit>>>> = RefCell::default();
}

/// Returns the unit of a UCUM code. `None` if UCUM does not define the text.
pub(in crate::fhirpath) fn lookup(code: &str) -> Option<Arc<Unit>> {
    KNOWN.with_borrow_mut(|known| {
        if let Some(unit) = known.get(code) {
            return unit.clone();
        }
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        let unit = read(code).map(Arc::new);
        known.insert(code.into(), unit.clone());
        unit
    })
}

fn read(code: &str) -> Option<Unit> {
    let analysis = octofhir_ucum::analyse(code).ok()?;
    let linear = analysis.special.is_none_or(|_| !analysis.offset.is_zero());
    let scale = if linear {
        Scale::Linear {
            factor: Digits::of(analysis.factor.checked_mul(analysis.scale)?),
            offset: Digits::of(analysis.offset),
        }
    } else {
        Scale::Function
    };
    Some(Unit {
        code: code.into(),
        dimension: analysis.dimension.0,
        arbitrary: analysis.arbitrary,
        scale,
    })
}

impl Unit {
    /// Whether both units measure the same kind of quantity.
    pub(in crate::fhirpath) fn is_commensurable(&self, other: &Unit) -> bool {
        self.dimension == other.dimension && self.arbitrary == other.arbitrary
    }

    /// Compares an amount of this unit with an amount of another. `None` if the units are not commensurable, or if
    /// the amounts cannot be computed.
    pub(in crate::fhirpath) fn compare(&self, value: Number, other: &Unit, against: Number) -> Option<Ordering> {
        if !self.is_commensurable(other) {
            return None;
        }
        let (Some((left, exact)), Some((right, also_exact))) = (self.in_base(value), other.in_base(against)) else {
            return Some(self.convert(value, other)?.compare(against));
        };
        Some(left.compare(right, exact && also_exact))
    }

    /// Converts an amount of this unit to another unit. `None` if the units are not commensurable, or if the result
    /// has too many digits.
    pub(in crate::fhirpath) fn convert(&self, value: Number, to: &Unit) -> Option<Number> {
        if !self.is_commensurable(to) {
            return None;
        }
        let (Scale::Linear { .. }, Scale::Linear { factor, offset }) = (&self.scale, &to.scale) else {
            let converted = octofhir_ucum::convert(value.to_f64(), &self.code, &to.code).ok()?;
            return Number::from_f64(converted);
        };
        let (base, exact) = self.in_base(value)?;
        let exact = exact && factor.is_exact() && offset.is_exact();
        let base = base.subtract(*offset)?;
        base.divide(*factor, exact)
    }

    /// Whether 1 of this unit is at least as much as 1 of `other`. Always `true` if one of the units is not linear.
    pub(in crate::fhirpath) fn is_coarser(&self, other: &Unit) -> bool {
        match (&self.scale, &other.scale) {
            (Scale::Linear { factor, .. }, Scale::Linear { factor: than, .. }) => factor.compare(*than, true).is_ge(),
            _ => true,
        }
    }

    /// Returns the value in base units, and whether it is exact. `None` if the unit is not linear, or on overflow.
    fn in_base(&self, value: Number) -> Option<(Digits, bool)> {
        let Scale::Linear { factor, offset } = &self.scale else {
            return None;
        };
        let value = Digits {
            digits: i256::from_i128(value.mantissa),
            exponent: i32::try_from(value.scale).ok()?.checked_neg()?,
        };
        let base = value.multiply(*factor)?.add(*offset)?;
        Some((base, factor.is_exact() && offset.is_exact()))
    }
}

impl Digits {
    fn of(number: octofhir_ucum::Number) -> Digits {
        let (digits, exponent) = number.to_integer_and_exponent();
        Digits {
            digits: i256::from_i128(digits),
            exponent,
        }
    }

    fn is_exact(self) -> bool {
        power(EXACT_DIGITS).is_none_or(|limit| self.digits.wrapping_abs() < limit)
    }

    fn multiply(self, other: Digits) -> Option<Digits> {
        Some(Digits {
            digits: self.digits.checked_mul(other.digits)?,
            exponent: self.exponent.checked_add(other.exponent)?,
        })
    }

    fn add(self, other: Digits) -> Option<Digits> {
        if other.digits == i256::ZERO {
            return Some(self);
        }
        let (left, right, exponent) = self.aligned(other)?;
        Some(Digits {
            digits: left.checked_add(right)?,
            exponent,
        })
    }

    fn subtract(self, other: Digits) -> Option<Digits> {
        self.add(Digits {
            digits: other.digits.checked_neg()?,
            ..other
        })
    }

    /// Brings both numbers to the lower of their exponents. Returns their digits at this exponent, and the exponent.
    /// `None` on overflow.
    fn aligned(self, other: Digits) -> Option<(i256, i256, i32)> {
        let exponent = self.exponent.min(other.exponent);
        let at = |number: Digits| {
            let more = u32::try_from(number.exponent.checked_sub(exponent)?).ok()?;
            number.digits.checked_mul(power(more)?)
        };
        Some((at(self)?, at(other)?, exponent))
    }

    fn compare(self, other: Digits, exactly: bool) -> Ordering {
        let Some((left, right, _)) = self.aligned(other) else {
            return self.to_f64().total_cmp(&other.to_f64());
        };
        if !exactly && let Some(difference) = left.checked_sub(right) {
            let greater = left.wrapping_abs().max(right.wrapping_abs());
            let tolerated = power(AGREEING_DIGITS).and_then(|by| greater.checked_div(by));
            if tolerated.is_some_and(|tolerated| difference.wrapping_abs() <= tolerated) {
                return Ordering::Equal;
            }
        }
        left.cmp(&right)
    }

    /// Returns the quotient. It is exact if its decimal digits end, and rounded otherwise. `exact` says whether both
    /// operands are exact. If one of them is not, the quotient is rounded to [`AGREEING_DIGITS`] digits.
    fn divide(self, by: Digits, exact: bool) -> Option<Number> {
        if self.digits == i256::ZERO {
            return Some(Number::whole(0));
        }
        let common = greatest_common_divisor(self.digits.wrapping_abs(), by.digits.wrapping_abs());
        let (mut above, below) = (self.digits.checked_div(common)?, by.digits.checked_div(common)?);
        let mut exponent = self.exponent.checked_sub(by.exponent)?;
        let ten = i256::from_i128(10);
        let first = digits_of(above).saturating_sub(digits_of(below));
        for _ in first..=ENDLESS_DIGITS + digits_of(below) {
            if above.checked_rem(below)? == i256::ZERO {
                break;
            }
            above = above.checked_mul(ten)?;
            exponent = exponent.checked_sub(1)?;
        }
        let half = below.wrapping_abs().checked_div(i256::from_i128(2))?;
        let away = if (above < i256::ZERO) == (below < i256::ZERO) {
            half
        } else {
            half.checked_neg()?
        };
        let away = if below < i256::ZERO { away.checked_neg()? } else { away };
        let quotient = above.checked_add(away)?.checked_div(below)?;
        let quotient = Digits {
            digits: quotient,
            exponent,
        };
        if exact {
            quotient.number()
        } else {
            quotient.rounded(AGREEING_DIGITS)?.number()
        }
    }

    /// Rounds the number to at most this many digits.
    fn rounded(self, digits: u32) -> Option<Digits> {
        let Some(excess) = digits_of(self.digits).checked_sub(digits).filter(|excess| *excess > 0) else {
            return Some(self);
        };
        let unit = power(excess)?;
        let half = unit.checked_div(i256::from_i128(2))?;
        let half = if self.digits < i256::ZERO {
            half.checked_neg()?
        } else {
            half
        };
        Some(Digits {
            digits: self.digits.checked_add(half)?.checked_div(unit)?,
            exponent: self.exponent.checked_add(i32::try_from(excess).ok()?)?,
        })
    }

    fn number(self) -> Option<Number> {
        let ten = i256::from_i128(10);
        let (mut digits, mut exponent) = (self.digits, self.exponent);
        while exponent < 0 && digits.checked_rem(ten)? == i256::ZERO {
            digits = digits.checked_div(ten)?;
            exponent += 1;
        }
        if exponent > 0 {
            digits = digits.checked_mul(power(exponent.unsigned_abs())?)?;
            exponent = 0;
        }
        Some(Number {
            mantissa: digits.to_i128()?,
            scale: exponent.unsigned_abs(),
        })
    }

    fn to_f64(self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::NAN)
    }
}

fn power(exponent: u32) -> Option<i256> {
    if exponent <= 76 {
        i256::from_i128(10).checked_pow(exponent)
    } else {
        None
    }
}

fn digits_of(number: i256) -> u32 {
    let mut count = 1;
    while power(count).is_some_and(|limit| number.wrapping_abs() >= limit) {
        count += 1;
    }
    count
}

fn greatest_common_divisor(mut one: i256, mut other: i256) -> i256 {
    while other != i256::ZERO {
        (one, other) = (other, one.checked_rem(other).unwrap_or(i256::ZERO));
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[track_caller]
    fn converts(value: &str, from: &str, to: &str, expected: &str) {
        let converted = lookup(from).unwrap().convert(number(value), &lookup(to).unwrap());
        assert_eq!(
            converted.map(|number| number.to_string()).as_deref(),
            Some(expected),
            "{value} {from} in {to}"
        );
    }

    #[track_caller]
    fn equal(value: &str, unit: &str, other: &str, other_unit: &str) {
        let order = lookup(unit)
            .unwrap()
            .compare(number(value), &lookup(other_unit).unwrap(), number(other));
        assert_eq!(order, Some(Ordering::Equal), "{value} {unit} and {other} {other_unit}");
    }

    #[test]
    fn units_of_one_kind_compare_exactly() {
        equal("5", "mg/dL", "0.05", "g/L");
        equal("4.0000", "g", "4000.0", "mg");
        equal("1", "h", "60", "min");
        equal("1", "[in_i]", "2.54", "cm");
        equal("4", "10*3/uL", "4", "10*9/L");
        equal("1", "{score}", "1", "1");
        equal("3", "kg{dry}", "3000", "g");
        equal(
            "123456789012345678.123456789012345678",
            "kg",
            "123456789012345678123456.789012345678",
            "mg",
        );
        equal("2", "/min", "120", "/h");
        equal("5", "[iU]/mL", "5000", "[IU]/L");
        let order = |left: &str, right: &str| {
            lookup("g")
                .unwrap()
                .compare(number(left), &lookup("mg").unwrap(), number(right))
        };
        assert_eq!(order("1", "1000.000000000000000001"), Some(Ordering::Less));
        assert_eq!(order("1", "999.999999999999999999"), Some(Ordering::Greater));
    }

    #[test]
    fn temperatures_have_an_offset() {
        equal("0", "Cel", "32", "[degF]");
        equal("37", "Cel", "98.6", "[degF]");
        equal("0", "K", "-273.15", "Cel");
        converts("100", "Cel", "[degF]", "212");
        converts("98.6", "[degF]", "Cel", "37");
    }

    #[test]
    fn conversion_keeps_every_digit_that_ends() {
        converts("1", "kg", "g", "1000");
        converts("70.50", "kg", "[lb_av]", "155.425894840338694409697");
        converts("1", "[in_i]", "cm", "2.54");
        converts("1", "min", "h", "0.016666666666666666667");
        converts("7", "[pH]", "mol/L", "0.0000001");
        converts("1", "mmol/L", "umol/mL", "1");
    }

    #[test]
    fn what_measures_something_else_is_not_compared() {
        assert!(!lookup("g").unwrap().is_commensurable(&lookup("m").unwrap()));
        assert!(!lookup("[iU]").unwrap().is_commensurable(&lookup("[arb'U]").unwrap()));
        assert!(lookup("bottles").is_none());
        assert!(lookup("").is_none());
        assert!(lookup("mg//").is_none());
    }
}
