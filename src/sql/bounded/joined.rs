//! The operator `||` of texts as a function, so that its results are counted like those of functions. A chain `a || b
//! || c` is one call. The result is null if an operand is null.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::cast;
use arrow::compute::kernels::concat_elements::concat_elements_utf8_many;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};

use super::function::Bounded;

/// The name of the function in plans.
const NAME: &str = "text_join";

/// Joins texts.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Joined {
    /// The name that the operator has in the statement.
    named: String,
    signature: Signature,
}

impl Default for Joined {
    fn default() -> Joined {
        Joined::named(NAME.to_owned())
    }
}

impl Joined {
    fn named(named: String) -> Joined {
        Joined {
            named,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

/// Returns the call that replaces `left || right`. `None` if the operands are no texts.
pub(super) fn call(binary: BinaryExpr, schema: &DFSchema) -> Result<ScalarFunction, BinaryExpr> {
    let expression = Expr::BinaryExpr(binary);
    let is_text = expression.get_type(schema).is_ok_and(|data_type| is_text(&data_type));
    let named = expression.schema_name().to_string();
    let Expr::BinaryExpr(binary) = expression else {
        return Ok(ScalarFunction::new_udf(
            Arc::new(ScalarUDF::from(Joined::default())),
            Vec::new(),
        ));
    };
    if !is_text {
        return Err(binary);
    }
    let mut operands = operands(*binary.left);
    operands.extend(self::operands(*binary.right));
    Ok(ScalarFunction::new_udf(
        Arc::new(ScalarUDF::from(Joined::named(named))),
        operands,
    ))
}

/// Returns the operands of a call that has replaced an operator. Returns any other expression as the only operand.
fn operands(expression: Expr) -> Vec<Expr> {
    let is_joined = |call: &ScalarFunction| {
        let bounded = call.func.inner().downcast_ref::<Bounded>();
        bounded.is_some_and(|bounded| bounded.inner().inner().is::<Joined>())
    };
    match expression {
        Expr::ScalarFunction(call) if is_joined(&call) => call.args,
        other => vec![other],
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl ScalarUDFImpl for Joined {
    fn name(&self) -> &str {
        NAME
    }

    fn schema_name(&self, _: &[Expr]) -> Result<String> {
        Ok(self.named.clone())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let mut common = arg_types.first().cloned().unwrap_or(DataType::Utf8);
        for other in arg_types.iter().skip(1) {
            common = BinaryTypeCoercer::new(&common, &Operator::StringConcat, other).get_result_type()?;
        }
        let common = if is_text(&common) { common } else { DataType::Utf8 };
        Ok(vec![common; arg_types.len()])
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let text = arg_types.iter().find(|data_type| is_text(data_type));
        Ok(text.cloned().unwrap_or(DataType::Utf8))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(
            &self.named,
            self.return_type(&types)?,
            is_nullable,
        )))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_array = |argument: &ColumnarValue| matches!(argument, ColumnarValue::Array(_));
        let is_constant = !arguments.args.iter().any(is_array);
        let rows = if is_constant { 1 } else { arguments.number_rows };
        let arrays = arguments.args.iter().map(|argument| argument.to_array(rows));
        let data_type = arguments.return_field.data_type();
        let joined = match data_type {
            DataType::LargeUtf8 => {
                let arrays: Vec<ArrayRef> = arrays
                    .map(|array| Ok(cast(&array?, &DataType::LargeUtf8)?))
                    .collect::<Result<_>>()?;
                let texts: Vec<_> = arrays.iter().map(|array| array.as_string::<i64>()).collect();
                Arc::new(concat_elements_utf8_many(&texts)?) as ArrayRef
            }
            _ => {
                let arrays: Vec<ArrayRef> = arrays
                    .map(|array| Ok(cast(&array?, &DataType::Utf8)?))
                    .collect::<Result<_>>()?;
                let texts: Vec<&StringArray> = arrays.iter().map(|array| array.as_string::<i32>()).collect();
                let joined: ArrayRef = Arc::new(concat_elements_utf8_many(&texts)?);
                if data_type == &DataType::Utf8 {
                    joined
                } else {
                    cast(&joined, data_type)?
                }
            }
        };
        if joined.len() != rows {
            return exec_err!("{NAME} gave {} values for {rows} rows", joined.len());
        }
        Ok(if is_constant {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&joined, 0)?)
        } else {
            ColumnarValue::Array(joined)
        })
    }
}
