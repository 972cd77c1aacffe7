//! Plans a `$run` over its resources: those of the lake in the caller's scope, or those in the request, restricted by
//! patients, members of Groups, a time and a page. Also builds the link to the next page.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::super::patient_wildcard;
use super::inline;
use super::request::RunRequest;
use crate::consent::Access;
use crate::fhir::facts;
use crate::fhir::outcome::IssueType;
use crate::fhir::temporal::Temporal;
use crate::http::error::Error;
use crate::http::service::Service;
use crate::lake::Snapshot;
use crate::lake::scan::{SeenScan, Watch};
use crate::search::{Form, Handling, SearchError, SnapshotToken};
use crate::views::{Finding, Format, Page, Resources, Rows, Run, RunError, Stop, View};

/// The maximum number of different Groups in one request. Each of them is read.
const MAX_GROUPS: usize = 100;

/// A view that is ready to run, and values for the headers of its response.
pub(in crate::http) struct Work {
    pub(in crate::http) rows: Rows,
    pub(in crate::http) stop: Stop,
    /// The number of resources on this page.
    pub(in crate::http) resources: usize,
    /// The URL of the next page. `None` on the last page.
    pub(in crate::http) next: Option<String>,
    /// The run, if it is to be explained after its last row.
    pub(in crate::http) explained: Option<ExplainedRun>,
}

/// A run that is to be explained.
pub(in crate::http) struct ExplainedRun {
    run: Run,
    /// While this is held, the scan counts why it skips row groups and pages.
    _watch: Arc<Watch>,
}

impl ExplainedRun {
    /// Returns the plan with its metrics, and what the scan read and skipped.
    pub(in crate::http) fn text(&self, form: Form) -> String {
        let plan = self.run.explain();
        match form {
            Form::Text => plan,
            Form::Json => {
                let scans: Vec<serde_json::Value> = self.run.scans().iter().map(SeenScan::to_json).collect();
                serde_json::json!({"plan": plan, "scans": scans}).to_string()
            }
        }
    }
}

impl Work {
    /// Plans the view. `path` is the operation's path relative to the FHIR base URL. The rows will be written in
    /// `format`. `explained`: the run is to be explained.
    pub(in crate::http) fn plan(
        service: &Service,
        access: &Access,
        request: &RunRequest,
        path: &str,
        format: Format,
        explained: bool,
    ) -> Result<Work, Error> {
        let terminology = Some(service.terminology.clone());
        let checked = match request.handling {
            Handling::Strict => View::check_strictly(&request.view, terminology),
            Handling::Lenient => View::check_with(&request.view, terminology),
        };
        let view = checked.into_view().map_err(|mut findings| {
            findings.retain(Finding::is_error);
            Error::Faulty(findings)
        })?;
        // If the request does not read the lake, ignore the snapshot of its page link. So the link is valid even if the
        // snapshot no longer exists.
        let reads_lake = request.resources.is_none() || !request.groups.is_empty();
        let snapshot = match request.pin.filter(|_| reads_lake) {
            None => service.lake.snapshot(),
            Some(pin) => service.lake.snapshot_at(pin.snapshot).map_err(RunError::from)?,
        };
        // A page link skips `offset` resources. If an erasure has removed one of these resources since, the page would
        // begin too late and miss a resource. So the link has expired if there was an erasure.
        let counted = request.pin.filter(|_| reads_lake && request.offset > 0);
        if counted.is_some_and(|pin| pin.erasures != snapshot.erasures()) {
            return Err(SearchError::Expired.into());
        }
        let patients = patients(request, access, service, &snapshot)?;
        let plan = Plan {
            service,
            access,
            snapshot: &snapshot,
            view: Arc::new(view),
        };
        let watch = explained.then(Arc::<Watch>::default);
        let Planned {
            rows,
            stop,
            total,
            explained,
        } = match &request.resources {
            Some(_) if explained => {
                let problem = "X-Explain shows how the lake is read, and this request brings its resources";
                return Err(Error::Invalid(problem.to_owned()));
            }
            Some(sent) => plan.over_sent(sent, patients.as_deref(), request, format)?,
            None => plan.over_lake(patients, request, watch)?,
        };
        let left = total.saturating_sub(request.offset);
        let more = request.count.filter(|count| *count < left);
        let link = |count: usize| next_link(service, request, path, count, SnapshotToken::of(&snapshot));
        Ok(Work {
            rows,
            stop,
            resources: more.unwrap_or(left),
            next: more.map(link).transpose()?,
            explained,
        })
    }
}

struct Plan<'a> {
    service: &'a Service,
    access: &'a Access,
    snapshot: &'a Arc<Snapshot>,
    view: Arc<View>,
}

/// A planned view.
struct Planned {
    rows: Rows,
    stop: Stop,
    /// The number of resources on all pages.
    total: usize,
    explained: Option<ExplainedRun>,
}

impl Plan<'_> {
    fn over_lake(
        self,
        patients: Option<Vec<String>>,
        request: &RunRequest,
        watch: Option<Arc<Watch>>,
    ) -> Result<Planned, Error> {
        let lake = &self.service.lake;
        let table = lake.table(self.snapshot, self.view.resource(), &self.access.scope);
        // Find the owners of the patients' rows. A patient token does not need this, because its scope has the owners.
        let owners = match (&patients, self.access.patients()) {
            (Some(patients), None) => {
                let application = &self.access.scope.application;
                let owners = patients.iter().flat_map(|patient| lake.owners_of(application, patient));
                Some(owners.collect())
            }
            _ => None,
        };
        let paged = request.count.is_some() || request.offset > 0;
        let resources = Resources {
            patients,
            owners,
            since: request.since,
            page: paged.then_some(Page {
                offset: request.offset,
                count: request.count,
            }),
        };
        let total = futures::executor::block_on(resources.count(&table))?;
        let table = match &watch {
            Some(watch) => table.watched(watch),
            None => table,
        };
        let run = futures::executor::block_on(Run::new(&table, self.view, &resources, request.limit))?;
        Ok(Planned {
            rows: run.rows(),
            stop: run.stop(),
            total,
            explained: watch.map(|watch| ExplainedRun { run, _watch: watch }),
        })
    }

    fn over_sent(
        self,
        sent: &[bytes::Bytes],
        patients: Option<&[String]>,
        request: &RunRequest,
        format: Format,
    ) -> Result<Planned, Error> {
        let found = inline::narrowed(sent, self.view.resource(), patients, request.since)?;
        let total = found.len();
        let page = found.into_iter().skip(request.offset);
        let page = page.take(request.count.unwrap_or(usize::MAX));
        let rows = Rows::of_documents(self.view.for_documents(format), page, request.limit);
        Ok(Planned {
            rows,
            // Nobody sets this flag, because running over a request's resources takes little time.
            stop: Stop::default(),
            total,
            explained: None,
        })
    }
}

/// Returns the ids of the request's Patients: those that it names, or the members of its Groups. If the request names
/// Patients and Groups, returns only ids that are among both. `None` if it names neither: then all are included.
fn patients(
    request: &RunRequest,
    access: &Access,
    service: &Service,
    snapshot: &Arc<Snapshot>,
) -> Result<Option<Vec<String>>, Error> {
    let named = match &request.patients {
        None => None,
        Some(ids) => {
            let ids = ids.iter().map(|id| patient_wildcard::in_body(id, access));
            Some(ids.collect::<Result<Vec<_>, _>>()?.concat())
        }
    };
    if request.groups.is_empty() {
        return Ok(named);
    }
    if access.patients().is_some() {
        return Err(Error::Processing(
            "the parameter group is for application tokens, and this is a patient's".to_owned(),
        ));
    }
    let type_id = facts()
        .lookup("Group")
        .ok_or_else(|| Error::internal("R4 has Groups"))?;
    let groups = service.lake.table(snapshot, type_id, &access.scope);
    let now = service.store.clock().now() * 1_000_000;
    let distinct: BTreeSet<&String> = request.groups.iter().collect();
    if distinct.len() > MAX_GROUPS {
        let problem = format!("names more than {MAX_GROUPS} different Groups");
        return Err(Error::parameter("group", IssueType::Invalid, problem));
    }
    let mut members = Vec::new();
    for id in distinct {
        let found = groups.read(id).map_err(Error::internal)?;
        let found = found.ok_or_else(|| Error::NotFound {
            resource_type: "Group".to_owned(),
            id: id.clone(),
        })?;
        members.extend(members_of(&found.resource, now)?);
    }
    members.sort_unstable();
    members.dedup();
    if let Some(named) = named {
        let named: HashSet<String> = named.into_iter().collect();
        members.retain(|member| named.contains(member));
    }
    Ok(Some(members))
}

/// Returns the ids of the Patients that are members of a Group at `now`, in microseconds since 1970. Groups that are
/// members are not followed.
fn members_of(group: &[u8], now: i64) -> Result<Vec<String>, Error> {
    let group: serde_json::Value = serde_json::from_slice(group).map_err(Error::internal)?;
    let members = group["member"].as_array().map(Vec::as_slice).unwrap_or_default();
    let current = members
        .iter()
        .filter(|member| member["inactive"] != true && is_within(&member["period"], now));
    let patient = |member: &serde_json::Value| {
        let id = member["entity"]["reference"].as_str()?.strip_prefix("Patient/")?;
        Some(id.split('/').next().unwrap_or(id).to_owned())
    };
    Ok(current.filter_map(patient).collect())
}

/// Whether a Period contains a moment. A bound that is missing or invalid sets no limit.
fn is_within(period: &serde_json::Value, moment: i64) -> bool {
    let bound = |name: &str| Temporal::date_time(period[name].as_str()?).ok();
    bound("start").is_none_or(|start| start.start <= moment) && bound("end").is_none_or(|end| moment < end.end)
}

/// Builds the URL of the next page, to which the client posts the same body. It repeats the query and has the
/// snapshot, so that all pages show the same data, whatever is imported in between.
fn next_link(
    service: &Service,
    request: &RunRequest,
    path: &str,
    count: usize,
    pin: SnapshotToken,
) -> Result<String, Error> {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in &request.repeated {
        query.append_pair(name, value);
    }
    query.append_pair("_count", &count.to_string());
    query.append_pair("_offset", &(request.offset + count).to_string());
    query.append_pair("_tag", &pin.text(&service.lake));
    let query = query.finish();
    if "/fhir/?".len() + path.len() + query.len() > service.limits.url {
        return Err(Error::Invalid(
            "the link to the next page would be too long; send the parameters in the body".to_owned(),
        ));
    }
    Ok(format!("{}{path}?{query}", service.fhir_base))
}
