//! Upper bounds for the results of functions, computed from their arguments.

use datafusion::logical_expr::ColumnarValue;

use super::sizes::{Each, bytes, items, places, whole};

/// The bytes of a value in addition to its contents: offsets, views, nulls.
const SLOT: u64 = 32;

/// How the result of a function grows with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// At most the sum of the arguments, times this factor.
    Sum(u64),
    /// `repeat(text, times)` and `array_repeat(value, times)`.
    Times,
    /// `lpad(text, length, fill)` and `rpad`: `length` characters.
    Padded,
    /// `array_resize(list, size, value)`.
    Resized,
    /// `replace(text, from, to)`.
    Replaced,
    /// `regexp_replace(text, pattern, to)`: `to` may stand between any two characters, and contain the match often.
    Matched,
    /// `regexp_match(text, pattern)`: each group of the pattern is a part of the text.
    Groups,
    /// `array_replace(list, from, to)`.
    ReplacedItems,
    /// `array_to_string(list, delimiter, null)`.
    Text,
    /// `string_to_array(text, delimiter, null)`.
    Parts,
    /// `to_char(time, format)`.
    Format,
    /// `concat_ws(delimiter, ...)` and `arrays_zip(...)`: the sum of the arguments, times their number.
    Each,
    /// `range(from, to, step)` and `generate_series`.
    Series,
}

/// The functions whose results can be larger than a few bytes, and how they grow. Functions that only choose a value,
/// such as `coalesce`, are not in the list. Nor are those that share the memory of their argument, such as `get_field`.
pub(super) const GROWTHS: &[(&str, Growth)] = &[
    ("array_add", Growth::Sum(2)),
    ("array_any_value", Growth::Sum(1)),
    ("array_append", Growth::Sum(2)),
    ("array_compact", Growth::Sum(1)),
    ("array_concat", Growth::Sum(2)),
    ("array_distinct", Growth::Sum(2)),
    ("array_element", Growth::Sum(1)),
    ("array_except", Growth::Sum(2)),
    ("array_intersect", Growth::Sum(2)),
    ("array_normalize", Growth::Sum(2)),
    ("array_pop_back", Growth::Sum(1)),
    ("array_pop_front", Growth::Sum(1)),
    ("array_positions", Growth::Sum(16)),
    ("array_prepend", Growth::Sum(2)),
    ("array_remove", Growth::Sum(1)),
    ("array_remove_all", Growth::Sum(1)),
    ("array_remove_n", Growth::Sum(1)),
    ("array_repeat", Growth::Times),
    ("array_replace", Growth::ReplacedItems),
    ("array_replace_all", Growth::ReplacedItems),
    ("array_replace_n", Growth::ReplacedItems),
    ("array_resize", Growth::Resized),
    ("array_reverse", Growth::Sum(1)),
    ("array_scale", Growth::Sum(2)),
    ("array_slice", Growth::Sum(1)),
    ("array_sort", Growth::Sum(2)),
    ("array_subtract", Growth::Sum(2)),
    ("array_to_string", Growth::Text),
    ("array_union", Growth::Sum(2)),
    ("arrays_zip", Growth::Each),
    ("btrim", Growth::Sum(1)),
    ("concat", Growth::Sum(1)),
    ("concat_ws", Growth::Each),
    ("decode", Growth::Sum(1)),
    ("encode", Growth::Sum(2)),
    ("flatten", Growth::Sum(1)),
    ("generate_series", Growth::Series),
    ("greatest", Growth::Sum(1)),
    ("initcap", Growth::Sum(3)),
    ("least", Growth::Sum(1)),
    ("left", Growth::Sum(1)),
    ("lower", Growth::Sum(3)),
    ("lpad", Growth::Padded),
    ("ltrim", Growth::Sum(1)),
    ("make_array", Growth::Sum(2)),
    ("map", Growth::Sum(2)),
    ("map_entries", Growth::Sum(1)),
    ("map_extract", Growth::Sum(1)),
    ("map_keys", Growth::Sum(1)),
    ("map_values", Growth::Sum(1)),
    ("overlay", Growth::Sum(1)),
    ("range", Growth::Series),
    ("regexp_match", Growth::Groups),
    ("regexp_replace", Growth::Matched),
    ("repeat", Growth::Times),
    ("replace", Growth::Replaced),
    ("reverse", Growth::Sum(1)),
    ("right", Growth::Sum(1)),
    ("rpad", Growth::Padded),
    ("rtrim", Growth::Sum(1)),
    ("split_part", Growth::Sum(1)),
    ("string_to_array", Growth::Parts),
    ("substr", Growth::Sum(1)),
    ("substr_index", Growth::Sum(1)),
    ("text_join", Growth::Sum(1)),
    ("to_char", Growth::Format),
    ("translate", Growth::Sum(4)),
    ("upper", Growth::Sum(3)),
];

impl Growth {
    /// Returns the growth of a function by its name. `None` if its results are not counted.
    pub(super) fn of(name: &str) -> Option<Growth> {
        let at = GROWTHS.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
        Some(GROWTHS[at].1)
    }

    /// Returns the maximum bytes of the result in each of this many rows.
    pub(super) fn bytes(self, arguments: &[ColumnarValue], rows: usize) -> Vec<u64> {
        let sizes: Vec<Each<u64>> = arguments.iter().map(bytes).collect();
        let size = |at: usize, row: usize| sizes.get(at).map_or(0, |sizes| sizes.at(row));
        let sum = |row: usize| sizes.iter().fold(SLOT, |sum, sizes| sum.saturating_add(sizes.at(row)));
        let of_rows = |of_row: &dyn Fn(usize) -> u64| (0..rows).map(|row| of_row(row).saturating_add(SLOT)).collect();
        let count = |at: usize| arguments.get(at).and_then(whole);
        let times = |count: &Option<Each<i64>>, row: usize| match count {
            Some(count) => u64::try_from(count.at(row)).unwrap_or(0),
            // The count is no number, so the function refuses it.
            None => 0,
        };
        match self {
            Growth::Sum(factor) => of_rows(&|row| sum(row).saturating_mul(factor)),
            Growth::Each => of_rows(&|row| sum(row).saturating_mul(sizes.len() as u64)),
            Growth::Times => {
                let count = count(1);
                of_rows(&|row| times(&count, row).saturating_mul(size(0, row).max(1)))
            }
            Growth::Padded => {
                let count = count(1);
                of_rows(&|row| times(&count, row).saturating_mul(4))
            }
            Growth::Resized => {
                let count = count(1);
                of_rows(&|row| {
                    let filled = times(&count, row).saturating_mul(size(2, row).max(16));
                    filled.saturating_add(size(0, row))
                })
            }
            Growth::Replaced => of_rows(&|row| {
                let (text, from, to) = (size(0, row), size(1, row), size(2, row));
                let found = text.checked_div(from).unwrap_or(text.saturating_add(1));
                found.saturating_mul(to).saturating_add(text)
            }),
            Growth::Matched => of_rows(&|row| {
                let text = size(0, row);
                (text + 1).saturating_mul(size(2, row)).saturating_add(text)
            }),
            Growth::Groups => of_rows(&|row| size(0, row).saturating_mul(size(1, row).saturating_add(1))),
            Growth::ReplacedItems => {
                let items = arguments.first().map_or(Each::Same(0), items);
                of_rows(&|row| items.at(row).saturating_mul(size(2, row)).saturating_add(size(0, row)))
            }
            Growth::Text => {
                let items = arguments.first().map_or(Each::Same(0), items);
                of_rows(&|row| {
                    let between = size(1, row).saturating_add(size(2, row)).saturating_add(SLOT);
                    items.at(row).saturating_mul(between).saturating_add(size(0, row))
                })
            }
            Growth::Parts => of_rows(&|row| (size(0, row) + 1).saturating_mul(SLOT.saturating_add(size(2, row)))),
            Growth::Format => of_rows(&|row| size(1, row).saturating_mul(16).saturating_add(64)),
            Growth::Series => {
                let series = Series::of(arguments);
                of_rows(&|row| series.as_ref().map_or(0, |series| series.items(row)).saturating_mul(8))
            }
        }
    }
}

/// The arguments of a series: from, to and step.
struct Series {
    from: Each<i128>,
    to: Each<i128>,
    step: Each<i128>,
}

impl Series {
    /// Reads the arguments. `None` if one of them is neither a number nor a time, because then the function fails.
    fn of(arguments: &[ColumnarValue]) -> Option<Series> {
        let one = || Some(Each::Same(1));
        match arguments {
            [to] => Some(Series {
                from: Each::Same(0),
                to: places(to)?,
                step: one()?,
            }),
            [from, to, rest @ ..] => Some(Series {
                from: places(from)?,
                to: places(to)?,
                step: rest.first().map_or_else(one, places)?,
            }),
            [] => None,
        }
    }

    /// Returns the maximum number of items in the list of a row.
    fn items(&self, row: usize) -> u64 {
        let step = self.step.at(row);
        if step == 0 {
            return 0;
        }
        let steps = (self.to.at(row) - self.from.at(row)) / step;
        u64::try_from(steps.max(-1) + 1).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use datafusion::common::ScalarValue;
    use datafusion::execution::SessionStateBuilder;

    use super::*;

    #[test]
    fn the_table_is_in_order_and_names_each_function_once() {
        assert!(GROWTHS.is_sorted_by(|(one, _), (other, _)| one < other));
    }

    /// Functions that return a number, a boolean or a time, choose one of their arguments, share its memory, or return
    /// a few bytes.
    const SMALL: &str = "\
        abs acos acosh array_any_match array_avg array_dims array_distance array_filter array_first \
        array_has array_has_all array_has_any array_length array_max array_min array_ndims array_position \
        array_product array_sum array_transform arrow_cast arrow_field arrow_metadata arrow_try_cast \
        arrow_typeof ascii asin asinh atan atan2 atanh bit_length cardinality cast_to_type cbrt ceil \
        character_length chr coalesce contains cos cosh cosine_distance cot current_date current_time \
        date_bin date_part date_trunc degrees empty ends_with exp factorial file_row_index find_in_set floor \
        from_unixtime gcd get_field inner_product input_file_name isnan iszero lcm levenshtein ln log log10 \
        log2 make_date make_time named_struct nanvl now nullif nvl nvl2 octet_length pi power radians random \
        regexp_count regexp_instr regexp_like round signum sin sinh sqrt starts_with strpos struct tan tanh \
        to_date to_hex to_local_time to_time to_timestamp to_timestamp_micros to_timestamp_millis \
        to_timestamp_nanos to_timestamp_seconds to_unixtime trunc try_cast_to_type union_extract union_tag \
        uuid version with_metadata";

    /// A new function of DataFusion must be put into one of the two lists.
    #[test]
    fn every_function_is_counted_or_known_to_be_small() {
        let state = SessionStateBuilder::new_with_default_features().build();
        let names: BTreeSet<&str> = state
            .scalar_functions()
            .values()
            .map(|function| function.name())
            .collect();
        let small: BTreeSet<&str> = SMALL.split_whitespace().collect();
        let unknown: Vec<&&str> = names
            .iter()
            .filter(|name| Growth::of(name).is_none() && !small.contains(*name))
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        let gone: Vec<&str> = GROWTHS
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| !names.contains(name))
            .collect();
        assert_eq!(gone, ["text_join"]);
    }

    #[test]
    fn a_result_is_bounded_by_its_arguments() {
        let text = |length: usize| ColumnarValue::Scalar(ScalarValue::from("x".repeat(length).as_str()));
        let number = |number: i64| ColumnarValue::Scalar(ScalarValue::from(number));
        let bytes = |name: &str, arguments: &[ColumnarValue]| Growth::of(name).unwrap().bytes(arguments, 1)[0] - SLOT;
        assert_eq!(bytes("repeat", &[text(3), number(1_000)]), 3_000);
        assert_eq!(bytes("repeat", &[text(3), number(-5)]), 0);
        assert_eq!(bytes("repeat", &[text(3), number(i64::MAX)]), u64::MAX - SLOT);
        assert_eq!(bytes("lpad", &[text(3), number(50), text(1)]), 200);
        assert_eq!(bytes("replace", &[text(10), text(0), text(7)]), 87);
        assert_eq!(bytes("replace", &[text(10), text(2), text(7)]), 45);
        assert_eq!(bytes("range", &[number(0), number(10), number(2)]), 48);
        assert_eq!(bytes("generate_series", &[number(10), number(0), number(-5)]), 24);
        assert_eq!(bytes("generate_series", &[number(10), number(0), number(5)]), 0);
        assert_eq!(Growth::of("coalesce"), None);
    }
}
