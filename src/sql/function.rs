//! The SQL functions `fhirpath(row, 'expression')` and `fhirpath_list(row, 'expression')`. They evaluate a FHIRPath
//! expression over a row of a table. The result has the type that a ViewDefinition's column with this expression would
//! have, but decimals are floating-point numbers.
//!
//! Before DataFusion optimizes a plan, `rewrite` replaces each call (`Called`) by a function (`OverColumns`) whose
//! arguments are the columns that the expression reads.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::{concat_batches, is_not_null, nullif};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err, plan_datafusion_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use serde_json::json;

use super::tables;
use super::written::WrittenCall;
use crate::fhir::storage::TEXT;
use crate::fhir::{TypeId, facts};
use crate::terminology::Terminology;
use crate::views::{RunError, View, ViewError};

/// The names of the functions. `fhirpath` returns one value, `fhirpath_list` a list of all values.
pub(super) const NAMES: [&str; 2] = ["fhirpath", "fhirpath_list"];
/// The name of the only column in the view of an expression.
pub(super) const COLUMN: &str = "value";

/// The expressions of a session's statements. Each is compiled once for a resource type.
#[derive(Debug, Default)]
pub(super) struct Expressions {
    terminology: Option<Arc<Terminology>>,
    known: Mutex<HashMap<(TypeId, String, bool), Arc<View>>>,
}

impl Expressions {
    pub(super) fn new(terminology: Option<Arc<Terminology>>) -> Expressions {
        Expressions {
            terminology,
            known: Mutex::default(),
        }
    }

    /// Returns the expression over rows of a type, as a view with one column. A decimal column gets the SQL type
    /// `DOUBLE PRECISION`, because statements compute with it.
    pub(super) fn view(&self, type_id: TypeId, text: &str, is_list: bool) -> Result<Arc<View>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (type_id, text.to_owned(), is_list);
        if let Some(view) = known.get(&key) {
            return Ok(view.clone());
        }
        let mut view = self.compile(type_id, text, is_list, None)?;
        if view
            .columns()
            .iter()
            .any(|column| column.kind == crate::views::Kind::Decimal)
        {
            view = self.compile(type_id, text, is_list, Some("DOUBLE PRECISION"))?;
        }
        let view = Arc::new(view);
        known.insert(key, view.clone());
        Ok(view)
    }

    fn compile(&self, type_id: TypeId, text: &str, is_list: bool, sql: Option<&str>) -> Result<View> {
        let mut column = json!({"name": COLUMN, "path": text, "collection": is_list});
        if let Some(sql) = sql {
            column["tag"] = json!([{"name": "ansi/type", "value": sql}]);
        }
        let view = json!({"resourceType": "ViewDefinition", "status": "active", "resource": facts().get(type_id).name,
            "select": [{"column": [column]}]});
        let checked = View::check_with(view.to_string().as_bytes(), self.terminology.clone());
        checked.into_view().map_err(|findings| {
            let problem = findings.iter().find(|finding| finding.is_error());
            let problem = problem.map(|finding| finding.problem.clone()).unwrap_or_default();
            plan_datafusion_err!("{}(..., '{text}'): {problem}", name_of(is_list))
        })
    }
}

fn name_of(is_list: bool) -> &'static str {
    NAMES[usize::from(is_list)]
}

/// The function as a statement calls it. It cannot run; `rewrite` replaces it by an `OverColumns`.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) is_list: bool,
    expressions: Arc<Expressions>,
    signature: Signature,
}

impl Called {
    pub(super) fn new(is_list: bool, expressions: Arc<Expressions>) -> Called {
        Called {
            is_list,
            expressions,
            signature: Signature::any(2, Volatility::Immutable),
        }
    }

    /// Returns the resource type of a row, and the view of the expression. `row` must be the field of a table's column
    /// `resource`.
    pub(super) fn view(&self, row: &Field, text: &str) -> Result<(TypeId, Arc<View>)> {
        let Some((type_id, _)) = tables::origin(row).filter(|(_, column)| *column == TEXT) else {
            return plan_err!(
                "{0}() is about a row of a table: {0}(Patient, 'name.family')",
                name_of(self.is_list)
            );
        };
        Ok((type_id, self.expressions.view(type_id, text, self.is_list)?))
    }
}

/// A session has one function for a single value and one for a list, so `is_list` identifies the function.
impl PartialEq for Called {
    fn eq(&self, other: &Called) -> bool {
        self.is_list == other.is_list
    }
}

impl Eq for Called {}

impl Hash for Called {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.is_list.hash(state);
    }
}

impl ScalarUDFImpl for Called {
    fn name(&self) -> &str {
        name_of(self.is_list)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(column_name(name_of(self.is_list), args))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        plan_err!("{}() needs its expression as a text", self.name())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let (Some(row), Some(Some(text))) = (args.arg_fields.first(), args.scalar_arguments.get(1)) else {
            return plan_err!("{}() needs its expression as a text between quotes", self.name());
        };
        let Some(Some(text)) = text.try_as_str() else {
            return plan_err!("{}() needs its expression as a text between quotes", self.name());
        };
        let (_, view) = self.view(row, text)?;
        let data_type = view.typed_schema().field(0).data_type().clone();
        Ok(Arc::new(Field::new(self.name(), data_type, true)))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        exec_err!("{}() was not given the columns of its row", self.name())
    }
}

/// Returns the name of the result's column, such as `fhirpath(Patient, 'gender')`.
fn column_name(name: &str, args: &[Expr]) -> String {
    let row = match args.first() {
        Some(Expr::Column(column)) => match &column.relation {
            Some(table) => table.table().to_owned(),
            None => "row".to_owned(),
        },
        _ => "row".to_owned(),
    };
    let text = match args.get(1) {
        Some(Expr::Literal(value, _)) => value.try_as_str().flatten().unwrap_or_default().to_owned(),
        _ => "...".to_owned(),
    };
    format!("{name}({row}, '{text}')")
}

/// The function that replaces a call. Its arguments are the columns that the expression reads.
#[derive(Debug)]
pub(super) struct OverColumns {
    view: Arc<View>,
    schema: SchemaRef,
    type_id: TypeId,
    text: String,
    is_list: bool,
    /// The name that the call's column has in the statement.
    named: String,
    /// The names of the columns that are the arguments.
    columns: Vec<String>,
    /// Whether the first argument is the row's id. If the id is null, an outer join has added the row, and the result
    /// is null.
    guarded: bool,
    signature: Signature,
}

impl OverColumns {
    pub(super) fn new(
        called: &Called,
        (type_id, view): (TypeId, Arc<View>),
        call: &[Expr],
        text: &str,
        columns: Vec<String>,
        guarded: bool,
    ) -> OverColumns {
        OverColumns {
            schema: view.typed_schema(),
            view,
            type_id,
            text: text.to_owned(),
            is_list: called.is_list,
            named: column_name(name_of(called.is_list), call),
            columns,
            guarded,
            signature: of_columns(),
        }
    }

    /// Returns the parts of the function, for a plan that is written as bytes.
    pub(super) fn written(&self) -> WrittenCall {
        WrittenCall {
            view: self.view.written(),
            text: self.text.clone(),
            is_list: self.is_list,
            named: self.named.clone(),
            columns: self.columns.clone(),
            guarded: self.guarded,
        }
    }

    /// Builds the function from its parts. `view` is the view of the expression.
    pub(super) fn read(written: WrittenCall, view: Arc<View>) -> OverColumns {
        OverColumns {
            schema: view.typed_schema(),
            type_id: view.resource(),
            view,
            text: written.text,
            is_list: written.is_list,
            named: written.named,
            columns: written.columns,
            guarded: written.guarded,
            signature: of_columns(),
        }
    }

    /// Returns the view that has the expression as its only column.
    pub(super) fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Returns the resource type of the rows.
    pub(super) fn type_id(&self) -> TypeId {
        self.type_id
    }

    /// Sets the field `at` of an error to the name of this call, so that the message tells which call of the statement
    /// failed.
    fn named(&self, mut error: RunError) -> RunError {
        let of_column = match &mut error {
            RunError::Of { error, .. } => &mut **error,
            other => other,
        };
        if let RunError::SeveralValues { at, .. }
        | RunError::Type { at, .. }
        | RunError::Complex { at, .. }
        | RunError::SqlType { at, .. }
        | RunError::Expression { at, .. } = of_column
        {
            self.named.clone_into(at);
        }
        error
    }

    /// Evaluates the expression over the rows of a batch. A number of values that differs from the number of rows is an
    /// error.
    fn values(&self, batch: RecordBatch) -> Result<ArrayRef> {
        let rows = batch.num_rows();
        let failed = |error: RunError| DataFusionError::External(Box::new(self.named(error)));
        let batches = self
            .view
            .rows(batch, false)
            .map(|batch| self.view.typed(&self.schema, &batch?));
        let batches: Vec<RecordBatch> = batches.collect::<Result<_, _>>().map_err(failed)?;
        let values = match batches.as_slice() {
            [only] => only.column(0).clone(),
            several => concat_batches(&self.schema, several)?.column(0).clone(),
        };
        if values.len() != rows {
            return exec_err!("{} gave {} values for {rows} rows", self.name(), values.len());
        }
        Ok(values)
    }
}

/// Returns a signature that accepts any columns, or none.
fn of_columns() -> Signature {
    Signature::one_of(
        vec![TypeSignature::Nullary, TypeSignature::VariadicAny],
        Volatility::Immutable,
    )
}

impl PartialEq for OverColumns {
    fn eq(&self, other: &OverColumns) -> bool {
        let key = |this: &OverColumns| (this.type_id, this.is_list, this.guarded);
        key(self) == key(other) && self.text == other.text && self.named == other.named && self.columns == other.columns
    }
}

impl Eq for OverColumns {}

impl Hash for OverColumns {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
        self.named.hash(state);
    }
}

impl ScalarUDFImpl for OverColumns {
    fn name(&self) -> &str {
        name_of(self.is_list)
    }

    fn schema_name(&self, _: &[Expr]) -> Result<String> {
        Ok(self.named.clone())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.schema.field(0).data_type().clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let one = args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if one { 1 } else { args.number_rows };
        let arrays = args.args.iter().map(|value| value.to_array(rows));
        let arrays: Vec<ArrayRef> = arrays.collect::<Result<_>>()?;
        // DataFusion's optimizer also evaluates the function with null arguments. Such an argument has the type `Null`
        // and lacks the elements that the expression reads. So it is left out, as if the column did not exist. With
        // `guarded`, the result is null if the row's id is such an argument.
        let is_null = |array: &ArrayRef| array.data_type() == &DataType::Null;
        if self.guarded && arrays.first().is_some_and(is_null) {
            let data_type = self.schema.field(0).data_type();
            return Ok(ColumnarValue::Array(new_null_array(data_type, rows)));
        }
        let there = arrays.iter().zip(&self.columns).filter(|(array, _)| !is_null(array));
        let (columns, fields): (Vec<ArrayRef>, Vec<Field>) = there
            .map(|(array, name)| (array.clone(), Field::new(name, array.data_type().clone(), true)))
            .unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        let mut values = self.values(batch)?;
        if let Some(id) = arrays.first().filter(|_| self.guarded)
            && id.null_count() > 0
        {
            let absent = arrow::compute::not(&is_not_null(id)?)?;
            values = nullif(&values, &absent)?;
        }
        if one && rows == 1 {
            Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?))
        } else {
            Ok(ColumnarValue::Array(values))
        }
    }
}

/// Returns the parts of a `fhirpath()` function, for a plan that is written as bytes. `None` for any other function.
pub fn write_call(function: &ScalarUDF) -> Option<WrittenCall> {
    Some(function.inner().downcast_ref::<OverColumns>()?.written())
}

/// Builds a `fhirpath()` function from its parts.
pub fn read_call(written: WrittenCall, terminology: Option<Arc<Terminology>>) -> Result<ScalarUDF, ViewError> {
    let view = Arc::new(View::read(&written.view, terminology)?);
    Ok(ScalarUDF::from(OverColumns::read(written, view)))
}
