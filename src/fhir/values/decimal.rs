//! Decimals as written: exact, with the precision of their digits.
//!
//! A decimal is stored as its text. If the value fits decimal(38,18) exactly, [`Decimal::scaled`] returns it as an
//! integer. Decimals that do not fit are compared by their digits, which is exact, too. A search value without a
//! comparator means the [`Range`] of values that would be written in the same way (R4, section 3.1.1.5.3). Higher
//! modules do arithmetic.

use std::cmp::Ordering;

use super::super::storage::NUMBER_SCALE;

/// A parsed decimal: `±(whole ++ fraction) * 10^(exponent - len(fraction))`.
#[derive(Clone, Copy, Debug)]
pub struct Decimal<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
    has_exponent: bool,
}

/// Why a text is no decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// The text is not a JSON number.
    #[error("not a decimal number such as -12.50 or 1.2e3")]
    Form,
    /// The exponent has more than [`LONGEST_EXPONENT`] digits.
    #[error("the exponent is out of range")]
    Exponent,
}

/// The maximum number of digits of an exponent, without leading zeros.
pub const LONGEST_EXPONENT: usize = 9;
/// The lowest scaled number that is too large for decimal(38,18).
const BEYOND: i128 = 10i128.pow(38);

impl<'a> Decimal<'a> {
    /// Parses a JSON number.
    pub fn parse(text: &'a str) -> Result<Decimal<'a>, DecimalError> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (number, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        let (whole, fraction) = match number.split_once('.') {
            Some((_, "")) => return Err(DecimalError::Form),
            Some((whole, fraction)) => (whole, fraction),
            None => (number, ""),
        };
        if !is_digits(whole)
            || !fraction.is_empty() && !is_digits(fraction)
            || whole.len() > 1 && whole.starts_with('0')
        {
            return Err(DecimalError::Form);
        }
        let has_exponent = exponent.is_some();
        let exponent = exponent.map_or(Ok(0), parse_exponent)?;
        Ok(Decimal {
            negative,
            whole,
            fraction,
            exponent,
            has_exponent,
        })
    }

    /// Returns the value times 10^18, if that is an integer of at most 38 digits.
    pub fn scaled(&self) -> Option<i128> {
        let (digits, last) = self.significant();
        let shift = last + i64::from(NUMBER_SCALE);
        if digits == 0 {
            return Some(0);
        }
        if shift < 0 || digits as i64 + shift > 38 {
            return None;
        }
        let mut number: i128 = 0;
        for digit in self.digits().take(digits) {
            number = number * 10 + i128::from(digit - b'0');
        }
        number *= 10i128.pow(shift as u32);
        Some(if self.negative { -number } else { number })
    }

    /// Returns the range of values that would be written like this one with equally many digits: `100` means [99.5,
    /// 100.5), `100.00` means [99.995, 100.005), `1.0e2` means [95, 105). A single digit with an exponent counts as if
    /// a zero followed it: in R4 `1e2` means [95, 105), too.
    pub fn implicit_range(&self) -> Range {
        let zero = if self.has_exponent && self.whole.len() + self.fraction.len() == 1 {
            "0"
        } else {
            ""
        };
        let digits = format!("{}{}{zero}", self.whole, self.fraction);
        let last = self.exponent - self.fraction.len() as i64 - zero.len() as i64;
        let above = format!("{digits}5");
        let Some(below) = predecessor(&digits).map(|digits| format!("{digits}5")) else {
            // The value is zero. Its bounds are half a unit of the last digit below and above zero.
            return Range {
                lower: number(true, "5", last - 1),
                upper: number(false, "5", last - 1),
                closed: false,
            };
        };
        let (lower, upper) = if self.negative { (above, below) } else { (below, above) };
        Range {
            lower: number(self.negative, &lower, last - 1),
            upper: number(self.negative, &upper, last - 1),
            closed: false,
        }
    }

    /// Returns the range for the comparator `ap`: all values that differ from this value by at most a tenth of it.
    pub fn approximate_range(&self) -> Range {
        let digits = format!("{}{}", self.whole, self.fraction);
        let last = self.exponent - self.fraction.len() as i64;
        let (less, more) = (times(&digits, 9), times(&digits, 11));
        let (lower, upper) = if self.negative { (more, less) } else { (less, more) };
        Range {
            lower: number(self.negative, &lower, last - 1),
            upper: number(self.negative, &upper, last - 1),
            closed: true,
        }
    }

    /// Returns the digits without leading zeros.
    fn digits(&self) -> impl DoubleEndedIterator<Item = u8> + Clone + use<'a> {
        let skipped = leading_zeros(self.whole);
        let fraction = if skipped == self.whole.len() {
            &self.fraction[leading_zeros(self.fraction)..]
        } else {
            self.fraction
        };
        self.whole.as_bytes()[skipped..]
            .iter()
            .chain(fraction.as_bytes())
            .copied()
    }

    /// Returns two numbers: how many digits there are from the first nonzero digit to the last one, and the power of
    /// ten of this last digit.
    fn significant(&self) -> (usize, i64) {
        let all = self.digits();
        let trailing = all.clone().rev().take_while(|digit| *digit == b'0').count();
        let digits = all.count() - trailing;
        (digits, self.exponent - self.fraction.len() as i64 + trailing as i64)
    }

    fn sign(&self) -> i8 {
        match (self.significant().0, self.negative) {
            (0, _) => 0,
            (_, false) => 1,
            (_, true) => -1,
        }
    }

    fn compare_magnitude(&self, other: &Decimal<'_>) -> Ordering {
        let ((count, last), (other_count, other_last)) = (self.significant(), other.significant());
        // Compare the power of ten of the first digits, and then the digits themselves. Trailing zeros are not
        // compared.
        (last + count as i64)
            .cmp(&(other_last + other_count as i64))
            .then_with(|| self.digits().take(count).cmp(other.digits().take(other_count)))
    }
}

/// Compares by value: `1.0`, `1` and `10e-1` are equal.
impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal<'_> {}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = self.sign();
        sign.cmp(&other.sign()).then_with(|| match sign {
            0 => Ordering::Equal,
            1 => self.compare_magnitude(other),
            _ => other.compare_magnitude(self),
        })
    }
}

/// A range of values. It always includes the lower bound. It includes the upper bound only if `closed` is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    lower: String,
    upper: String,
    closed: bool,
}

impl Range {
    /// Returns the text of the lower bound.
    pub fn lower(&self) -> &str {
        &self.lower
    }

    /// Returns the text of the upper bound.
    pub fn upper(&self) -> &str {
        &self.upper
    }

    /// Whether `value` is in the range. The comparison is exact for any number of digits.
    pub fn contains(&self, value: &Decimal<'_>) -> bool {
        let (Ok(lower), Ok(upper)) = (Decimal::parse(&self.lower), Decimal::parse(&self.upper)) else {
            return false;
        };
        lower <= *value && (*value < upper || self.closed && *value == upper)
    }

    /// Returns the range in scaled numbers (the value times 10^18), half open: a decimal(38,18) with the scaled number
    /// `n` is in the range if `start <= n < end`. A bound that is too low or too high for decimal(38,18) becomes -10^38
    /// or 10^38.
    pub fn scaled(&self) -> (i128, i128) {
        let bound = |text: &str, closed| Decimal::parse(text).map_or(BEYOND, |bound| bound.scaled_up(closed));
        (bound(&self.lower, false), bound(&self.upper, self.closed))
    }
}

impl Decimal<'_> {
    /// Returns the lowest scaled number that is not less than the value. If `above` is set, returns the lowest one that
    /// is greater than the value. Limits the result to -10^38 to 10^38.
    fn scaled_up(&self, above: bool) -> i128 {
        let (digits, last) = self.significant();
        let shift = last + i64::from(NUMBER_SCALE);
        if digits == 0 {
            return i128::from(above);
        }
        if digits as i64 + shift > 38 {
            return if self.negative { -BEYOND } else { BEYOND };
        }
        if shift >= 0 {
            return self.scaled().map_or(BEYOND, |scaled| scaled + i128::from(above));
        }
        // The value is between two scaled numbers, because some of its digits come after the eighteenth decimal. Drop
        // these digits.
        let kept = (digits as i64 + shift).max(0) as usize;
        let toward_zero = self
            .digits()
            .take(kept)
            .fold(0, |number, digit| number * 10 + i128::from(digit - b'0'));
        if self.negative { -toward_zero } else { toward_zero + 1 }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn leading_zeros(text: &str) -> usize {
    text.len() - text.trim_start_matches('0').len()
}

fn parse_exponent(text: &str) -> Result<i64, DecimalError> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    if !is_digits(digits) {
        return Err(DecimalError::Form);
    }
    let digits = digits.trim_start_matches('0');
    if digits.len() > LONGEST_EXPONENT {
        return Err(DecimalError::Exponent);
    }
    Ok(sign
        * digits
            .bytes()
            .fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

/// Returns the text of the number `digits` * 10^`last`: `12.5` for the digits `125` and the power -1.
fn number(negative: bool, digits: &str, last: i64) -> String {
    let digits = match digits.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let sign = if negative { "-" } else { "" };
    match last {
        0 => format!("{sign}{digits}"),
        _ if last < 0 && last.unsigned_abs() <= 64 => {
            let decimals = last.unsigned_abs() as usize;
            let padded = format!("{digits:0>width$}", width = decimals + 1);
            let (whole, fraction) = padded.split_at(padded.len() - decimals);
            format!("{sign}{whole}.{fraction}")
        }
        _ => format!("{sign}{digits}e{last}"),
    }
}

/// Returns the digits of the integer before `digits`, with leading zeros: `099` for `100`. `None` for zero.
fn predecessor(digits: &str) -> Option<String> {
    let at = digits.rfind(|digit| digit != '0')?;
    let mut less = digits.as_bytes()[..at].to_vec();
    less.push(digits.as_bytes()[at] - 1);
    less.resize(digits.len(), b'9');
    String::from_utf8(less).ok()
}

/// Multiplies an integer, given as digits, by a small factor. Returns the digits of the product.
fn times(digits: &str, factor: u32) -> String {
    let mut carry = 0;
    let mut reversed: Vec<char> = Vec::with_capacity(digits.len() + 2);
    for digit in digits.bytes().rev() {
        let product = u32::from(digit - b'0') * factor + carry;
        reversed.extend(char::from_digit(product % 10, 10));
        carry = product / 10;
    }
    while carry > 0 {
        reversed.extend(char::from_digit(carry % 10, 10));
        carry /= 10;
    }
    reversed.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ONE: i128 = 10i128.pow(18);

    fn decimal(text: &str) -> Decimal<'_> {
        Decimal::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn only_json_numbers_are_decimals() {
        for text in [
            "0",
            "-0",
            "1",
            "10.00",
            "-1.5e10",
            "1E+2",
            "0.0e-0",
            "1e000000000000000007",
        ] {
            assert!(Decimal::parse(text).is_ok(), "{text}");
        }
        for text in [
            "", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1.e2", "1,5", " 1", "1 ", "0x1", "NaN", "1e2.0",
            "１", "--1",
        ] {
            assert_eq!(Decimal::parse(text).unwrap_err(), DecimalError::Form, "{text}");
        }
        assert_eq!(Decimal::parse("1e1234567890").unwrap_err(), DecimalError::Exponent);
    }

    #[test]
    fn what_fits_is_scaled_exactly() {
        let nines = "9".repeat(20);
        let eighteen = format!("0.{}1", "0".repeat(17));
        let longest = format!("{nines}.{}", "9".repeat(18));
        for (text, expected) in [
            ("0", Some(0)),
            ("-0.00", Some(0)),
            ("0e999999999", Some(0)),
            ("1", Some(ONE)),
            ("-1.50", Some(-ONE * 3 / 2)),
            ("1.2e3", Some(1200 * ONE)),
            ("120e-2", Some(ONE * 6 / 5)),
            ("1.000000000000000000000000", Some(ONE)),
            (&eighteen, Some(1)),
            ("1e-18", Some(1)),
            ("1e-19", None),
            ("10e-19", Some(1)),
            ("1e19", Some(10i128.pow(37))),
            ("1e20", None),
            (&longest, Some(BEYOND - 1)),
            ("-1e999999999", None),
            ("1E-22", None),
        ] {
            assert_eq!(decimal(text).scaled(), expected, "{text}");
        }
    }

    #[test]
    fn texts_compare_by_value() {
        let ascending = [
            "-1e999999999",
            "-1.0e3",
            "-999.99999999999999999999999999999999999",
            "-1",
            "-1e-400",
            "0",
            "1e-400",
            "1.5e-400",
            "0.1",
            "0.10000000000000000000000000000000000000001",
            "0.2",
            "9",
            "10",
            "10.5",
            "1e999999998",
            "1e999999999",
        ];
        for (at, one) in ascending.iter().enumerate() {
            for (other_at, other) in ascending.iter().enumerate() {
                assert_eq!(decimal(one).cmp(&decimal(other)), at.cmp(&other_at), "{one} {other}");
            }
        }
        for (one, other) in [
            ("1", "1.0"),
            ("0", "-0.0e5"),
            ("100", "1e2"),
            ("0.001", "1.00e-3"),
            ("-20", "-2e1"),
        ] {
            assert_eq!(decimal(one), decimal(other));
        }
    }

    #[test]
    fn a_value_means_those_written_like_it() {
        for (text, lower, upper) in [
            ("100", "99.5", "100.5"),
            ("100.00", "99.995", "100.005"),
            ("1e2", "95", "105"),
            ("1.0e2", "95", "105"),
            ("1.00e2", "99.5", "100.5"),
            ("1.00e4", "995e1", "1005e1"),
            ("-5.4", "-5.45", "-5.35"),
            ("5.40e-3", "0.005395", "0.005405"),
            ("0", "-0.5", "0.5"),
            ("-0.0", "-0.05", "0.05"),
            ("1", "0.5", "1.5"),
            ("2.0", "1.95", "2.05"),
            ("7e-80", "695e-82", "705e-82"),
        ] {
            let range = decimal(text).implicit_range();
            assert_eq!((range.lower(), range.upper()), (lower, upper), "{text}");
            assert!(
                range.contains(&decimal(text)) && range.contains(&decimal(lower)) && !range.contains(&decimal(upper))
            );
        }
    }

    #[test]
    fn approximately_is_within_a_tenth() {
        for (text, lower, upper) in [
            ("100", "90.0", "110.0"),
            ("-2.5", "-2.75", "-2.25"),
            ("1e3", "9e2", "11e2"),
            ("0", "0.0", "0.0"),
        ] {
            let range = decimal(text).approximate_range();
            assert_eq!((range.lower(), range.upper()), (lower, upper), "{text}");
            assert!(range.contains(&decimal(lower)) && range.contains(&decimal(upper)));
        }
    }

    #[test]
    fn ranges_are_scaled_to_the_numbers_in_them() {
        let scaled = |text| decimal(text).implicit_range().scaled();
        assert_eq!(scaled("100"), (ONE * 199 / 2, ONE * 201 / 2));
        assert_eq!(scaled("1e30"), (BEYOND, BEYOND));
        assert_eq!(scaled("-1e30"), (-BEYOND, -BEYOND));
        // The bounds are half a unit of the eighteenth decimal away, so they lie between two scaled numbers.
        assert_eq!(scaled("0.000000000000000002"), (2, 3));
        assert_eq!(scaled("-0.000000000000000002"), (-2, -1));
        assert_eq!(scaled("0.000000000000000000"), (0, 1));
        assert_eq!(
            decimal("1.0").approximate_range().scaled(),
            (ONE * 9 / 10, ONE * 11 / 10 + 1)
        );
        assert_eq!(decimal("0").approximate_range().scaled(), (0, 1));
        assert_eq!(decimal("1e-30").approximate_range().scaled(), (1, 1));
        assert_eq!(decimal("-1e-30").approximate_range().scaled(), (0, 0));
    }

    /// Generates a decimal's text, and its value times 10^18 by `i128` arithmetic.
    fn written() -> impl Strategy<Value = (String, i128)> {
        (-1_000_000_000i128..1_000_000_000, 0..12u32, -6..=6i32).prop_map(|(number, decimals, exponent)| {
            let digits = format!("{:0>width$}", number.abs(), width = decimals as usize + 1);
            let (whole, fraction) = digits.split_at(digits.len() - decimals as usize);
            let sign = if number < 0 { "-" } else { "" };
            let dot = if decimals > 0 { "." } else { "" };
            let power = 18 + exponent - decimals as i32;
            (
                format!("{sign}{whole}{dot}{fraction}e{exponent}"),
                number * 10i128.pow(power as u32),
            )
        })
    }

    proptest! {
        #[test]
        fn scaling_is_arithmetic((text, value) in written()) {
            prop_assert_eq!(decimal(&text).scaled(), Some(value));
        }

        #[test]
        fn order_is_that_of_the_numbers((one, value) in written(), (other, other_value) in written()) {
            prop_assert_eq!(decimal(&one).cmp(&decimal(&other)), value.cmp(&other_value));
        }

        #[test]
        fn both_ways_to_test_a_range_agree((text, _) in written(), (near, value) in written(), same in any::<bool>()) {
            let (near, value) = if same { (text.clone(), decimal(&text).scaled().unwrap()) } else { (near, value) };
            for range in [decimal(&text).implicit_range(), decimal(&text).approximate_range()] {
                let (start, end) = range.scaled();
                prop_assert_eq!(range.contains(&decimal(&near)), (start..end).contains(&value));
                prop_assert!(!same || range.contains(&decimal(&near)));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*", near in "-?[0-9]{0,45}\\.?[0-9]{0,45}([eE][-+]?[0-9]{0,12})?") {
            for text in [text, near] {
                if let Ok(found) = Decimal::parse(&text) {
                    found.scaled();
                    prop_assert_eq!(found, found);
                    for range in [found.implicit_range(), found.approximate_range()] {
                        prop_assert!(range.contains(&found), "{} {:?}", text, range);
                        let (start, end) = range.scaled();
                        prop_assert!(start <= end);
                    }
                }
            }
        }
    }
}
