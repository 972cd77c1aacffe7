//! UCUM as far as quantities in records need it: prefixes, the common units, products, quotients and powers. A unit it does not
//! know is a dimension of its own, comparable with itself only.

use super::number::Number;

/// Base units with their powers, sorted, none with power 0.
pub(super) type Dimension = Vec<(String, i32)>;

/// What a unit measures, and how much of it.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) factor: Number,
    pub(super) divisor: Number,
    pub(super) dimensions: Dimension,
}

const PREFIXES: [(&str, i32); 20] = [
    ("da", 1),
    ("Y", 24),
    ("Z", 21),
    ("E", 18),
    ("P", 15),
    ("T", 12),
    ("G", 9),
    ("M", 6),
    ("k", 3),
    ("h", 2),
    ("d", -1),
    ("c", -2),
    ("m", -3),
    ("u", -6),
    ("n", -9),
    ("p", -12),
    ("f", -15),
    ("a", -18),
    ("z", -21),
    ("y", -24),
];

/// A unit's code, how much of its base units it is, and those with their powers.
type Atom = (&'static str, &'static str, &'static [(&'static str, i32)]);

/// Units that prefixes go with, in terms of base units: name, factor, base units and powers.
const METRIC: [Atom; 16] = [
    ("m", "1", &[("m", 1)]),
    ("g", "1", &[("g", 1)]),
    ("s", "1", &[("s", 1)]),
    ("mol", "1", &[("mol", 1)]),
    ("L", "0.001", &[("m", 3)]),
    ("l", "0.001", &[("m", 3)]),
    ("Hz", "1", &[("s", -1)]),
    ("N", "1000", &[("g", 1), ("m", 1), ("s", -2)]),
    ("Pa", "1000", &[("g", 1), ("m", -1), ("s", -2)]),
    ("J", "1000", &[("g", 1), ("m", 2), ("s", -2)]),
    ("W", "1000", &[("g", 1), ("m", 2), ("s", -3)]),
    ("cal", "4184", &[("g", 1), ("m", 2), ("s", -2)]),
    ("K", "1", &[("K", 1)]),
    ("eq", "1", &[("mol", 1)]),
    ("[iU]", "1", &[("[iU]", 1)]),
    ("[IU]", "1", &[("[iU]", 1)]),
];

/// Units without prefixes.
const CUSTOMARY: [Atom; 18] = [
    ("1", "1", &[]),
    ("%", "0.01", &[]),
    ("min", "60", &[("s", 1)]),
    ("h", "3600", &[("s", 1)]),
    ("d", "86400", &[("s", 1)]),
    ("wk", "604800", &[("s", 1)]),
    ("mo", "2629800", &[("s", 1)]),
    ("a", "31557600", &[("s", 1)]),
    ("[in_i]", "0.0254", &[("m", 1)]),
    ("[ft_i]", "0.3048", &[("m", 1)]),
    ("[yd_i]", "0.9144", &[("m", 1)]),
    ("[mi_i]", "1609.344", &[("m", 1)]),
    ("[lb_av]", "453.59237", &[("g", 1)]),
    ("[oz_av]", "28.349523125", &[("g", 1)]),
    ("t", "1000000", &[("g", 1)]),
    ("mm[Hg]", "133322", &[("g", 1), ("m", -1), ("s", -2)]),
    ("bar", "100000000", &[("g", 1), ("m", -1), ("s", -2)]),
    ("deg", "1", &[("deg", 1)]),
];

impl Unit {
    pub(super) fn to_base(&self, value: Number) -> Option<Number> {
        let scaled = value.multiply(self.factor)?;
        if self.divisor.mantissa == 1 && self.divisor.scale == 0 {
            Some(scaled)
        } else {
            scaled.divide(self.divisor)
        }
    }

    fn raise(&mut self, factor: Number, dimensions: &[(&str, i32)], power: i32) -> Option<()> {
        let target = if power < 0 { &mut self.divisor } else { &mut self.factor };
        for _ in 0..power.unsigned_abs() {
            *target = target.multiply(factor)?;
        }
        for (base, of) in dimensions {
            match self.dimensions.iter_mut().find(|(known, _)| known == base) {
                Some((_, sum)) => *sum += of * power,
                None => self.dimensions.push(((*base).to_string(), of * power)),
            }
        }
        Some(())
    }
}

/// Takes a unit apart; `None` for what is no unit or too large to compute with.
pub(super) fn parse(text: &str) -> Option<Unit> {
    let mut unit = Unit {
        factor: Number::whole(1),
        divisor: Number::whole(1),
        dimensions: Vec::new(),
    };
    let (mut sign, mut rest) = (1, text);
    if let Some(after) = rest.strip_prefix('/') {
        (sign, rest) = (-1, after);
    }
    loop {
        let end = component_end(rest);
        component(&mut unit, &rest[..end], sign)?;
        match rest[end..].chars().next() {
            None => break,
            Some(operator) => {
                sign = if operator == '/' { -1 } else { 1 };
                rest = &rest[end + 1..];
            }
        }
    }
    unit.dimensions.retain(|(_, power)| *power != 0);
    unit.dimensions.sort();
    Some(unit)
}

/// Where the component ends that `text` begins with: at a `.` or `/` outside brackets and annotations.
fn component_end(text: &str) -> usize {
    let mut depth = 0i32;
    for (at, letter) in text.char_indices() {
        match letter {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            '.' | '/' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

fn component(unit: &mut Unit, text: &str, sign: i32) -> Option<()> {
    let text = text.split('{').next().unwrap_or(text);
    if text.is_empty() {
        return Some(());
    }
    if let Some(exponent) = text.strip_prefix("10*").or_else(|| text.strip_prefix("10^")) {
        let exponent: i32 = exponent.parse().ok().filter(|exponent: &i32| exponent.abs() <= 24)?;
        return unit.raise(Number::whole(10), &[], exponent * sign);
    }
    if let Ok(number) = text.parse::<u32>() {
        return unit.raise(Number::whole(i64::from(number)), &[], sign);
    }
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let (atom, power) = match &text[digits.len()..] {
        "" => (text, 1),
        power => {
            let negative = digits.ends_with('-');
            let power: i32 = power.parse().ok().filter(|power| *power <= 9)?;
            (
                digits.trim_end_matches(['-', '+']),
                if negative { -power } else { power },
            )
        }
    };
    let power = power * sign;
    let find = |table: &'static [Atom], name: &str| {
        table
            .iter()
            .find(|(known, _, _)| *known == name)
            .map(|(_, factor, base)| (*factor, *base))
    };
    if let Some((factor, base)) = find(&CUSTOMARY, atom).or_else(|| find(&METRIC, atom)) {
        return unit.raise(Number::parse(factor)?, base, power);
    }
    for (prefix, exponent) in PREFIXES {
        let Some((factor, base)) = atom.strip_prefix(prefix).and_then(|rest| find(&METRIC, rest)) else {
            continue;
        };
        unit.raise(Number::parse(factor)?, base, power)?;
        return unit.raise(Number::whole(10), &[], exponent * power);
    }
    unit.raise(Number::whole(1), &[(atom, 1)], power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(value: &str, unit: &str) -> (String, Dimension) {
        let unit = parse(unit).unwrap();
        (
            unit.to_base(Number::parse(value).unwrap())
                .unwrap()
                .trimmed()
                .to_string(),
            unit.dimensions,
        )
    }

    #[test]
    fn units_of_one_kind_meet_in_base_units() {
        assert_eq!(base("5", "mg/dL"), base("0.05", "g/L"));
        assert_eq!(base("1", "h"), base("60", "min"));
        assert_eq!(base("1", "[in_i]"), base("2.54", "cm"));
        assert_eq!(base("4", "10*3/uL"), base("4", "10*9/L"));
        assert_ne!(base("1", "g").1, base("1", "m").1);
        assert_eq!(base("1", "{score}").1, base("1", "1").1);
    }
}
