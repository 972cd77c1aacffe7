//! Makes the Bundle of a summary from records.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::super::error::SummaryError;
use super::super::json::{coding, quoted};
use super::super::list::SECTIONS;
use super::super::record::{Chart, Parsed, Record, THREADS, ordered};
use super::super::references::reach;
use super::super::request::Sections;
use super::super::shared::{Row, Section};
use super::complete::PROFILES;
use super::composition::{Head, SectionContent, composition};
use super::confidentiality::{Confidentiality, SYSTEM};
use super::made::{Directory, Holder, Made, Rendering, urn, uuid};
use super::write::Writer;
use crate::fhir::temporal::instant_text;
use crate::parallel;
use crate::patient::words;
use crate::search::with_base;

/// The number of entries that a thread writes before it takes more.
const AT_ONCE: usize = 32;

/// The request for a summary.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// The service's address, without a trailing slash.
    pub base_url: &'r str,
    /// The time at which the summary is made, in microseconds since 1970.
    pub moment: i64,
    /// The ids of the consent's Patients, the primary one first.
    pub patients: &'r [&'r str],
    /// The requested sections.
    pub sections: Sections,
    /// Gives the name of an endpoint. The tags of the records contain only its id.
    pub directory: &'r dyn Directory,
}

/// A summary that is complete except for its PDF.
#[derive(Clone, Debug)]
pub struct Summary {
    base_url: String,
    patient: String,
    person: String,
    moment: i64,
    date: String,
    author: String,
    is_ips: bool,
    confidentiality: Confidentiality,
    sections: Vec<SectionContent>,
    /// The Composition's id and text.
    composition: (String, String),
    /// All entries after the Composition, each with a leading comma.
    entries: Vec<u8>,
}

/// Makes a summary of a patient's own records and the records that they refer to.
pub fn summarize(request: &Request<'_>, records: &[Record<'_>]) -> Result<Summary, SummaryError> {
    let base = format!("{}/fhir", request.base_url);
    let records = ordered(records);
    let parsed = Parsed::new(&records)?;
    let chart = Chart::new(&base, request.patients, &parsed);
    let patient = chart.patient()?;
    let date = instant_text(request.moment).ok_or(SummaryError::Moment)?;
    let rows = rows(&chart, request.sections);
    let roots = rows.iter().flat_map(|(_, _, rows)| rows.iter().map(|row| row.entry));
    let reached = reach(&chart, std::iter::once(patient).chain(roots));
    let kept: FxHashSet<usize> = reached.iter().copied().collect();

    let patient_url = chart.full_url(patient);
    let holder = Holder {
        base_url: request.base_url,
        patient: &patient_url,
        date: &date,
    };
    let mut made = vec![Made::service(request.base_url)];
    let named = endpoints(&chart, &reached).into_iter();
    let named = named.filter_map(|id| Some(Made::source(request.base_url, &id, &request.directory.name(&id)?)));
    made.extend(named);
    let authors: Vec<String> = made.iter().map(|each| each.full_url.clone()).collect();
    made.push(Made::custodian(request.base_url));
    let custodian = made.last().map(|each| each.full_url.clone()).unwrap_or_default();
    let sections: Vec<SectionContent> = rows
        .into_iter()
        .map(|(section, is_asked, rows)| content(&chart, section, is_asked, rows, &holder, &mut made))
        .collect();

    let writer = Writer {
        chart: &chart,
        patient,
        kept: &kept,
    };
    let mut entries = vec![b','];
    let is_ips = writer.entry(patient, &mut entries);
    for each in &made {
        push(&mut entries, each);
    }
    let others: Vec<&[usize]> = reached.get(1..).unwrap_or_default().chunks(AT_ONCE).collect();
    let written = parallel::map(&others, THREADS, |some| {
        let mut entries = Vec::new();
        for at in *some {
            entries.push(b',');
            writer.entry(*at, &mut entries);
        }
        entries
    });
    entries.extend_from_slice(&written.concat());
    // Stored addresses of attachments are relative to the service. Make them absolute.
    if let Some(shown) = with_base(&entries, &format!("{base}/")) {
        entries = shown.into();
    }
    let confidentiality = reached.iter().map(|at| Confidentiality::of(&chart.entries[*at])).max();
    let confidentiality = confidentiality.unwrap_or(Confidentiality::Normal);
    let head = Head {
        base_url: request.base_url,
        patient: &patient_url,
        date: &date,
        authors: &authors,
        custodian: &custodian,
        confidentiality,
        is_ips,
    };
    let composition = composition(&head, &sections, &versions(&chart, &reached));
    Ok(Summary {
        base_url: request.base_url.to_owned(),
        author: authors.into_iter().next().unwrap_or_default(),
        patient: patient_url,
        person: words::person(chart.entries[patient].json).unwrap_or_default(),
        moment: request.moment,
        date,
        is_ips,
        confidentiality,
        sections,
        composition,
        entries,
    })
}

/// Returns each section, whether the request asks for it, and its rows.
fn rows(chart: &Chart<'_>, asked: Sections) -> Vec<(&'static Section, bool, Vec<Row>)> {
    let mut order: Vec<usize> = (0..SECTIONS.len()).collect();
    // The section of results takes longest. Begin with it, so that other threads make the other sections at the same
    // time.
    order.sort_by_key(|place| SECTIONS[*place].alias != "results");
    let mut rows = parallel::map(&order, THREADS, |place| {
        let (section, is_asked) = (SECTIONS[*place], asked.has(*place));
        let rows = if is_asked { (section.rows)(chart) } else { Vec::new() };
        (*place, (section, is_asked, rows))
    });
    rows.sort_by_key(|(place, _)| *place);
    rows.into_iter().map(|(_, rows)| rows).collect()
}

/// Turns the rows of a section into its content. IPS does not allow a Goal, a Device or a functional finding as an
/// entry of its section. For such a row, the entry is a resource that refers to it: the CarePlan with the goal, or a
/// new resource that is added to `made`.
fn content(
    chart: &Chart<'_>,
    section: &'static Section,
    is_asked: bool,
    rows: Vec<Row>,
    holder: &Holder<'_>,
    made: &mut Vec<Made>,
) -> SectionContent {
    let mut entries = Vec::new();
    let (mut goals, mut findings) = (Vec::new(), Vec::new());
    let planned = planned(chart, &rows);
    let mut links = Vec::with_capacity(rows.len());
    for row in &rows {
        let address = chart.full_url(row.entry);
        match (section.alias, chart.entries[row.entry].type_name) {
            ("planofcare", "Goal") if planned.contains(&row.entry) => {}
            ("planofcare", "Goal") => goals.push(address.clone()),
            ("functionalstatus", "Observation") => findings.push(address.clone()),
            ("devices", "Device") => {
                let used = holder.device(&address);
                entries.push(used.full_url.clone());
                made.push(used);
            }
            _ => entries.push(address.clone()),
        }
        links.push(address);
    }
    let goals = (!goals.is_empty()).then(|| holder.goals(&goals));
    let findings = (!findings.is_empty()).then(|| holder.findings(&findings));
    for each in goals.into_iter().chain(findings) {
        entries.push(each.full_url.clone());
        made.push(each);
    }
    SectionContent {
        section,
        is_asked,
        rows: rows.into_iter().map(|row| row.cells).collect(),
        links,
        entries,
    }
}

/// Returns the indexes of the goals to which the care plans in `rows` refer.
fn planned(chart: &Chart<'_>, rows: &[Row]) -> FxHashSet<usize> {
    let plans = rows.iter().map(|row| &chart.entries[row.entry]);
    let plans = plans.filter(|entry| entry.type_name == "CarePlan");
    let goals = plans.filter_map(|plan| plan.get("goal")).flat_map(|list| list.items());
    goals
        .filter_map(|goal| chart.find(&goal.get_str("reference")?))
        .collect()
}

/// Returns the ids of the endpoints that are in the tags of the document's records.
fn endpoints(chart: &Chart<'_>, reached: &[usize]) -> BTreeSet<String> {
    let tags = reached
        .iter()
        .filter_map(|at| chart.entries[*at].get("meta")?.get("tag"));
    let tags = tags.flat_map(|list| list.items());
    let of_endpoint = tags.filter(|tag| {
        tag.get_str("system")
            .is_some_and(|system| system.ends_with("/EndpointId"))
    });
    of_endpoint
        .filter_map(|tag| Some(tag.get_str("code")?.into_owned()))
        .collect()
}

/// Returns the ids and versions of the document's records as a text. It changes when a record changes.
fn versions(chart: &Chart<'_>, reached: &[usize]) -> String {
    let mut text = String::new();
    for at in reached {
        let entry = &chart.entries[*at];
        let meta = entry.get("meta");
        let version = meta.and_then(|meta| meta.get_str("versionId"));
        text.push_str(&format!(
            "{}/{}/{}\n",
            entry.type_name,
            entry.id,
            version.unwrap_or_default()
        ));
    }
    text
}

fn push(entries: &mut Vec<u8>, made: &Made) {
    let entry = format!(r#",{{"fullUrl":{},"resource":{}}}"#, quoted(&made.full_url), made.text);
    entries.extend_from_slice(entry.as_bytes());
}

impl Summary {
    /// The patient's name and birth date, if known.
    pub fn person(&self) -> &str {
        &self.person
    }

    /// When the summary was made, in microseconds since 1970.
    pub fn moment(&self) -> i64 {
        self.moment
    }

    /// The summary's sections, in order.
    pub fn sections(&self) -> &[SectionContent] {
        &self.sections
    }

    /// The text of the document's Bundle, with its PDF if there is one.
    pub fn bundle(&self, rendering: Option<&Rendering>) -> Vec<u8> {
        let (id, composition) = &self.composition;
        let address = urn(id);
        let bundle = uuid(&[&self.base_url, "Bundle", id]);
        let profile = if self.is_ips {
            format!(r#""profile":["{PROFILES}Bundle-uv-ips"],"#)
        } else {
            String::new()
        };
        let (code, display) = self.confidentiality.code();
        let date = quoted(&self.date);
        let head = format!(
            concat!(
                r#"{{"resourceType":"Bundle","id":"{bundle}","#,
                r#""meta":{{"lastUpdated":{date},{profile}"security":[{security}]}},"#,
                r#""language":"en","identifier":{{"system":"urn:ietf:rfc:3986","value":"urn:uuid:{bundle}"}},"#,
                r#""type":"document","timestamp":{date},"entry":[{{"fullUrl":"{address}","resource":{composition}}}"#,
            ),
            bundle = bundle,
            date = date,
            profile = profile,
            security = coding(SYSTEM, code, display),
            address = address,
            composition = composition
        );
        let mut out = Vec::with_capacity(head.len() + self.entries.len() + 2);
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(&self.entries);
        if let Some(rendering) = rendering {
            let holder = Holder {
                base_url: &self.base_url,
                patient: &self.patient,
                date: &self.date,
            };
            push(&mut out, &holder.rendering(&address, &self.author, rendering));
        }
        out.extend_from_slice(b"]}");
        out
    }
}
