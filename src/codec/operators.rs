//! Encodes and decodes the operators of this project. DataFusion calls this code for each such operator while it walks
//! over a plan.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};

use super::error::CodecError;
use super::forms::{OperatorForm, TableForm, ViewForm, of_bytes, to_bytes};
use super::travel::Travel;
use super::{filters, scan};
use crate::lake::scan::{LakeScanExec, Predicate};
use crate::plan::{IdsExec, Limit, LookupExec, On, OrderedLimitExec, ReservedExec, SemiJoinExec};
use crate::views::{TypedExec, View, ViewExec, ViewsExec};

const OPERATOR: &str = "an operator";

impl Travel {
    fn write(&self, node: &dyn ExecutionPlan) -> Result<OperatorForm, CodecError> {
        let unknown = || CodecError::Operator(node.name().to_owned());
        let view = |view: &View| ViewForm::of(&view.written());
        Ok(if let Some(exec) = node.downcast_ref::<LakeScanExec>() {
            OperatorForm::Scan(Box::new(scan::write(self, exec)?))
        } else if let Some(exec) = node.downcast_ref::<OrderedLimitExec>() {
            OperatorForm::of_limit(exec.limit())
        } else if let Some(exec) = node.downcast_ref::<SemiJoinExec>() {
            let filter = exec.on().filter.as_ref().ok_or_else(unknown)?;
            OperatorForm::SemiJoin {
                label: filter.label().to_string(),
                filter: self.filters().number(filter),
            }
        } else if let Some(exec) = node.downcast_ref::<IdsExec>() {
            OperatorForm::Ids(self.engine().write_take(exec.take())?.ok_or_else(unknown)?)
        } else if let Some(exec) = node.downcast_ref::<LookupExec>() {
            let written = self.engine().write_lookup(exec.lookup(), self.filters())?;
            let (lookup, table) = written.ok_or_else(unknown)?;
            OperatorForm::Lookup {
                lookup,
                table: TableForm::of(table),
            }
        } else if let Some(exec) = node.downcast_ref::<ViewExec>() {
            OperatorForm::View {
                view: view(exec.view()),
                filters: exec.filters(),
            }
        } else if let Some(exec) = node.downcast_ref::<ViewsExec>() {
            OperatorForm::Views {
                views: exec.views().map(view).collect(),
                filters: exec.filters(),
                limit: exec.limit(),
            }
        } else if let Some(exec) = node.downcast_ref::<TypedExec>() {
            OperatorForm::Typed(view(exec.view()))
        } else if node.is::<ReservedExec>() {
            OperatorForm::Reserved
        } else {
            return Err(unknown());
        })
    }

    fn read(
        &self,
        form: OperatorForm,
        inputs: &[Arc<dyn ExecutionPlan>],
    ) -> Result<Arc<dyn ExecutionPlan>, CodecError> {
        let form_of = || CodecError::Form(OPERATOR);
        let view = |form: &ViewForm| Ok::<_, CodecError>(View::read(&form.written()?, self.terminology())?);
        let input = || match inputs {
            [input] => Ok(input.clone()),
            _ => Err(form_of()),
        };
        Ok(match form {
            OperatorForm::Scan(form) if inputs.is_empty() => Arc::new(scan::read(self, *form)?),
            OperatorForm::Lookup { lookup, table } if inputs.is_empty() => {
                let table = table.open(self.lake(), None)?;
                Arc::new(LookupExec::new(self.engine().read_lookup(
                    &lookup,
                    &table,
                    self.filters(),
                )?))
            }
            OperatorForm::Scan(_) | OperatorForm::Lookup { .. } => return Err(form_of()),
            OperatorForm::OrderedLimit { skip, take, backwards } => {
                let limit = Limit { skip, take, backwards };
                Arc::new(OrderedLimitExec::new(input()?, limit))
            }
            OperatorForm::SemiJoin { label, filter } => self.semi_join(label, filter, inputs)?,
            OperatorForm::Ids(take) => Arc::new(IdsExec::new(input()?, self.engine().read_take(&take)?)),
            OperatorForm::View { view: form, filters } => Arc::new(ViewExec::over(&view(&form)?, input()?, filters)),
            OperatorForm::Views { views, filters, limit } => {
                let views = views.iter().map(view).collect::<Result<Vec<_>, _>>()?;
                Arc::new(ViewsExec::over(&views, input()?, filters, limit))
            }
            OperatorForm::Reserved => Arc::new(ReservedExec::new(input()?)),
            OperatorForm::Typed(form) => Arc::new(TypedExec::over(view(&form)?, input()?)),
        })
    }

    /// Rebuilds a semi-join from its inputs. The first input is the left side. The other inputs find the ids. `filter`
    /// is the number of the dynamic filter that receives the ids. The scan of the left side has this filter.
    fn semi_join(
        &self,
        label: String,
        filter: usize,
        inputs: &[Arc<dyn ExecutionPlan>],
    ) -> Result<Arc<dyn ExecutionPlan>, CodecError> {
        let form_of = || CodecError::Form(OPERATOR);
        let (left, sides) = inputs.split_first().ok_or_else(form_of)?;
        let ids = sides
            .iter()
            .map(|side| side.downcast_ref::<IdsExec>().cloned().map(Arc::new));
        let on = On {
            label: label.into(),
            ids: ids.collect::<Option<_>>().ok_or_else(form_of)?,
            filter: Some(self.filters().get(filter).ok_or_else(form_of)?),
        };
        Ok(On::over_physical(&[on], left.clone()))
    }
}

impl PhysicalExtensionCodec for Travel {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let written = self.write(node.as_ref()).and_then(|form| to_bytes(&form, OPERATOR));
        bytes.extend(written.map_err(|error| self.fail(error))?);
        Ok(())
    }

    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let read = of_bytes(bytes, OPERATOR).and_then(|form| self.read(form, inputs));
        read.map_err(|error| self.fail(error))
    }

    fn try_encode_udf(&self, node: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        let written = filters::write_function(self, node).map_err(|error| self.fail(error))?;
        bytes.extend(written.unwrap_or_default());
        Ok(())
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        if bytes.is_empty() {
            return Err(self.fail(CodecError::Operator(format!("the function {name}()"))));
        }
        let read = filters::read_function(self, bytes, None);
        Ok(Arc::new(read.map_err(|error| self.fail(error))?))
    }
}
