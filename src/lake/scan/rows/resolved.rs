//! A scan's request, resolved against a table's layout: the columns to decode first and those to decode later, and the
//! files to read.

use std::sync::{Arc, OnceLock};

use arrow::datatypes::SchemaRef;

use super::super::cache::file::OpenFile;
use super::super::conditions::lower::Lowered;
use super::super::conditions::owner_set::OwnerSet;
use super::super::conditions::pruning::{may_hold_owners, refutation};
use super::super::error::ScanError;
use super::super::predicate::Predicate;
use super::super::report::account::Account;
use super::super::report::counts::ScanReport;
use super::super::report::watch::SeenScan;
use super::super::table::ScopedTable;
use super::clip::{Clip, leaves};
use super::order::Order;
use super::request::ScanRequest;
use super::span::{Ends, Span};
use crate::columns::conditions::{Alternative, Decisive, ItemMatch, Prune};
use crate::fhir::storage::LeafSet;
use crate::lake::snapshot::DataFile;

/// A scan, resolved against a table's layout: which files it reads, which columns it decodes first, and which later.
#[derive(Debug)]
pub(in crate::lake::scan) struct Scan {
    pub(in crate::lake::scan) table: ScopedTable,
    /// The columns of batches: clipped columns and locator columns, in the requested order.
    pub(in crate::lake::scan) schema: SchemaRef,
    /// Whether the filters keep every row.
    is_unconditional: bool,
    /// The columns that are decoded first: those that predicates read, and the output's leaves in the same root
    /// columns.
    pub(in crate::lake::scan) first: Clip,
    /// The output's other columns, which are decoded only for the remaining rows.
    pub(in crate::lake::scan) rest: Clip,
    /// The columns of `first` that the output has. In a row group where `sufficient` decides the predicates, only these
    /// are decoded first.
    pub(in crate::lake::scan) first_of_output: Clip,
    pub(in crate::lake::scan) predicates: Vec<(SchemaRef, Arc<dyn Predicate>)>,
    pub(in crate::lake::scan) items: Vec<ItemMatch>,
    pub(in crate::lake::scan) prune: Prune,
    /// The condition of [`Lowered::sufficient`].
    pub(in crate::lake::scan) sufficient: Option<Decisive>,
    /// The label that `explain` shows for the row-by-row check of `prune`.
    pub(in crate::lake::scan) row_pruning_label: Arc<str>,
    pub(in crate::lake::scan) numbers_suffice: bool,
    pub(in crate::lake::scan) order: Option<Order>,
    pub(in crate::lake::scan) owners: Option<OwnerSet>,
    pub(in crate::lake::scan) either: Vec<Vec<Choice>>,
    span: Span,
    pub(in crate::lake::scan) is_costly: bool,
    files: OnceLock<Vec<(Arc<DataFile>, u64)>>,
    pub(in crate::lake::scan) account: Arc<Account>,
}

/// What is needed to resolve a scan again when reading begins. Only a scan with late predicates has this, because their
/// conditions are known only then.
#[derive(Debug)]
pub(in crate::lake::scan) struct Unsettled {
    /// The output's columns, without the locator columns.
    pub(in crate::lake::scan) output: Clip,
    pub(in crate::lake::scan) request: ScanRequest,
    pub(in crate::lake::scan) lowered: Lowered,
    settled: OnceLock<Arc<Scan>>,
}

/// One of several alternative conditions. A row must meet one of them. `owners` are the owners of all rows that can
/// meet this one, or `None` if they are unknown.
#[derive(Debug)]
pub(in crate::lake::scan) struct Choice {
    pub(in crate::lake::scan) condition: ItemMatch,
    owners: Option<OwnerSet>,
}

impl Choice {
    fn of(alternative: Alternative) -> Choice {
        Choice {
            condition: alternative.condition,
            owners: alternative.owners.map(|owners| OwnerSet::of(&owners)),
        }
    }

    /// Whether a row group may have rows that meet the condition. Compares only the owners.
    pub(in crate::lake::scan) fn may_hold(&self, file: &OpenFile, group: usize) -> bool {
        let owners = self.owners.as_ref();
        owners.is_none_or(|owners| may_hold_owners(file, group, owners))
    }
}

impl Scan {
    /// Returns the description of the scan for `explain`. In its report only the number of files is set; the account
    /// has the other counts.
    pub(in crate::lake::scan) fn seen(&self) -> SeenScan {
        let mut found = Vec::new();
        for field in self.schema.fields() {
            leaves("", field, &mut found);
        }
        SeenScan {
            type_id: self.table.type_id,
            leaves: found,
            prune: (self.prune != Prune::Keep).then(|| self.prune.to_string()),
            owners: self.owners().map(<[i64]>::len),
            files_met: self.files().len(),
            report: ScanReport {
                files: self.table.files().len(),
                ..ScanReport::default()
            },
        }
    }

    /// Resolves a scan. `schema` has the output's columns, `output` the same columns without the locator columns, and
    /// `lowered` the filters of the plan.
    pub(in crate::lake::scan) fn new(
        table: ScopedTable,
        schema: SchemaRef,
        output: &Clip,
        request: ScanRequest,
        lowered: Lowered,
    ) -> Scan {
        let is_unconditional = lowered.is_empty();
        let Lowered {
            predicates,
            mut items,
            either,
            prune,
            sufficient,
            ..
        } = lowered;
        let ScanRequest {
            leaves: output_leaves,
            numbers_suffice,
            order,
            owners,
            span,
            is_costly,
        } = request;
        // Decide conditions on ids first, because they leave few rows for the other conditions.
        items.sort_by_key(|condition| condition.ids().is_none());
        let early: LeafSet = predicates
            .iter()
            .flat_map(|predicate| predicate.leaves().iter().cloned())
            .collect();
        // A root column is decoded in one pass. If predicates read some of its leaves, and the output has the column,
        // too, `first` gets the leaves of both.
        let roots = table.clip(&early);
        let both = table.clip(&early.iter().chain(&output_leaves).cloned().collect());
        let is_output = |name: &str| output.schema().index_of(name).is_ok();
        let first = both
            .retain(|name| is_output(name) && roots.schema().index_of(name).is_ok())
            .join(&roots.retain(|name| !is_output(name)));
        let rest = output.retain(|name| first.schema().index_of(name).is_err());
        let first_of_output = first.retain(is_output);
        let predicates = predicates
            .into_iter()
            .map(|predicate| (table.schema(predicate.leaves()), predicate))
            .collect();
        Scan {
            table,
            schema,
            is_unconditional,
            first,
            rest,
            first_of_output,
            predicates,
            items,
            prune,
            sufficient,
            row_pruning_label: "statistics' conditions, row by row".into(),
            numbers_suffice,
            order,
            owners: owners.map(|owners| OwnerSet::of(&owners)),
            either: either
                .into_iter()
                .map(|choices| choices.into_iter().map(Choice::of).collect())
                .collect(),
            span,
            is_costly,
            files: OnceLock::new(),
            account: Arc::default(),
        }
    }

    /// Whether the scan yields every live row of the table that the scope shows.
    pub(in crate::lake::scan) fn is_total(&self) -> bool {
        self.is_unconditional && self.owners.is_none() && self.span == Span::default()
    }

    /// Returns the files that may have rows of the scan, in the table's order. The number beside a file is the number
    /// of rows in the returned files before it.
    pub(in crate::lake::scan) fn files(&self) -> &[(Arc<DataFile>, u64)] {
        self.files.get_or_init(|| {
            let mut before = 0;
            let place = |file: Arc<DataFile>| {
                let start = before;
                before += file.rows;
                (file, start)
            };
            self.chosen().into_iter().map(place).collect()
        })
    }

    /// Returns the number of rows in the files that `files` returns, including deleted rows.
    pub(in crate::lake::scan) fn max_rows(&self) -> u64 {
        self.files().last().map_or(0, |(file, start)| start + file.rows)
    }

    fn chosen(&self) -> Vec<Arc<DataFile>> {
        let mut files = self.table.files_shown(self.owners());
        let ends = self.ends();
        files.retain(|file| ends.meets(file));
        files
    }

    /// Returns the part of the table that is scanned.
    pub(in crate::lake::scan) fn span(&self) -> Span {
        self.span
    }

    pub(in crate::lake::scan) fn ends(&self) -> Ends {
        Ends::of(&self.span, self.table.table.as_deref())
    }

    /// Returns the owners to which the scan is restricted. `None` if it is not restricted.
    pub(in crate::lake::scan) fn owners(&self) -> Option<&[i64]> {
        self.owners.as_ref().map(OwnerSet::all)
    }

    /// Returns the reason why the scan reads no row of a row group, for `explain`.
    pub(in crate::lake::scan) fn refuted_by(
        &self,
        data: &DataFile,
        file: &Arc<OpenFile>,
        group: usize,
    ) -> Result<Arc<str>, ScanError> {
        if let Some(reason) = refutation(file, group, &self.prune) {
            return Ok(reason);
        }
        let hidden = self.table.visible(data, file, group, self.owners.as_ref())?.is_empty();
        Ok(if !hidden {
            "several conditions together".into()
        } else if self.owners.is_some() {
            "no row of the owners asked for".into()
        } else {
            "no row within the scope".into()
        })
    }

    /// Returns the labels of the conditions that the scan decides on dictionary codes, for `explain`.
    pub(in crate::lake::scan) fn items_shown(&self) -> Vec<String> {
        let items = self.items.iter().map(|condition| condition.label.to_string());
        let either = self.either.iter().map(|choices| {
            let mut labels: Vec<&str> = choices.iter().map(|choice| &*choice.condition.label).collect();
            // A search parameter that reads several elements has the same label for each of them. So show a repeated
            // label only once.
            labels.dedup();
            labels.join(" or ")
        });
        items.chain(either).collect()
    }

    /// Returns the labels of the predicates that the scan evaluates, for `explain`.
    pub(in crate::lake::scan) fn predicates_shown(&self) -> Vec<&str> {
        let predicates = self.predicates.iter();
        predicates.map(|(_, predicate)| &**predicate.label()).collect()
    }
}

impl Unsettled {
    pub(in crate::lake::scan) fn new(output: Clip, request: ScanRequest, lowered: Lowered) -> Unsettled {
        Unsettled {
            output,
            request,
            lowered,
            settled: OnceLock::new(),
        }
    }

    /// Returns the scan as it was resolved when reading began. `None` if no partition has begun.
    pub(in crate::lake::scan) fn begun(&self) -> Option<&Arc<Scan>> {
        self.settled.get()
    }

    /// Resolves the scan again when the first partition begins, because the conditions of the late predicates are known
    /// then. Later calls return the same scan. It adds its report to the account of `planned`.
    pub(in crate::lake::scan) fn settle(&self, planned: &Scan) -> &Arc<Scan> {
        self.settled.get_or_init(|| {
            let scan = Arc::new(Scan {
                account: planned.account.clone(),
                ..Scan::new(
                    planned.table.clone(),
                    planned.schema.clone(),
                    &self.output,
                    self.request.clone(),
                    self.lowered.clone().settled(),
                )
            });
            if let Some(watch) = scan.table.watch() {
                watch.scan(scan.seen(), &scan.account);
            }
            scan
        })
    }
}
