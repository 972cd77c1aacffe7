//! Tests of parameters over plain columns: dates and numbers that are elements of the resource itself and occur at most
//! once. The columns are compared directly, without the parameter's program. The result is the same as the program's.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Decimal128Type, TimestampMicrosecondType};

use super::super::parameters::plain::{Kind, Plain, RootElement};
use super::super::parameters::values::{Interval, Numbers, Stored};
use super::criterion::Test;
use super::matcher::{Many, Matcher};
use crate::fhir::storage::{END, NUMBER, START};

impl Plain {
    /// Sets `rows[row]` for each row that passes the test. Returns `false` and changes nothing if this file cannot
    /// decide the test on these columns.
    pub(in crate::search) fn mark(&self, test: &Test, batch: &RecordBatch, rows: &mut [bool]) -> bool {
        let Test::AnyOf { matchers, not } = test else {
            return false;
        };
        let dates = matchers.iter().map(|matcher| match matcher {
            Matcher::Date(date) => Some(date),
            _ => None,
        });
        let numbers = matchers.iter().map(|matcher| match matcher {
            Matcher::Quantity(value) if value.is_of_any_unit() => Some(&value.number),
            _ => None,
        });
        let done = if let [Matcher::OneOfMany(many)] = matchers.as_slice() {
            match &**many {
                Many::Dates(set) => self.mark_times(batch, rows, |target| set.matches(target)),
                Many::Quantities(set) => set
                    .numbers()
                    .is_some_and(|numbers| self.mark_numbers(&[numbers], batch, rows)),
                _ => false,
            }
        } else if let Some(dates) = dates.collect::<Option<Vec<_>>>() {
            self.mark_times(batch, rows, |target| dates.iter().any(|date| date.matches(target)))
        } else if let Some(numbers) = numbers.collect::<Option<Vec<_>>>() {
            self.mark_numbers(&numbers, batch, rows)
        } else {
            false
        };
        if done && *not {
            rows.iter_mut().for_each(|row| *row = !*row);
        }
        done
    }

    /// Reads the columns of each root element of the parameter with `of`. Leaves out elements for which `of` finds no
    /// columns, because they have no value in the batch. Returns `None` if this file cannot decide the test on one of
    /// the elements.
    fn columns<T>(
        &self,
        batch: &RecordBatch,
        of: impl Fn(&RootElement, &RecordBatch) -> Result<Option<T>, Undecided>,
    ) -> Option<Vec<T>> {
        let columns = self.places.iter().map(|place| of(place, batch));
        columns.filter_map(Result::transpose).collect::<Result<_, _>>().ok()
    }

    fn mark_times(&self, batch: &RecordBatch, rows: &mut [bool], hit: impl Fn(Interval<i64>) -> bool) -> bool {
        let Some(columns) = self.columns(batch, Times::of) else {
            return false;
        };
        columns.iter().for_each(|times| times.mark(rows, &hit));
        true
    }

    fn mark_numbers(&self, numbers: &[&impl Numbers], batch: &RecordBatch, rows: &mut [bool]) -> bool {
        let Some(columns) = self.columns(batch, Amounts::of) else {
            return false;
        };
        for column in columns {
            for number in numbers {
                column.mark(rows, |stored, comparator| number.matches_quantity(stored, comparator));
            }
        }
        true
    }
}

/// This file cannot decide the test on a column, so the program must run.
struct Undecided;

/// The starts and ends of dates or Periods, in microseconds.
struct Times {
    starts: ArrayRef,
    ends: ArrayRef,
    /// Whether a missing start or end means that there is no bound. If not, a value has both or neither.
    open: bool,
}

impl Times {
    fn of(place: &RootElement, batch: &RecordBatch) -> Result<Option<Times>, Undecided> {
        let (starts, ends, open) = match place.kind {
            Kind::Moment => {
                let bound = |suffix| batch.column_by_name(&format!("{}{suffix}", place.column)).cloned();
                (bound(START), bound(END), false)
            }
            Kind::Period => {
                let bound = |name, suffix| child(batch, &place.column, &format!("{name}{suffix}"));
                (bound("start", START)?, bound("end", END)?, true)
            }
            _ => return absent(place, batch),
        };
        match (starts, ends) {
            (Some(starts), Some(ends)) if is_time(&starts) && is_time(&ends) => Ok(Some(Times { starts, ends, open })),
            _ => absent(place, batch),
        }
    }

    fn mark(&self, rows: &mut [bool], hit: impl Fn(Interval<i64>) -> bool) {
        let starts = self.starts.as_primitive::<TimestampMicrosecondType>();
        let ends = self.ends.as_primitive::<TimestampMicrosecondType>();
        let (has_start, has_end) = (validity(starts.nulls()), validity(ends.nulls()));
        let times = starts.values().iter().zip(ends.values().iter());
        for (row, (marked, (start, end))) in rows.iter_mut().zip(times).enumerate() {
            let (start, end) = match (has_start(row), has_end(row)) {
                (true, true) => (*start, *end),
                (true, false) if self.open => (*start, i64::MAX),
                (false, true) if self.open => (i64::MIN, *end),
                _ => continue,
            };
            *marked |= hit(Interval { start, end });
        }
    }
}

/// Returns a function that tells whether a row has a value. It makes two calls fewer per row than `Array::is_valid`.
fn validity(nulls: Option<&NullBuffer>) -> impl Fn(usize) -> bool + '_ {
    move |row| nulls.is_none_or(|nulls| nulls.is_valid(row))
}

fn is_time(array: &ArrayRef) -> bool {
    array.as_primitive_opt::<TimestampMicrosecondType>().is_some()
}

/// Quantities: their numbers times 10^18, their numbers as written, and their comparators.
struct Amounts {
    numbers: ArrayRef,
    texts: Option<ArrayRef>,
    comparators: Option<ArrayRef>,
}

impl Amounts {
    fn of(place: &RootElement, batch: &RecordBatch) -> Result<Option<Amounts>, Undecided> {
        if place.kind != Kind::Quantity {
            return absent(place, batch);
        }
        let text = |name| Ok(child(batch, &place.column, name)?.filter(|texts| texts.as_string_opt::<i32>().is_some()));
        let numbers = child(batch, &place.column, &format!("value{NUMBER}"))?;
        let texts = text("value")?;
        let comparators = text("comparator")?.filter(|texts| texts.null_count() < texts.len());
        match numbers {
            Some(numbers) if numbers.as_primitive_opt::<Decimal128Type>().is_some() => Ok(Some(Amounts {
                numbers,
                texts,
                comparators,
            })),
            _ => absent(place, batch),
        }
    }

    fn mark(&self, rows: &mut [bool], hit: impl Fn(Stored<'_>, Option<&str>) -> bool) {
        let numbers = self.numbers.as_primitive::<Decimal128Type>();
        let texts = self.texts.as_ref().map(|texts| texts.as_string::<i32>());
        let comparators = self.comparators.as_ref().map(|texts| texts.as_string::<i32>());
        let has_number = validity(numbers.nulls());
        for (row, (marked, number)) in rows.iter_mut().zip(numbers.values().iter()).enumerate() {
            let scaled = has_number(row).then_some(*number);
            let text = texts.filter(|texts| scaled.is_none() && texts.is_valid(row));
            let text = text.map(|texts| texts.value(row));
            if scaled.is_some() || text.is_some() {
                let comparator = comparators.filter(|texts| texts.is_valid(row));
                *marked |= hit(Stored { scaled, text }, comparator.map(|texts| texts.value(row)));
            }
        }
    }
}

/// Returns the child `name` of the root struct `column`. The child is null wherever the struct is null. Returns `None`
/// if the batch lacks the struct or the child, and an error if the column is not a struct.
fn child(batch: &RecordBatch, column: &str, name: &str) -> Result<Option<ArrayRef>, Undecided> {
    let Some(parent) = batch.column_by_name(column) else {
        return Ok(None);
    };
    let parent = parent.as_struct_opt().ok_or(Undecided)?;
    let Some(child) = parent.column_by_name(name) else {
        return Ok(None);
    };
    match parent.nulls() {
        None => Ok(Some(child.clone())),
        Some(above) => {
            let nulls = NullBuffer::union(Some(above), child.nulls());
            let data = child.to_data().into_builder().nulls(nulls).build();
            Ok(Some(arrow::array::make_array(data.map_err(|_| Undecided)?)))
        }
    }
}

/// Returns `Ok(None)` if all columns of the element are missing or null, because then there is no value. Otherwise
/// returns an error, because only the program can read the values.
fn absent<T>(place: &RootElement, batch: &RecordBatch) -> Result<Option<T>, Undecided> {
    let companion = format!("{}__", place.column);
    let schema = batch.schema();
    let mut columns = schema.fields().iter().zip(batch.columns());
    let empty = columns.all(|(field, array)| {
        let of_place = *field.name() == place.column || field.name().starts_with(&companion);
        !of_place || array.null_count() == array.len()
    });
    if empty { Ok(None) } else { Err(Undecided) }
}
