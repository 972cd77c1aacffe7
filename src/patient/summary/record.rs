//! The records of a summary, parsed once. A [`Chart`] finds them by reference and by type, and knows of each record
//! whether it is about the patient.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::error::SummaryError;
use crate::columns::json::{Tape, Value};
use crate::fhir::temporal::Temporal;
use crate::fhir::{TypeId, facts};
use crate::parallel;
use crate::patient::concept::codes;
use crate::patient::follow::{Targets, key};

/// A resource that the caller may see.
#[derive(Clone, Copy, Debug)]
pub struct Record<'r> {
    /// The record's type.
    pub resource_type: TypeId,
    /// The record's id in the lake.
    pub id: &'r str,
    /// The record's text as it is stored.
    pub text: &'r str,
    /// Whether the record is in the patient's compartment, or is one of the patient's Devices. If not, it is here
    /// because another record refers to it.
    pub is_own: bool,
}

impl Record<'_> {
    fn type_name(&self) -> &'static str {
        facts().get(self.resource_type).name
    }
}

/// The number of threads that read and parse the records and make the sections. More threads would hardly make a usual
/// summary faster, and several people may request summaries at the same time.
pub(super) const THREADS: usize = 2;
/// The dates of Observations and reports.
const OBSERVED_AT: &[&str] = &["effectiveDateTime", "effectivePeriod", "effectiveInstant", "issued"];

/// A parsed record.
#[derive(Clone, Debug)]
pub(super) struct Entry<'t> {
    pub(super) resource_type: TypeId,
    pub(super) type_name: &'static str,
    pub(super) id: &'t str,
    pub(super) json: Value<'t>,
    is_own: bool,
    /// Properties that most sections read.
    asked_often: AskedOften<'t>,
    /// The date of an Observation or a report.
    observed: Option<When<'t>>,
    /// Whether the record is about the patient, or names no subject.
    is_about_patient: bool,
}

/// Properties that are looked up once and kept, because most sections read them.
#[derive(Clone, Debug, Default)]
struct AskedOften<'t> {
    category: Option<Value<'t>>,
    /// The codes of the categories, from any code system.
    category_codes: Vec<Cow<'t, str>>,
    code: Option<Value<'t>>,
    status: Option<Value<'t>>,
}

impl<'t> AskedOften<'t> {
    fn of(json: Value<'t>) -> AskedOften<'t> {
        let mut found = AskedOften::default();
        for (key, value) in json.entries() {
            let place = match key.name().as_ref() {
                "category" => &mut found.category,
                "code" => &mut found.code,
                "status" => &mut found.status,
                _ => continue,
            };
            *place = Some(value);
        }
        found.category_codes.extend(codes(found.category));
        found
    }
}

impl<'t> Entry<'t> {
    fn new(record: &Record<'t>, json: Value<'t>) -> Entry<'t> {
        let type_name = record.type_name();
        let mut entry = Entry {
            resource_type: record.resource_type,
            type_name,
            id: record.id,
            json,
            is_own: record.is_own,
            asked_often: AskedOften::of(json),
            observed: None,
            is_about_patient: true,
        };
        if matches!(type_name, "Observation" | "DiagnosticReport") {
            entry.observed = entry.when(OBSERVED_AT);
        }
        entry
    }

    /// The text of a property that is a string.
    pub(super) fn str(&self, name: &str) -> Option<Cow<'t, str>> {
        self.get(name)?.as_str()
    }

    /// Returns a property. Those in `asked_often` need no search.
    pub(super) fn get(&self, name: &str) -> Option<Value<'t>> {
        match name {
            "category" => self.asked_often.category,
            "code" => self.asked_often.code,
            "status" => self.asked_often.status,
            _ => self.json.get(name),
        }
    }

    /// Whether a category has one of these codes. The code system is not compared.
    pub(super) fn has_category(&self, wanted: &[&str]) -> bool {
        let mut codes = self.asked_often.category_codes.iter();
        codes.any(|code| wanted.contains(&code.as_ref()))
    }

    /// Whether a property is a string that is one of these texts.
    pub(super) fn is_one(&self, name: &str, texts: &[&str]) -> bool {
        self.str(name).is_some_and(|text| texts.contains(&text.as_ref()))
    }

    /// The name of the element with the record's subject.
    pub(super) fn subject_name(&self) -> &'static str {
        match self.type_name {
            "AllergyIntolerance" | "Immunization" | "Consent" | "Device" | "RelatedPerson" => "patient",
            _ => "subject",
        }
    }

    /// Returns the date of the first of these properties that has a valid date.
    pub(super) fn when(&self, names: &[&str]) -> Option<When<'t>> {
        names.iter().find_map(|name| When::read(self.get(name)?))
    }

    /// The date of an Observation or a report.
    pub(super) fn observed(&self) -> Option<&When<'t>> {
        self.observed.as_ref()
    }

    /// The day of an Observation or a report, as a cell.
    pub(super) fn observed_on(&self) -> String {
        self.observed().map_or_else(String::new, |when| when.day().to_owned())
    }
}

/// A date or time of a record. For a Period it is the start or, if that is missing, the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct When<'t> {
    /// The first microsecond of the date or time, since 1970.
    pub(super) start: i64,
    /// The text in the record.
    pub(super) text: Cow<'t, str>,
}

impl<'t> When<'t> {
    fn read(value: Value<'t>) -> Option<When<'t>> {
        let text = if value.is_object() {
            value.get_str("start").or_else(|| value.get_str("end"))
        } else {
            value.as_str()
        }?;
        let start = Temporal::date_time(&text).ok()?.start;
        Some(When { start, text })
    }

    /// Returns the day. Returns a shorter text if only the month or the year is known.
    pub(super) fn day(&self) -> &str {
        self.text.get(..10).unwrap_or(&self.text)
    }
}

/// The Patients of a summary.
#[derive(Clone, Copy, Debug)]
struct Subjects<'t> {
    /// The ids of the consent's Patients, the primary one first.
    patients: &'t [&'t str],
    /// The base of our own references, without a trailing slash.
    base: &'t str,
}

impl Subjects<'_> {
    /// Whether a record is about one of these Patients, or names no subject.
    fn are_of(&self, entry: &Entry<'_>) -> bool {
        let Some(subject) = entry.get(entry.subject_name()) else {
            return true;
        };
        subject.get_str("reference").is_none_or(|text| self.has(&text))
    }

    /// Whether a reference leads to one of these Patients.
    fn has(&self, reference: &str) -> bool {
        // Look for the usual form first, because it needs no parsing.
        let id = reference.strip_prefix("Patient/");
        if id.is_some_and(|id| self.patients.contains(&id)) {
            return true;
        }
        key(reference, self.base)
            .is_some_and(|(type_id, id)| facts().get(type_id).name == "Patient" && self.patients.contains(&id))
    }
}

/// All records, ordered by type and id.
#[derive(Debug)]
pub(super) struct Chart<'t> {
    pub(super) entries: Vec<Entry<'t>>,
    subjects: Subjects<'t>,
    by_key: FxHashMap<(TypeId, &'t str), usize>,
    by_type: FxHashMap<&'static str, Range<usize>>,
}

/// Parsed records. They are divided into shares. Each share has its records, a tape, and the place of each record on
/// that tape.
#[derive(Debug)]
pub(super) struct Parsed<'t> {
    shares: Vec<(&'t [Record<'t>], Tape, Vec<u32>)>,
}

impl<'t> Parsed<'t> {
    /// Parses the records on several threads. The records must have [the order of a chart](ordered).
    pub(super) fn new(records: &'t [Record<'t>]) -> Result<Parsed<'t>, SummaryError> {
        let parsed = parallel::map(&shares(records), THREADS, |share| {
            let mut tape = Tape::with_room_for(bytes(share));
            let places = share.iter().map(|record| {
                tape.append(record.text).map_err(|reason| SummaryError::Unreadable {
                    resource_type: record.type_name(),
                    reason,
                })
            });
            let places = places.collect::<Result<Vec<u32>, SummaryError>>()?;
            Ok((*share, tape, places))
        });
        Ok(Parsed {
            shares: parsed.into_iter().collect::<Result<_, SummaryError>>()?,
        })
    }

    /// Returns an entry for each record, and decides whether the record is about one of `subjects`.
    fn entries(&self, subjects: Subjects<'_>) -> Vec<Entry<'_>> {
        let entries = parallel::map(&self.shares, THREADS, |(records, tape, places)| {
            let entry = |(record, place): (&Record<'t>, &u32)| {
                let mut entry = Entry::new(record, tape.value(*place, record.text));
                entry.is_about_patient = subjects.are_of(&entry);
                entry
            };
            records.iter().zip(places).map(entry).collect::<Vec<_>>()
        });
        entries.into_iter().flatten().collect()
    }
}

/// Divides the records into at most [`THREADS`] shares with about the same number of bytes.
fn shares<'s, 'r>(records: &'s [Record<'r>]) -> Vec<&'s [Record<'r>]> {
    let size = bytes(records).div_ceil(THREADS).max(1);
    let mut before = 0;
    let same_share = |record: &Record<'_>, _: &Record<'_>| {
        let share = before / size;
        before += record.text.len();
        before / size == share
    };
    records.chunk_by(same_share).collect()
}

fn bytes(records: &[Record<'_>]) -> usize {
    records.iter().map(|record| record.text.len()).sum()
}

/// Returns the records in the order of a chart: by type and id. If a record is there twice, one of the two stays: one
/// with `is_own`, if there is one.
pub(super) fn ordered<'r>(records: &[Record<'r>]) -> Vec<Record<'r>> {
    let mut records = records.to_vec();
    records.sort_by(|one, other| {
        let by_type = if one.resource_type == other.resource_type {
            Ordering::Equal
        } else {
            one.type_name().cmp(other.type_name())
        };
        by_type.then_with(|| (one.id, !one.is_own).cmp(&(other.id, !other.is_own)))
    });
    records.dedup_by_key(|record| (record.resource_type, record.id));
    records
}

impl<'t> Chart<'t> {
    /// Indexes parsed records.
    pub(super) fn new(base: &'t str, patients: &'t [&'t str], parsed: &'t Parsed<'_>) -> Chart<'t> {
        let subjects = Subjects { patients, base };
        let mut chart = Chart {
            subjects,
            by_key: FxHashMap::default(),
            by_type: FxHashMap::default(),
            entries: parsed.entries(subjects),
        };
        for (at, entry) in chart.entries.iter().enumerate() {
            chart.by_key.insert((entry.resource_type, entry.id), at);
            chart.by_type.entry(entry.type_name).or_insert(at..at).end = at + 1;
        }
        chart
    }

    /// Returns the index of the primary Patient: of the consent's Patients, the first one that is among the records.
    pub(super) fn patient(&self) -> Result<usize, SummaryError> {
        let type_id = facts().lookup("Patient").ok_or(SummaryError::NoPatient)?;
        let mut there = self
            .subjects
            .patients
            .iter()
            .filter_map(|id| self.by_key.get(&(type_id, *id)));
        there.next().copied().ok_or(SummaryError::NoPatient)
    }

    /// Returns the indexes of the patient's own records of a type. Records about another person are left out.
    pub(super) fn own(&self, type_name: &str) -> impl Iterator<Item = usize> + use<'_, 't> {
        let places = self.by_type.get(type_name).cloned().unwrap_or_default();
        places.filter(|at| self.entries[*at].is_own && self.is_about_patient(*at))
    }

    /// Whether a record is about the patient, or names no subject. A patient's compartment also holds what the patient
    /// observed of other people.
    pub(super) fn is_about_patient(&self, at: usize) -> bool {
        self.entries[at].is_about_patient
    }

    /// Whether a reference leads to a Patient of the consent.
    pub(super) fn is_patient(&self, reference: &str) -> bool {
        self.subjects.has(reference)
    }

    /// Returns the index of the record to which a reference leads.
    pub(super) fn find(&self, reference: &str) -> Option<usize> {
        let (type_id, id) = key(reference, self.subjects.base)?;
        let key = self.by_key.get_key_value(&(type_id, id));
        key.map(|(_, at)| *at)
    }

    /// The absolute address of a record.
    pub(super) fn full_url(&self, at: usize) -> String {
        let entry = &self.entries[at];
        format!("{}/{}/{}", self.subjects.base, entry.type_name, entry.id)
    }
}

impl<'t> Targets<'t> for Chart<'t> {
    fn find(&self, reference: &str) -> Option<Value<'t>> {
        Some(self.entries[Chart::find(self, reference)?].json)
    }
}
