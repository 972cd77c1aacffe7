//! Encodes and decodes expressions, with the functions of this project in them: conditions, sort keys and
//! `fhirpath()`.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, TableReference, internal_err};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, ScalarUDF};
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::logical_plan::from_proto::parse_expr;
use datafusion_proto::logical_plan::to_proto::serialize_expr;
use datafusion_proto::protobuf::LogicalExprNode;
use prost::Message;

use super::error::CodecError;
use super::forms::{Base64, CallForm, FunctionForm, ViewForm, of_bytes, to_bytes};
use super::travel::Travel;
use crate::lake::scan::{Predicate, ScopedTable, carried, function};
use crate::sql::{read_call, write_call};
use crate::views::{WrittenPredicate, WrittenView};

const FUNCTION: &str = "a function";
const EXPRESSION: &str = "an expression";

/// Encodes an expression.
pub(super) fn write(travel: &Travel, expression: &Expr) -> Result<Base64, CodecError> {
    let codec = Functions {
        travel: travel.clone(),
        table: None,
    };
    let written = serialize_expr(expression, &codec);
    // If a function cannot be encoded, DataFusion ignores the error and goes on without the function. So return the
    // error here.
    if let Some(error) = travel.failed() {
        return Err(error);
    }
    let written = written.map_err(|_| CodecError::Form(EXPRESSION))?;
    let bytes = written.encode_to_vec();
    // The decoder refuses bytes that are nested too deeply. So decode the bytes once here, to return this error now.
    LogicalExprNode::decode(bytes.as_slice()).map_err(|_| CodecError::Deep)?;
    Ok(Base64::of(&bytes))
}

/// Decodes an expression over the columns of `table`. `table` is `None` for an expression over the columns of a view.
pub(super) fn read(travel: &Travel, written: &Base64, table: Option<&ScopedTable>) -> Result<Expr, CodecError> {
    let codec = Functions {
        travel: travel.clone(),
        table: table.cloned(),
    };
    let node = LogicalExprNode::decode(written.bytes()?.as_slice()).map_err(|_| CodecError::Form(EXPRESSION))?;
    let context = travel.context();
    parse_expr(&node, &context, &codec).map_err(|_| travel.failed().unwrap_or(CodecError::Form(EXPRESSION)))
}

/// Encodes a function of this project. Returns `None` for a function of DataFusion, because DataFusion encodes it by
/// its name.
pub(super) fn write_function(travel: &Travel, function: &ScalarUDF) -> Result<Option<Vec<u8>>, CodecError> {
    let form = if let Some(predicate) = carried(function) {
        predicate_form(travel, predicate)?
    } else if let Some(key) = travel.engine().write_function(function)? {
        FunctionForm::Key(key)
    } else if let Some(call) = write_call(function) {
        FunctionForm::Call(CallForm::of(call))
    } else {
        return Ok(None);
    };
    to_bytes(&form, FUNCTION).map(Some)
}

fn predicate_form(travel: &Travel, predicate: &Arc<dyn Predicate>) -> Result<FunctionForm, CodecError> {
    if let Some(asked) = travel.engine().write_predicate(predicate, travel.filters())? {
        return Ok(FunctionForm::Asked(asked));
    }
    match crate::views::write_predicate(predicate.as_ref()) {
        Some(WrittenPredicate::Where(views)) => Ok(FunctionForm::Where(views.iter().map(ViewForm::of).collect())),
        Some(WrittenPredicate::Sought(view, filter)) => {
            Ok(FunctionForm::Sought(ViewForm::of(&view), write(travel, &filter)?))
        }
        None => Err(CodecError::Form("a condition")),
    }
}

/// Decodes a function of this project. A search condition refers to `table`, so it cannot be decoded if `table` is
/// `None`.
pub(super) fn read_function(
    travel: &Travel,
    bytes: &[u8],
    table: Option<&ScopedTable>,
) -> Result<ScalarUDF, CodecError> {
    let written = match of_bytes(bytes, FUNCTION)? {
        FunctionForm::Key(key) => return Ok(travel.engine().read_function(&key)?),
        FunctionForm::Call(call) => return Ok(read_call(call.written()?, travel.terminology())?),
        FunctionForm::Asked(asked) => {
            let table = table.ok_or(CodecError::Form("a condition"))?;
            let predicate = travel.engine().read_predicate(&asked, table, travel.filters())?;
            return Ok(function(predicate));
        }
        FunctionForm::Where(views) => {
            let views = views.iter().map(ViewForm::written);
            WrittenPredicate::Where(views.collect::<Result<Vec<WrittenView>, _>>()?)
        }
        FunctionForm::Sought(view, filter) => {
            WrittenPredicate::Sought(view.written()?, Box::new(read(travel, &filter, None)?))
        }
    };
    let predicate = crate::views::read_predicate(&written, travel.terminology().as_ref())?;
    predicate.map(function).ok_or(CodecError::Form("a condition"))
}

/// Encodes and decodes the functions of this project within logical expressions.
#[derive(Debug)]
struct Functions {
    travel: Travel,
    /// The table that decoded expressions refer to. `None` during encoding, and for expressions over the columns of a
    /// view.
    table: Option<ScopedTable>,
}

impl LogicalExtensionCodec for Functions {
    fn try_encode_udf(&self, node: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        let written = write_function(&self.travel, node).map_err(|error| self.travel.fail(error))?;
        bytes.extend(written.unwrap_or_default());
        Ok(())
    }

    fn try_decode_udf(&self, _: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        let read = read_function(&self.travel, bytes, self.table.as_ref());
        Ok(Arc::new(read.map_err(|error| self.travel.fail(error))?))
    }

    fn try_decode(&self, _: &[u8], _: &[LogicalPlan], _: &TaskContext) -> Result<Extension> {
        internal_err!("filters hold no logical nodes")
    }

    fn try_encode(&self, _: &Extension, _: &mut Vec<u8>) -> Result<()> {
        internal_err!("filters hold no logical nodes")
    }

    fn try_decode_table_provider(
        &self,
        _: &[u8],
        _: &TableReference,
        _: SchemaRef,
        _: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        internal_err!("filters hold no tables")
    }

    fn try_encode_table_provider(&self, _: &TableReference, _: Arc<dyn TableProvider>, _: &mut Vec<u8>) -> Result<()> {
        internal_err!("filters hold no tables")
    }
}
