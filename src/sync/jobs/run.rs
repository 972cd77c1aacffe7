//! Runs a job from its beginning to its end.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::attach::{self, Attached, attach};
use super::commit::Commit;
use super::fetch::{Fetched, fetch};
use super::gap::{Gap, Why, report, rules};
use super::made;
use super::person::Person;
use super::plan::{Known, plan};
use super::said::Said;
use super::source::{Gate, Source, Terms, Trouble, blocking, internal, remember};
use super::spool::{Spool, Spools};
use super::work::Whose;
use crate::consent::{BegunJob, Dialect, Endpoint, JobFailure, JobReport, JobSuccess, LinkedPatient, Store};
use crate::fhir::facts;
use crate::ingest::{Normalization, SourceBase, Summary};
use crate::lake::Lake;
use crate::normalize::Day;
use crate::sync::client::{Client, Statement};
use crate::sync::settings::Settings;

/// The maximum delay of a job in seconds, even if its source requests more, because somebody waits for the records.
const LONGEST_WAIT: i64 = 3_600;
/// The number of attempts of a job whose source sends invalid answers.
const BROKEN_ATTEMPTS: u32 = 3;
/// The maximum number of gaps that the reason of a failed job names.
const TOLD: usize = 3;
/// A stored statement of a source is used for this number of seconds before it is read again.
const STATEMENT_HOLDS: i64 = 7 * 86_400;
/// The timeout for reading a source's statement.
const STATEMENT_WAIT: Duration = Duration::from_secs(20);

const SECONDS_OF_A_DAY: i64 = 86_400;

/// What a worker needs.
pub(in crate::sync) struct JobResources {
    pub(in crate::sync) store: Arc<Store>,
    pub(in crate::sync) lake: Lake,
    pub(in crate::sync) client: Client,
    /// The service's address without a trailing slash.
    pub(in crate::sync) base_url: String,
    pub(in crate::sync) settings: Settings,
}

/// What all jobs share.
pub(in crate::sync) struct JobContext {
    pub(in crate::sync) store: Arc<Store>,
    pub(in crate::sync) lake: Lake,
    pub(in crate::sync) client: Client,
    base_url: String,
    pub(in crate::sync) settings: Settings,
    pub(in crate::sync) spools: Spools,
    /// Held while a job or an erasure of this process writes the lake, so that only one does at a time.
    pub(in crate::sync) writing: Arc<tokio::sync::Mutex<()>>,
    gates: Mutex<HashMap<String, Arc<Gate>>>,
}

impl JobContext {
    pub(in crate::sync) fn new(means: JobResources, spools: Spools) -> JobContext {
        let JobResources {
            store,
            lake,
            client,
            base_url,
            settings,
        } = means;
        JobContext {
            store,
            lake,
            client,
            base_url,
            settings,
            spools,
            writing: Arc::default(),
            gates: Mutex::default(),
        }
    }

    /// Returns the rules for normalizing records, as of now.
    pub(in crate::sync) fn rules(&self) -> Normalization {
        let days = self.store.clock().now().div_euclid(SECONDS_OF_A_DAY);
        Normalization {
            knowledge: self.settings.knowledge.get(),
            today: Day(i32::try_from(days).unwrap_or_default()),
            tag_system_base: format!("{}/tags", self.base_url),
            observer: None,
            dangling: BTreeMap::new(),
        }
    }

    fn gate(&self, endpoint: &str) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        let made = gates.entry(endpoint.to_owned());
        made.or_insert_with(|| Arc::new(Gate::new(self.settings.requests)))
            .clone()
    }
}

/// Runs a job, if it may still start, and stores its result.
pub(in crate::sync) async fn run(context: Arc<JobContext>, job: String) {
    let (store, id) = (context.store.clone(), job.clone());
    let begun = match blocking(move || store.jobs().begin(&id)).await {
        Ok(Ok(Some(begun))) => begun,
        Ok(Ok(None)) => return,
        Ok(Err(error)) => return tracing::error!(%error, "a sync job could not be begun"),
        Err(_) => return,
    };
    let attempts = begun.job.attempts;
    // A retry is not put off, because another retry follows it.
    let is_retry = begun.job.is_retry();
    let last = is_retry || attempts >= context.settings.pace.attempts;
    let said = Arc::new(Said::default());
    let mut fetched = Fetched::default();
    let result = carry_out(&context, begun, last, &said, &mut fetched).await;
    let pace = context.settings.pace;
    let store = context.store.clone();
    let noted = blocking(move || match result {
        Ok(Done {
            detail,
            normalized,
            dangling,
            report,
            linked,
        }) => {
            tracing::info!(
                job,
                done = detail,
                missing = report.missing.len(),
                "a sync is completed"
            );
            let success = JobSuccess {
                detail: &detail,
                normalized: &normalized,
                dangling: Some(&dangling),
                report: Some(&report),
                // Of an id that a retry has found, only the next sync fetches everything.
                linked: Some(linked.as_slice()).filter(|_| !is_retry),
            };
            store.jobs().complete(&job, success)
        }
        Err(Trouble::Stopped) => Ok(false),
        Err(Trouble::Passing { why, retry_after }) if !last => {
            let wait = pace.again.saturating_mul(1 << (attempts.saturating_sub(1)).min(16));
            let asked = retry_after.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
            let wait = wait.max(asked.unwrap_or(0)).min(LONGEST_WAIT);
            tracing::info!(job, why, wait, "a sync is put off");
            let requested = match asked.filter(|seconds| *seconds > wait) {
                Some(seconds) => format!("; the source asks to be left alone for {seconds} s"),
                None => String::new(),
            };
            let told = format!("{why}{requested}; it is tried again in {wait} s");
            store.jobs().put_back(&job, store.clock().now() + wait, &told)
        }
        Err(trouble) => {
            tracing::warn!(job, why = %trouble, "a sync failed");
            let (why, outcome) = (trouble.to_string(), said.outcome());
            let report = report(&fetched.gaps, None);
            let failure = JobFailure {
                why: &why,
                access_ended: matches!(trouble, Trouble::Shut(_)),
                outcome: outcome.as_ref(),
                report: Some(&report),
            };
            store.jobs().fail(&job, failure)
        }
    });
    match noted.await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            tracing::error!(%error, "the end of a sync could not be noted; it begins again after a restart")
        }
        Err(_) => tracing::error!("the end of a sync could not be noted; it begins again after a restart"),
    }
}

/// The result of a successful job.
struct Done {
    /// The text for the audit log.
    detail: String,
    /// The counts of the rules of normalization, in words.
    normalized: String,
    dangling: BTreeMap<u64, u32>,
    report: JobReport,
    /// The further ids of the person at the source.
    linked: Vec<LinkedPatient>,
}

/// Fetches and commits the records of a job. Returns what was stored. Sets `fetched` to what was fetched, so that the
/// caller knows it even if the job fails later.
async fn carry_out(
    context: &Arc<JobContext>,
    begun: BegunJob,
    last: bool,
    said: &Arc<Said>,
    fetched: &mut Fetched,
) -> Result<Done, Trouble> {
    let over = |why: &str| Trouble::Over(why.to_owned());
    let patient = begun.authorization.source_patient.clone();
    let patient = patient.ok_or_else(|| over("the source named no patient"))?;
    let (store, authorization) = (context.store.clone(), begun.authorization.clone());
    // The first job after a patient has authorized the access fetches everything, even if earlier syncs have stored
    // records.
    let is_first = begun.job.cause == "exchange";
    let (endpoint, credential, dialect, had_patient, since, linked) = blocking(move || {
        let endpoint = store.endpoints().get(&authorization.endpoint)?;
        let dialect = store.dialects().get(&authorization.endpoint)?;
        let credential = store.credentials().get(&authorization.id)?;
        let had_patient = store.jobs().had_patient(&authorization.id)?;
        let since = if is_first {
            None
        } else {
            store.jobs().last_sync(&authorization.id)?
        };
        let linked = store.jobs().linked_patients(&authorization.id)?;
        Ok::<_, crate::consent::Error>((endpoint, credential, dialect, had_patient, since, linked))
    })
    .await?
    .map_err(internal)?;
    let endpoint: Endpoint = endpoint.ok_or_else(|| over("the endpoint is gone"))?;
    let no_access = || Trouble::Shut("there is no access to the source".to_owned());
    let credential = credential.ok_or_else(no_access)?;
    let statement = statement(context, &endpoint, &dialect).await?;
    if let Some(problem) = statement.as_ref().and_then(Statement::problem) {
        return Err(Trouble::Over(format!("the source cannot be read: {problem}")));
    }
    let granted = begun.authorization.scope_granted.clone();
    let source = Source::new(
        context.client.clone(),
        context.store.clone(),
        begun.authorization.clone(),
        &endpoint,
        credential,
        Terms {
            gate: context.gate(&endpoint.id),
            pace: context.settings.pace,
            said: said.clone(),
            dialect,
        },
    )?;
    let known = Known {
        listed: &endpoint.resources,
        scope: granted.as_deref(),
        statement: statement.as_ref(),
    };
    let plan = plan(known);
    let is_retry = begun.job.is_retry();
    let plan = if is_retry { plan.only(&begun.targets) } else { plan };
    // The last sync may lack records of types that are only read by reference. These records are found again only if
    // everything is fetched. So in this case ignore the last sync.
    let is_searched = |name: &String| {
        plan.searches
            .iter()
            .any(|search| facts().get(search.type_id).name == name.as_str())
    };
    let since = since.filter(|last| !is_retry && last.missing.iter().all(is_searched));
    let spool = context.spools.open(&begun.job.id).map_err(internal)?;
    let limits = context.settings.limits;
    let before = Person::known(&patient, begun.authorization.patient.as_deref(), &linked);
    let whose = Whose {
        patient: &patient,
        before: &before,
        scope: granted.as_deref(),
        statement: statement.as_ref(),
        since: since.as_ref(),
    };
    let all = tokio::time::timeout(limits.time, fetch(&source, &plan, &spool, whose, limits)).await;
    let late = |_| Trouble::Passing {
        why: "the source took too long".to_owned(),
        retry_after: None,
    };
    *fetched = all.map_err(late)??;
    let base = fetched.base.take().unwrap_or_else(|| source.all_bases());
    let whose = whose_attachments(context, &begun, &endpoint, (&patient, &base)).await?;
    let all = tokio::time::timeout(limits.time, attach(&source, spool, whose, limits, fetched.bytes)).await;
    let (spool, attached) = all.map_err(late)??;
    fetched.gaps.extend(attached.gaps.iter().cloned());
    let Attached {
        list: attachments,
        tally,
        ..
    } = attached;
    let tells_news = statement.as_ref().is_some_and(Statement::tells_news);
    let is_known = tells_news && since.is_some_and(|since| !since.had.is_empty());
    judge(fetched, begun.job.attempts, last, is_known || is_retry)?;
    // Without new records, the commit only normalizes the stored records again.
    let is_new = fetched.records > 0;
    // A Patient is generated only if all records were fetched. Changes alone tell too little about the patient.
    let is_whole = is_new && !is_known && !is_retry;
    let generated_patient = is_whole && !fetched.has_patient && !had_patient && is_granted_patient(&fetched.gaps);
    let person = fetched.person.take().unwrap_or(before);
    let (spool, patient) = if generated_patient {
        blocking(move || make_patient(spool, patient))
            .await?
            .map_err(internal)?
    } else {
        (spool, patient)
    };
    let owner = begun.consent.owner.unwrap_or_default();
    let ours = |id: &str| context.lake.synced_id(owner, &endpoint.id, "Patient", id);
    let linked = person.further().map(|id| LinkedPatient {
        source_id: id.to_owned(),
        patient: ours(if person.alias.as_deref() == Some(id) {
            &patient
        } else {
            id
        }),
    });
    let linked: Vec<LinkedPatient> = linked.collect();
    let commit = Commit {
        base,
        lake: context.lake.clone(),
        store: context.store.clone(),
        begun,
        endpoint,
        source_patient: patient,
        alias: person.alias.clone(),
        linked: person.linked().map(str::to_owned).collect(),
        rules: context.rules(),
        spool,
        attachments,
        generated_patient,
    };
    let writing = context.writing.clone().lock_owned().await;
    let summary = blocking(move || {
        let done = commit.carry_out();
        drop(writing);
        done
    })
    .await??;
    let total = summary.total();
    if is_new && total.stored + total.unchanged == 0 {
        let refused: Vec<String> = report(&[], Some(&summary))
            .missing
            .iter()
            .map(|one| one.line())
            .collect();
        return Err(Trouble::Over(match refused.is_empty() {
            true => "the source has no records of the patient".to_owned(),
            false => format!("no record of the source can be stored: {}", refused.join("; ")),
        }));
    }
    let mut report = report(&fetched.gaps, is_new.then_some(&summary));
    report.rules = rules(&summary);
    report.attachments = Some(tally);
    if generated_patient {
        let of_patient = report
            .missing
            .iter_mut()
            .filter(|missing| missing.resource_type == "Patient");
        for missing in of_patient {
            missing
                .detail
                .push_str("; the service made one of what other records say");
        }
    }
    Ok(Done {
        detail: match tally.told() {
            Some(attachments) => format!("{}; attachments: {attachments}", told(fetched, &summary)),
            None => told(fetched, &summary),
        },
        normalized: summary.rules.told(),
        dangling: summary.rules.dangling.clone(),
        report,
        linked,
    })
}

/// Returns the attachments that the lake already has, and what is needed to compute the ids of a job's attachments.
async fn whose_attachments(
    context: &JobContext,
    begun: &BegunJob,
    endpoint: &Endpoint,
    (patient, base): (&str, &SourceBase),
) -> Result<attach::Whose, Trouble> {
    let consent = &begun.consent;
    let owner = consent.owner.ok_or_else(|| internal("the consent has no owner"))?;
    let (lake, mode, application) = (context.lake.clone(), consent.mode, consent.application.clone());
    let authorization = begun.authorization.id.clone();
    let kept = blocking(move || lake.kept_attachments(mode, &application, owner, &authorization)).await?;
    Ok(attach::Whose {
        lake: context.lake.clone(),
        owner,
        endpoint: endpoint.id.clone(),
        source_patient: patient.to_owned(),
        base: base.clone(),
        kept: kept.map_err(internal)?,
    })
}

/// Whether the Patient was granted but could not be read, and another attempt would not help. If the Patient was not
/// granted, there is no gap for it.
fn is_granted_patient(gaps: &[Gap]) -> bool {
    gaps.iter()
        .any(|gap| gap.resource_type == "Patient" && !matches!(gap.why, Why::Failed(_)))
}

/// Adds a generated Patient to the records.
fn make_patient(spool: Spool, patient: String) -> std::io::Result<(Spool, String)> {
    let line = made::made(&spool.files(), &patient)?;
    let mut draft = spool.draft("generated-Patient")?;
    draft.line(&line)?;
    spool.keep(draft)?;
    Ok((spool, patient))
}

/// Returns the source's statement: the stored one or, if that is too old, a new one. If no new one can be read, returns
/// the stored one even if it is too old.
async fn statement(context: &JobContext, endpoint: &Endpoint, dialect: &Dialect) -> Result<Option<Statement>, Trouble> {
    let kept = dialect
        .statement
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok());
    let holds = |at: i64| at.saturating_add(STATEMENT_HOLDS) > context.store.clock().now();
    if kept.is_some() && dialect.statement_at.is_some_and(holds) {
        return Ok(kept);
    }
    let asked = tokio::time::timeout(STATEMENT_WAIT, context.client.statement(&endpoint.fhir_base)).await;
    let Ok(Ok(found)) = asked else { return Ok(kept) };
    if found.problem().is_some() {
        // This answer may come from a gateway, and the problem may be temporary. So it is not stored, and an earlier
        // usable statement is preferred.
        let sound = kept.filter(|kept: &Statement| kept.problem().is_none());
        return Ok(Some(sound.unwrap_or(found)));
    }
    let (store, id, text) = (
        context.store.clone(),
        endpoint.id.clone(),
        serde_json::to_string(&found).map_err(internal)?,
    );
    remember(move || store.dialects().set_statement(&id, &text));
    Ok(Some(found))
}

/// Decides whether the fetched records are stored. They are stored if there are any. What failed beside them is asked
/// for by a retry.
///
/// With `is_known`, the lake has records already. Then an empty result may mean that nothing is new, and the sync
/// succeeds if the source has answered at all.
///
/// Otherwise nothing was fetched. Then a temporary failure puts the job off until its last attempt. Any other failed
/// request puts it off only before attempt number [`BROKEN_ATTEMPTS`].
fn judge(fetched: &Fetched, attempt: u32, last: bool, is_known: bool) -> Result<(), Trouble> {
    let mut failed = fetched.gaps.iter().filter_map(|gap| match &gap.why {
        Why::Failed(trouble) | Why::Cut(trouble) => Some(trouble),
        _ => None,
    });
    let passing = failed
        .clone()
        .find(|trouble| matches!(trouble, Trouble::Passing { .. }));
    let failed = passing.or_else(|| failed.next());
    if fetched.records > 0 || (is_known && (failed.is_none() || fetched.answered)) {
        return Ok(());
    }
    match failed {
        Some(Trouble::Passing { .. }) if !last => Err(failed.cloned().unwrap_or(Trouble::Stopped)),
        Some(trouble) if !last && attempt < BROKEN_ATTEMPTS => Err(Trouble::Passing {
            why: trouble.to_string(),
            retry_after: None,
        }),
        Some(trouble) => Err(Trouble::Over(trouble.to_string())),
        None => Err(Trouble::Over(nothing_came(&fetched.gaps))),
    }
}

/// Returns why nothing was fetched, although no request failed.
fn nothing_came(gaps: &[Gap]) -> String {
    let missing = report(gaps, None).missing;
    let mut lines: Vec<String> = missing.iter().take(TOLD).map(|missing| missing.line()).collect();
    match missing.len() {
        0 => return "the source has no records of the patient".to_owned(),
        count if count > TOLD => lines.push(format!("and {} more", count - TOLD)),
        _ => {}
    }
    format!("the source gave no records: {}", lines.join("; "))
}

/// Describes what was stored, for the audit log. What is missing has its own entries.
fn told(fetched: &Fetched, summary: &Summary) -> String {
    let total = summary.total();
    let mut text = format!("{} stored, {} unchanged", total.stored, total.unchanged);
    if summary.refused > 0 {
        text.push_str(&format!(", {} refused", summary.refused));
    }
    if fetched.unasked > 0 {
        text.push_str(&format!(
            ", {} of types that were not asked for left out",
            fetched.unasked
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetched(records: u64, gaps: Vec<Gap>) -> Fetched {
        Fetched {
            gaps,
            records,
            ..Fetched::default()
        }
    }

    fn failed(trouble: Trouble) -> Gap {
        Gap::of("Goal", Why::Failed(trouble))
    }

    #[test]
    fn while_nothing_is_stored_what_may_pass_puts_a_job_off_until_its_last_attempt() {
        let passing = Trouble::Passing {
            why: "slow".to_owned(),
            retry_after: Some(7),
        };
        let none = fetched(
            0,
            vec![failed(Trouble::Broken("no page".to_owned())), failed(passing.clone())],
        );
        assert_eq!(judge(&none, 5, false, false), Err(passing.clone()));
        assert_eq!(judge(&none, 6, true, false), Err(Trouble::Over("slow".to_owned())));
        // Beside records, and beside those of earlier syncs, a retry asks for what failed.
        let some = fetched(3, vec![failed(passing.clone())]);
        assert_eq!(judge(&some, 1, false, false), Ok(()));
        assert_eq!(report(&some.gaps, None).again.len(), 1);
        assert_eq!(judge(&none, 1, false, true), Err(passing));
        let nothing_new = Fetched { answered: true, ..none };
        assert_eq!(judge(&nothing_new, 1, false, true), Ok(()));
    }

    #[test]
    fn a_type_that_is_broken_or_not_served_is_left_out_and_told() {
        let broken = failed(Trouble::Broken("no page".to_owned()));
        let part = Gap {
            part: Some("category=laboratory".to_owned()),
            ..Gap::of("Observation", Why::Refused(403))
        };
        let none = fetched(0, vec![broken.clone(), part.clone()]);
        assert!(matches!(judge(&none, 2, false, false), Err(Trouble::Passing { .. })));
        assert!(matches!(judge(&none, 3, false, false), Err(Trouble::Over(_))));
        let lines: Vec<String> = report(&none.gaps, None).missing.iter().map(|one| one.line()).collect();
        assert_eq!(
            lines,
            [
                "Goal left out: no page",
                "Observation (category=laboratory) forbidden: status 403"
            ]
        );
        let told = |gaps| judge(&fetched(0, gaps), 1, false, false).unwrap_err().to_string();
        assert_eq!(told(Vec::new()), "the source has no records of the patient");
        let part = "Observation (category=laboratory) forbidden: status 403";
        let gap = none.gaps[1].clone();
        assert_eq!(told(vec![gap.clone()]), format!("the source gave no records: {part}"));
        assert!(told(vec![gap.clone(), gap.clone(), gap.clone(), gap]).ends_with("; and 1 more"));
    }
}
