//! The sizes of a function's arguments, row by row.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, IntervalMonthDayNanoType, IntervalUnit, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::ColumnarValue;

/// The number of nanoseconds in a day.
const DAY: i128 = 86_400_000_000_000;
/// The minimum number of days in a month.
const MONTH: i128 = 28;

/// A number for each row, or the same for all rows.
pub(super) enum Each<T> {
    Same(T),
    Rows(Vec<T>),
}

impl<T: Copy> Each<T> {
    pub(super) fn at(&self, row: usize) -> T {
        match self {
            Each::Same(one) => *one,
            Each::Rows(all) => all[row],
        }
    }
}

/// Returns the bytes of each value of an argument.
pub(super) fn bytes(argument: &ColumnarValue) -> Each<u64> {
    match argument {
        ColumnarValue::Scalar(value) => Each::Same(of_scalar(value) as u64),
        ColumnarValue::Array(array) => of_array(array),
    }
}

/// Returns the bytes of a constant.
pub(super) fn of_scalar(value: &ScalarValue) -> usize {
    match value {
        ScalarValue::Null => 0,
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => {
            text.as_ref().map_or(0, String::len)
        }
        ScalarValue::Binary(bytes) | ScalarValue::LargeBinary(bytes) | ScalarValue::BinaryView(bytes) => {
            bytes.as_ref().map_or(0, Vec::len)
        }
        other => other.size(),
    }
}

fn of_array(array: &ArrayRef) -> Each<u64> {
    let lengths = |length: &dyn Fn(usize) -> usize| {
        let of_row = |row| if array.is_null(row) { 0 } else { length(row) as u64 };
        Each::Rows((0..array.len()).map(of_row).collect())
    };
    match array.data_type() {
        DataType::Utf8 => lengths(&|row| array.as_string::<i32>().value_length(row) as usize),
        DataType::LargeUtf8 => lengths(&|row| array.as_string::<i64>().value_length(row) as usize),
        DataType::Utf8View => lengths(&|row| array.as_string_view().value(row).len()),
        DataType::Binary => lengths(&|row| array.as_binary::<i32>().value_length(row) as usize),
        DataType::LargeBinary => lengths(&|row| array.as_binary::<i64>().value_length(row) as usize),
        DataType::BinaryView => lengths(&|row| array.as_binary_view().value(row).len()),
        other => match other.primitive_width() {
            Some(width) => Each::Same(width as u64),
            None => lengths(&|row| {
                let data = array.slice(row, 1).to_data();
                data.get_slice_memory_size().unwrap_or(usize::MAX)
            }),
        },
    }
}

/// Returns the number of items of each list of an argument, or 1 for a value that is no list.
pub(super) fn items(argument: &ColumnarValue) -> Each<u64> {
    let of_row = |array: &ArrayRef, row: usize| match array.data_type() {
        _ if array.is_null(row) => 0,
        DataType::List(_) => array.as_list::<i32>().value_length(row) as u64,
        DataType::LargeList(_) => array.as_list::<i64>().value_length(row) as u64,
        DataType::FixedSizeList(_, length) => *length as u64,
        _ => 1,
    };
    match argument {
        ColumnarValue::Array(array) => Each::Rows((0..array.len()).map(|row| of_row(array, row)).collect()),
        ColumnarValue::Scalar(value) => Each::Same(value.to_array().map_or(1, |array| of_row(&array, 0))),
    }
}

/// Returns each value of an argument as a whole number. A missing value is 0. `None` if the argument is no number.
pub(super) fn whole(argument: &ColumnarValue) -> Option<Each<i64>> {
    moments(argument, &DataType::Int64)
}

/// Returns each value of an argument in a unit that the values of a series have in common: whole numbers as they are,
/// dates and times in nanoseconds. `None` for other values.
pub(super) fn places(argument: &ColumnarValue) -> Option<Each<i128>> {
    let data_type = argument.data_type();
    let wide = |numbers: Each<i64>, unit: i128| match numbers {
        Each::Same(one) => Each::Same(i128::from(one) * unit),
        Each::Rows(all) => Each::Rows(all.into_iter().map(|one| i128::from(one) * unit).collect()),
    };
    match data_type {
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => {
            let microseconds = DataType::Timestamp(TimeUnit::Microsecond, None);
            Some(wide(moments(argument, &microseconds)?, 1_000))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let array = array_of(argument)?;
            let steps = array.as_primitive_opt::<IntervalMonthDayNanoType>()?;
            let length = |row: usize| {
                let step = steps.value(row);
                let days = i128::from(step.months) * MONTH + i128::from(step.days);
                days * DAY + i128::from(step.nanoseconds)
            };
            let of_row = |row: usize| if steps.is_null(row) { 0 } else { length(row) };
            Some(match argument {
                ColumnarValue::Scalar(_) => Each::Same(of_row(0)),
                ColumnarValue::Array(_) => Each::Rows((0..steps.len()).map(of_row).collect()),
            })
        }
        _ => Some(wide(whole(argument)?, 1)),
    }
}

fn moments(argument: &ColumnarValue, through: &DataType) -> Option<Each<i64>> {
    let array = cast(&cast(&array_of(argument)?, through).ok()?, &DataType::Int64).ok()?;
    let numbers = array.as_primitive_opt::<Int64Type>()?;
    let of_row = |row: usize| if numbers.is_null(row) { 0 } else { numbers.value(row) };
    Some(match argument {
        ColumnarValue::Scalar(_) => Each::Same(of_row(0)),
        ColumnarValue::Array(_) => Each::Rows((0..numbers.len()).map(of_row).collect()),
    })
}

fn array_of(argument: &ColumnarValue) -> Option<ArrayRef> {
    match argument {
        ColumnarValue::Array(array) => Some(array.clone()),
        ColumnarValue::Scalar(value) => value.to_array().ok(),
    }
}
