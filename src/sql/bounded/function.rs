//! A function whose results are counted in the memory of the statement.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::account::{Account, too_large};
use super::growth::Growth;
use super::sizes::of_scalar;

/// Returns a function that reserves memory for its results, and otherwise behaves as `function`. `None` if the results
/// of the function need not be counted, or are counted already.
pub(super) fn bounded(function: &Arc<ScalarUDF>, account: &Arc<Account>) -> Option<Arc<ScalarUDF>> {
    let growth = Growth::of(function.name())?;
    (!function.inner().is::<Bounded>()).then(|| Bounded::over(function.as_ref().clone(), growth, account))
}

/// A function that reserves memory before it computes its results.
#[derive(Debug)]
pub(super) struct Bounded {
    inner: ScalarUDF,
    growth: Growth,
    account: Arc<Account>,
}

impl Bounded {
    fn over(inner: ScalarUDF, growth: Growth, account: &Arc<Account>) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::from(Bounded {
            inner,
            growth,
            account: account.clone(),
        }))
    }

    /// Returns the function itself.
    pub(super) fn inner(&self) -> &ScalarUDF {
        &self.inner
    }

    /// Evaluates the function for constants. The result is a constant, too, and must be small.
    fn of_constants(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let bytes = self.growth.bytes(&arguments.args, 1).into_iter().sum();
        if bytes > self.account.max_step() {
            return Err(too_large());
        }
        let reservation = self.account.reserve(bytes)?;
        let result = self.inner.invoke_with_args(arguments)?;
        match &result {
            ColumnarValue::Scalar(value) => self.account.constant(of_scalar(value), value.data_type().is_nested())?,
            ColumnarValue::Array(array) => self.account.keep(array, reservation)?,
        }
        Ok(result)
    }

    /// Evaluates the function for some rows, whose results have at most this many bytes.
    fn of_rows(&self, arguments: ScalarFunctionArgs, bytes: u64) -> Result<ColumnarValue> {
        let reservation = self.account.reserve(bytes)?;
        let result = self.inner.invoke_with_args(arguments)?;
        if let ColumnarValue::Array(array) = &result {
            self.account.keep(array, reservation)?;
        }
        Ok(result)
    }
}

/// Divides rows into parts whose results have at most `max` bytes. A part has at least one row. Each part is the index
/// of its first row, its number of rows, and the bytes of its results.
fn parts(bytes: &[u64], max: u64) -> Vec<(usize, usize, u64)> {
    let mut parts: Vec<(usize, usize, u64)> = Vec::new();
    for (row, bytes) in bytes.iter().enumerate() {
        match parts.last_mut() {
            Some((_, rows, sum)) if sum.saturating_add(*bytes) <= max => {
                *rows += 1;
                *sum += bytes;
            }
            _ => parts.push((row, 1, *bytes)),
        }
    }
    parts
}

/// Returns the arguments for some of the rows.
fn sliced(arguments: &ScalarFunctionArgs, from: usize, rows: usize) -> ScalarFunctionArgs {
    let slice = |argument: &ColumnarValue| match argument {
        ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(from, rows)),
        ColumnarValue::Scalar(value) => ColumnarValue::Scalar(value.clone()),
    };
    ScalarFunctionArgs {
        args: arguments.args.iter().map(slice).collect(),
        arg_fields: arguments.arg_fields.clone(),
        number_rows: rows,
        return_field: arguments.return_field.clone(),
        config_options: arguments.config_options.clone(),
    }
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Bounded) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Bounded {}

impl Hash for Bounded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

/// The function keeps its own rules, except for `simplify`: a simplified function would not be counted, and would join
/// constants without a bound.
impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.inner().schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.inner().return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.inner().return_field_from_args(args)
    }

    fn is_strict(&self) -> bool {
        self.inner.inner().is_strict()
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let inner = self.inner.inner().with_updated_config(config)?;
        let updated = Bounded::over(inner, self.growth, &self.account);
        Some(updated.as_ref().clone())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = |argument: &ColumnarValue| matches!(argument, ColumnarValue::Scalar(_));
        if arguments.args.iter().all(is_constant) {
            return self.of_constants(arguments);
        }
        let bytes = self.growth.bytes(&arguments.args, arguments.number_rows);
        let parts = parts(&bytes, self.account.max_step());
        if parts.len() <= 1 {
            return self.of_rows(arguments, parts.first().map_or(0, |(_, _, bytes)| *bytes));
        }
        let mut results: Vec<ArrayRef> = Vec::with_capacity(parts.len());
        for (from, rows, bytes) in parts {
            let result = self.of_rows(sliced(&arguments, from, rows), bytes)?;
            results.push(result.into_array(rows)?);
        }
        let size = results.iter().map(|array| array.get_array_memory_size() as u64).sum();
        let reservation = self.account.reserve(size)?;
        let all: Vec<&dyn Array> = results.iter().map(AsRef::as_ref).collect();
        let joined = concat(&all)?;
        drop(results);
        self.account.keep(&joined, reservation)?;
        Ok(ColumnarValue::Array(joined))
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.inner().conditional_arguments(args)
    }

    fn short_circuits(&self) -> bool {
        self.inner.inner().short_circuits()
    }

    fn evaluate_bounds(&self, input: &[&Interval]) -> Result<Interval> {
        self.inner.inner().evaluate_bounds(input)
    }

    fn propagate_constraints(&self, interval: &Interval, inputs: &[&Interval]) -> Result<Option<Vec<Interval>>> {
        self.inner.inner().propagate_constraints(interval, inputs)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.inner().output_ordering(inputs)
    }

    fn preserves_lex_ordering(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.inner().preserves_lex_ordering(inputs)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.inner().coerce_types(arg_types)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.inner().documentation()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_divided_by_the_size_of_their_results() {
        assert_eq!(parts(&[], 10), []);
        assert_eq!(
            parts(&[4, 4, 4, 20, 1, 1], 10),
            [(0, 2, 8), (2, 1, 4), (3, 1, 20), (4, 2, 2)]
        );
        assert_eq!(parts(&[u64::MAX, u64::MAX], 10), [(0, 1, u64::MAX), (1, 1, u64::MAX)]);
    }
}
