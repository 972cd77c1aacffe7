//! Sampled data as the range of its values (R4: "just search on the bounds of the values in sampled data").
//!
//! A value is a number in `data` times `factor` plus `origin`, in the unit of `origin`. `L` in `data` is a value below
//! `lowerLimit`. So the range has no lower bound, and `lowerLimit` itself counts like a number in `data`. In the same
//! way, `U` is a value above `upperLimit`. `E` is no value. If both `L` and `U` occur, the range has no bounds and
//! contains all numbers. Data without any number, in itself or as the limit of its `L` or `U`, matches nothing, because
//! nothing is known of its values.

use arrow::datatypes::i256;

use super::items::only_text;
use super::number::{only_number, values};
use crate::fhir::decimal::Decimal;
use crate::fhir::storage::NUMBER_SCALE;
use crate::fhirpath::{Collection, Items};
use crate::search::parameters::values::{Extent, Stored};

/// The elements of sampled data, as columns.
pub(in crate::search) struct Samples {
    /// The quantity that a 0 in `data` means, with its unit.
    pub(super) origins: Collection,
    origin_values: Collection,
    factors: Collection,
    data: Collection,
    lower_limits: Collection,
    upper_limits: Collection,
}

const ONE: i128 = 10i128.pow(NUMBER_SCALE as u32);

impl Samples {
    pub(in crate::search) fn of(items: &Items) -> Samples {
        let origins = items.child("origin");
        Samples {
            origin_values: values(&origins),
            origins,
            factors: items.child("factor"),
            data: items.child("data"),
            lower_limits: items.child("lowerLimit"),
            upper_limits: items.child("upperLimit"),
        }
    }

    /// Returns the range from the minimum to the maximum of the values. Returns `None` if no number is known.
    pub(in crate::search) fn extent(&self, item: usize) -> Option<Extent<'static>> {
        let number = |of: &Collection, at: usize| only_number(of, at).and_then(|stored| stored.nearest());
        let (lower_limit, upper_limit) = (number(&self.lower_limits, item), number(&self.upper_limits, item));
        let raw = Raw::read(only_text(&self.data, item)?, lower_limit, upper_limit)?;
        let origin = self.origins.range(item).next();
        let origin = origin.and_then(|at| number(&self.origin_values, at)).unwrap_or(0);
        let factor = number(&self.factors, item).unwrap_or(ONE);
        let (low, high) = if factor < 0 {
            (raw.high, raw.low)
        } else {
            (raw.low, raw.high)
        };
        let bound = |raw: Option<i128>| match raw {
            None => Some(None),
            Some(raw) => Some(Some(exact(corrected(raw, factor, origin)?))),
        };
        Some(Extent {
            low: bound(low)?,
            high: bound(high)?,
            strict: false,
        })
    }

    /// Returns one bound of the range, times 10^18. With `upper`, this is the maximum, or the minimum if there is no
    /// maximum. Without `upper`, it is the minimum, or the maximum if there is no minimum.
    pub(in crate::search) fn bound(&self, item: usize, upper: bool) -> Option<i128> {
        let Extent { low, high, .. } = self.extent(item)?;
        let bound = if upper { high.or(low) } else { low.or(high) };
        bound?.scaled
    }
}

/// The minimum and the maximum number in `data`, times 10^18. `None` means that there is no bound: `data` has `L` (no
/// minimum) or `U` (no maximum). With both, neither bound exists.
#[derive(Debug, PartialEq, Eq)]
struct Raw {
    low: Option<i128>,
    high: Option<i128>,
}

impl Raw {
    fn read(data: &str, lower_limit: Option<i128>, upper_limit: Option<i128>) -> Option<Raw> {
        let (mut low, mut high) = (None::<i128>, None::<i128>);
        let (mut open_below, mut open_above) = (false, false);
        let mut meet = |number: i128| {
            low = Some(low.map_or(number, |low| low.min(number)));
            high = Some(high.map_or(number, |high| high.max(number)));
        };
        for point in data.split_ascii_whitespace() {
            match point {
                "E" => {}
                "L" => open_below = true,
                "U" => open_above = true,
                number => {
                    let scaled = Decimal::parse(number).ok().and_then(|number| number.scaled());
                    let text = Some(number);
                    Stored { scaled, text }.nearest().into_iter().for_each(&mut meet);
                }
            }
        }
        if open_below {
            lower_limit.into_iter().for_each(&mut meet);
        }
        if open_above {
            upper_limit.into_iter().for_each(&mut meet);
        }
        low.is_some().then(|| Raw {
            low: low.filter(|_| !open_below),
            high: high.filter(|_| !open_above),
        })
    }
}

/// Computes a value from the number `raw` in `data`. All numbers are times 10^18. Digits after the 18th decimal place
/// are cut off.
fn corrected(raw: i128, factor: i128, origin: i128) -> Option<i128> {
    let product = i256::from_i128(raw).checked_mul(i256::from_i128(factor))?;
    product
        .checked_div(i256::from_i128(ONE))?
        .to_i128()?
        .checked_add(origin)
}

fn exact(scaled: i128) -> Stored<'static> {
    Stored {
        scaled: Some(scaled),
        text: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_data() {
        let read = |data: &str| {
            let raw = Raw::read(data, Some(-2 * ONE), Some(9 * ONE))?;
            let whole = |bound: Option<i128>| bound.map(|bound| bound / ONE);
            Some((whole(raw.low), whole(raw.high)))
        };
        assert_eq!(read("3 1 E 2"), Some((Some(1), Some(3))));
        assert_eq!(read("3 L 1"), Some((None, Some(3))));
        assert_eq!(read("U 3"), Some((Some(3), None)));
        assert_eq!(read("L"), Some((None, Some(-2))));
        assert_eq!(read("U"), Some((Some(9), None)));
        assert_eq!(read("U L"), Some((None, None)));
        assert_eq!(read("L 3 U"), Some((None, None)));
        assert_eq!(read("E E"), None);
        assert_eq!(Raw::read("U", None, None), None);
        assert_eq!(Raw::read("L U", None, None), None);
        assert_eq!(Raw::read("L", None, Some(ONE)), None);
        assert_eq!(corrected(7 * ONE, ONE / 2, 100 * ONE), Some(103 * ONE + ONE / 2));
    }
}
