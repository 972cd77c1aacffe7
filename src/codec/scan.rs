//! Encodes a scan as the arguments with which it was planned. The decoder opens the table, which plans the scan again
//! with these arguments.

use datafusion::physical_plan::ExecutionPlan;

use super::error::CodecError;
use super::filters;
use super::forms::{ReachForm, ScanForm, SpanForm, TableForm};
use super::travel::Travel;
use crate::lake::scan::{LakeScanExec, Order, Reach, ScanRequest};
use crate::search::written::order;

const SCAN: &str = "a scan";

/// Encodes a scan.
pub(super) fn write(travel: &Travel, scan: &LakeScanExec) -> Result<ScanForm, CodecError> {
    let asked = scan.asked();
    let request = &asked.request;
    let filters = asked.filters.iter().map(|filter| filters::write(travel, filter));
    let (parts, within_groups) = scan.dealt_out();
    let schema = scan.schema();
    Ok(ScanForm {
        table: TableForm::of(scan.table()),
        columns: schema.fields().iter().map(|field| field.name().clone()).collect(),
        leaves: request.leaves.iter().cloned().collect(),
        numbers_suffice: request.numbers_suffice,
        order: request.order.as_ref().map(order_form),
        owners: request.owners.clone(),
        span: SpanForm::of(request.span),
        is_costly: request.is_costly,
        filters: filters.collect::<Result<_, _>>()?,
        limit: scan.limit(),
        parts,
        within_groups,
        is_told: scan.is_told(),
    })
}

/// Decodes a scan.
pub(super) fn read(travel: &Travel, form: ScanForm) -> Result<LakeScanExec, CodecError> {
    let table = form.table.open(travel.lake(), form.owners.as_deref())?;
    let filters = form
        .filters
        .iter()
        .map(|filter| filters::read(travel, filter, Some(&table)));
    let filters = filters.collect::<Result<Vec<_>, CodecError>>()?;
    let provider = table.provider(ScanRequest {
        leaves: form.leaves.into_iter().collect(),
        numbers_suffice: form.numbers_suffice,
        order: form.order.map(|(descending, reaches)| {
            let reaches = reaches.into_iter().map(reach).collect();
            order(descending, reaches)
        }),
        owners: form.owners,
        span: form.span.span(),
        is_costly: form.is_costly,
    });
    let schema = datafusion::catalog::TableProvider::schema(provider.as_ref());
    let places = form.columns.iter().map(|column| schema.index_of(column));
    let places = places.collect::<Result<Vec<usize>, _>>();
    let places = places.map_err(|_| CodecError::Form(SCAN))?;
    let scan = provider.scan_of(travel.state(), Some(&places), &filters, form.limit)?;
    if form.is_told {
        travel.note_told();
    }
    Ok(scan.dealing_out(form.parts, form.within_groups))
}

fn order_form(order: &Order) -> (bool, Vec<ReachForm>) {
    let form = |reach: &Reach| match reach {
        Reach::In(leaf) => ReachForm::In(leaf.clone()),
        Reach::Open(leaf, beside) => ReachForm::Open(leaf.clone(), beside.clone()),
        Reach::Unknown(leaf) => ReachForm::Unknown(leaf.clone()),
    };
    (order.descending, order.reaches.iter().map(form).collect())
}

fn reach(form: ReachForm) -> Reach {
    match form {
        ReachForm::In(leaf) => Reach::In(leaf),
        ReachForm::Open(leaf, beside) => Reach::Open(leaf, beside),
        ReachForm::Unknown(leaf) => Reach::Unknown(leaf),
    }
}
