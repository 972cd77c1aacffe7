//! The JSON forms of a plan's parts: of operators, functions, scans, tables and views. From the form of a part, the
//! decoder rebuilds the part.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::CodecError;
use crate::fhir::facts;
use crate::lake::scan::{Locator, ScopedTable, Span};
use crate::lake::{Lake, Mode, PatientScope, Scope};
use crate::plan::Limit;
use crate::sql::WrittenCall;
use crate::views::WrittenView;

/// An operator of this project. DataFusion encodes its inputs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum OperatorForm {
    Scan(Box<ScanForm>),
    OrderedLimit {
        skip: usize,
        take: Option<usize>,
        backwards: bool,
    },
    SemiJoin {
        label: String,
        #[serde(rename = "late")]
        filter: usize,
    },
    Ids(Value),
    Lookup {
        lookup: Value,
        table: TableForm,
    },
    View {
        view: ViewForm,
        filters: bool,
    },
    Views {
        views: Vec<ViewForm>,
        filters: bool,
        limit: Option<usize>,
    },
    Typed(ViewForm),
    Reserved,
}

/// A function of this project.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FunctionForm {
    /// A condition of a search.
    Asked(Value),
    /// The condition that at least one of these views keeps a resource by its `where`.
    Where(Vec<ViewForm>),
    /// A condition on resources. It follows from a filter over a view's columns. The fields are the view and the
    /// filter.
    Sought(ViewForm, Base64),
    /// A sort key of `_sort`.
    Key(Value),
    /// A call of `fhirpath()`.
    Call(CallForm),
}

/// A scan of a table's rows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ScanForm {
    pub(super) table: TableForm,
    pub(super) columns: Vec<String>,
    pub(super) leaves: Vec<String>,
    pub(super) numbers_suffice: bool,
    /// The order of the sort above the scan: whether it descends, and the leaves with the numbers by which rows are
    /// sorted.
    pub(super) order: Option<(bool, Vec<ReachForm>)>,
    pub(super) owners: Option<Vec<i64>>,
    #[serde(rename = "stretch")]
    pub(super) span: SpanForm,
    pub(super) is_costly: bool,
    /// The filters, as `datafusion-proto` encodes expressions.
    pub(super) filters: Vec<Base64>,
    pub(super) limit: Option<usize>,
    pub(super) parts: usize,
    pub(super) within_groups: bool,
    /// Whether the encoded scan knew the sort above it: its dynamic filter or its first key. If so, the decoder runs
    /// the optimizer rules that tell the decoded scan about the sort.
    pub(super) is_told: bool,
}

/// The JSON form of a [`crate::lake::scan::Reach`]: the place of the number by which a row is sorted.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ReachForm {
    In(Arc<str>),
    Open(Arc<str>, Arc<str>),
    Unknown(Arc<str>),
}

/// A span of a table: the file and row number of its first row, and of the first row after it. `None` means that the
/// span begins or ends with the table.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SpanForm(Option<(u64, u32)>, Option<(u64, u32)>);

/// The table that a scan reads: the rows of a resource type that a scope shows in a snapshot.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TableForm {
    resource: String,
    snapshot: u64,
    is_live: bool,
    application: String,
    patient: Option<PatientForm>,
    is_held: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct PatientForm {
    patients: Vec<String>,
    owners: Vec<i64>,
    authorizations: Vec<String>,
}

/// A view: its definition, its value of `now()`, and the requested columns.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ViewForm {
    definition: Base64,
    now: String,
    columns: Option<Vec<usize>>,
}

/// A call of `fhirpath()`, as in [`crate::sql::WrittenCall`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CallForm {
    view: ViewForm,
    text: String,
    is_list: bool,
    named: String,
    columns: Vec<String>,
    guarded: bool,
}

/// Bytes as a Base64 string, so that they can be a part of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Base64(String);

impl Base64 {
    pub(super) fn of(bytes: &[u8]) -> Base64 {
        Base64(STANDARD.encode(bytes))
    }

    pub(super) fn bytes(&self) -> Result<Vec<u8>, CodecError> {
        STANDARD.decode(&self.0).map_err(|_| CodecError::Form("a part"))
    }
}

impl SpanForm {
    pub(super) fn of(span: Span) -> SpanForm {
        let place = |at: Locator| (at.file, at.row);
        SpanForm(span.from.map(place), span.until.map(place))
    }

    pub(super) fn span(&self) -> Span {
        let locator = |(file, row)| Locator { file, row };
        Span {
            from: self.0.map(locator),
            until: self.1.map(locator),
        }
    }
}

impl TableForm {
    pub(super) fn of(table: &ScopedTable) -> TableForm {
        let scope = table.scope();
        TableForm {
            resource: facts().get(table.type_id()).name.to_owned(),
            snapshot: table.snapshot(),
            is_live: scope.mode == Mode::Live,
            application: scope.application.to_string(),
            patient: scope.patient.as_ref().map(|patient| PatientForm {
                patients: patient.patients.clone(),
                owners: patient.owners.clone(),
                authorizations: patient.authorizations.clone(),
            }),
            is_held: table.is_held(),
        }
    }

    /// Opens the table. If the encoded table held its files open, the new table holds files open, too: those of
    /// `owners`, or of all owners that the scope shows if `owners` is `None`.
    pub(super) fn open(&self, lake: &Lake, owners: Option<&[i64]>) -> Result<ScopedTable, CodecError> {
        let type_id = facts().lookup(&self.resource).ok_or(CodecError::Form("a table"))?;
        let scope = Scope {
            mode: if self.is_live { Mode::Live } else { Mode::Test },
            application: self.application.as_str().into(),
            patient: self.patient.as_ref().map(|patient| {
                Arc::new(PatientScope {
                    patients: patient.patients.clone(),
                    owners: patient.owners.clone(),
                    authorizations: patient.authorizations.clone(),
                })
            }),
        };
        let snapshot = lake.snapshot_at(self.snapshot)?;
        let table = lake.table(&snapshot, type_id, &Arc::new(scope));
        if self.is_held {
            Ok(table.held(owners)?)
        } else {
            Ok(table)
        }
    }
}

impl ViewForm {
    pub(super) fn of(view: &WrittenView) -> ViewForm {
        ViewForm {
            definition: Base64::of(&view.definition),
            now: view.now.to_rfc3339(),
            columns: view.columns.as_deref().map(<[usize]>::to_vec),
        }
    }

    pub(super) fn written(&self) -> Result<WrittenView, CodecError> {
        let now = DateTime::parse_from_rfc3339(&self.now).map_err(|_| CodecError::Form("a view"))?;
        Ok(WrittenView {
            definition: self.definition.bytes()?.into(),
            now: now.with_timezone(&Utc),
            columns: self.columns.as_deref().map(Into::into),
        })
    }
}

impl CallForm {
    pub(super) fn of(call: WrittenCall) -> CallForm {
        CallForm {
            view: ViewForm::of(&call.view),
            text: call.text,
            is_list: call.is_list,
            named: call.named,
            columns: call.columns,
            guarded: call.guarded,
        }
    }

    pub(super) fn written(self) -> Result<WrittenCall, CodecError> {
        Ok(WrittenCall {
            view: self.view.written()?,
            text: self.text,
            is_list: self.is_list,
            named: self.named,
            columns: self.columns,
            guarded: self.guarded,
        })
    }
}

impl OperatorForm {
    pub(super) fn of_limit(limit: Limit) -> OperatorForm {
        OperatorForm::OrderedLimit {
            skip: limit.skip,
            take: limit.take,
            backwards: limit.backwards,
        }
    }
}

/// Encodes the form of a part. `what` names the part in the error.
pub(super) fn to_bytes(form: &impl Serialize, what: &'static str) -> Result<Vec<u8>, CodecError> {
    serde_json::to_vec(form).map_err(|_| CodecError::Form(what))
}

/// Decodes the form of a part. `what` names the part in the error.
pub(super) fn of_bytes<'a, T: Deserialize<'a>>(bytes: &'a [u8], what: &'static str) -> Result<T, CodecError> {
    serde_json::from_slice(bytes).map_err(|_| CodecError::Form(what))
}
