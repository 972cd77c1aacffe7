//! Generates a person's life: insurance, diagnoses, visits, measurements, prescriptions. This file decides when events
//! occur, and how often. It calls other files, which write the resources.

use super::super::billing::{claims, coverage};
use super::super::clinical::diagnostics::{labs, vitals};
use super::super::clinical::medication::{immunizations, medications};
use super::super::clinical::summary::conditions;
use super::super::clinical::summary::diagnoses::ACUTE;
use super::super::clinical::summary::{allergies, procedures};
use super::super::clinical::{care, devices, documents, encounters, provenance};
use super::super::output::patient;
use super::super::output::records::Records;
use super::calendar::{DAY, HOUR, MINUTE, Moment, YEAR};
use super::chart::{Chart, Kind, Reason, Visit};
use super::dice::{Dice, Stream};
use super::directory::{District, Nation, Specialty};
use super::profile::{Burden, Profile};

/// The length of the period before [`Profile::end`] in which visits are recorded.
const REACH: i64 = 10 * YEAR;

/// Writes a person's whole record.
pub(in crate::sandbox) fn tell(seed: u64, nation: &Nation, profile: &Profile) -> Records {
    let mut dice = Dice::new(seed, Stream::Story, profile.index);
    let care = [
        District::new(seed, profile.district),
        District::new(seed, dice.below(profile.district + 1)),
    ];
    let home = &care[0];
    let specialty = if profile.age(profile.end()) < 15 {
        Specialty::Pediatrics
    } else {
        Specialty::Family
    };
    let mut chart = Chart {
        primary: home.practitioner(specialty, profile.index),
        zone: home.zone(),
        name: profile.name(),
        dice,
        nation,
        profile,
        care: &care,
        insurances: Vec::new(),
        records: Records::default(),
    };
    patient::write(&mut chart);
    coverage::write(&mut chart);
    allergies::write(&mut chart);
    for illness in &profile.illnesses {
        conditions::chronic_condition(&mut chart, *illness);
        medications::for_illness(&mut chart, *illness);
        if illness.what.snomed.code == "49436004" && chart.dice.percent(30) {
            devices::pacemaker(&mut chart);
        }
    }
    care::write(&mut chart);
    immunizations::write(&mut chart);
    for visit in visits(&mut chart) {
        attend(&mut chart, visit);
    }
    if profile.monitors {
        let device = devices::monitor(&mut chart);
        let days = chart.dice.between(60, 300);
        let from = profile.end().after(-(days * 13 / 10 + 5) * DAY).max(profile.birth);
        vitals::at_home(&mut chart, device, from, days);
    }
    chart.records
}

/// Generates the visits of the recorded years, in the order of their days.
fn visits(chart: &mut Chart<'_>) -> Vec<Visit> {
    let profile = chart.profile;
    let first = profile.birth.max(profile.end().after(-REACH)).after(DAY);
    let span = (profile.end().0 - first.0).max(DAY);
    let (low, high) = match profile.burden {
        Burden::Light => (7, 17),
        Burden::Regular => (17, 40),
        Burden::Heavy => (42, 90),
    };
    // `span` is shorter than `REACH` for a child under ten. So such a child has fewer visits, in proportion to its age.
    let many = (chart.dice.between(low, high) * span / REACH).max(2);
    let mut starts: Vec<i64> = (0..many).map(|_| chart.dice.below(span as u64) as i64).collect();
    starts.sort_unstable();
    starts
        .into_iter()
        .map(|start| visit(chart, first.after(start)))
        .collect()
}

fn visit(chart: &mut Chart<'_>, at: Moment) -> Visit {
    let kinds = [
        Kind::Checkup,
        Kind::Problem,
        Kind::FollowUp,
        Kind::Remote,
        Kind::Emergency,
        Kind::Inpatient,
    ];
    let kind = kinds[chart.dice.weighted(&[32, 26, 24, 8, 7, 3])];
    let zone = i64::from(chart.zone.0) * MINUTE;
    let opening = at.after(zone).day().after(-zone);
    let (start, length) = match kind {
        Kind::Emergency => (
            opening.after(chart.dice.between(0, DAY - 1)),
            chart.dice.between(60, 480),
        ),
        Kind::Inpatient => (
            opening.after(chart.dice.between(6 * HOUR, 20 * HOUR)),
            chart.dice.between(1440, 9000),
        ),
        _ => (
            opening.after(chart.dice.between(17, 33) * 30 * MINUTE),
            chart.dice.between(1, 4) * 15,
        ),
    };
    let start = start.after(chart.dice.between(0, 59)).max(chart.profile.birth);
    let place = usize::from(chart.dice.percent(6));
    let specialty = match kind {
        Kind::Emergency => Some(Specialty::Emergency),
        Kind::Inpatient => {
            Some(
                *chart
                    .dice
                    .pick(&[Specialty::Internal, Specialty::Orthopedics, Specialty::Cardiology]),
            )
        }
        _ if place == 1 || chart.dice.percent(20) => Some(*chart.dice.pick(&[
            Specialty::Internal,
            Specialty::Cardiology,
            Specialty::Nursing,
            Specialty::Obstetrics,
        ])),
        _ => None,
    };
    let key = chart.dice.below(64);
    let practitioner = match specialty {
        Some(specialty) => chart.care[place].practitioner(specialty, key),
        None => chart.primary,
    };
    let hospital = matches!(kind, Kind::Emergency | Kind::Inpatient);
    let site = if hospital {
        0
    } else {
        chart.care[place].practitioners[practitioner].site
    };
    let id = chart.dice.id();
    Visit {
        id,
        kind,
        start,
        end: start.after(length * MINUTE),
        place,
        practitioner,
        site,
        reasons: Vec::new(),
    }
}

/// Writes a visit and everything that follows from it, such as diagnoses, results, prescriptions and claims.
fn attend(chart: &mut Chart<'_>, mut visit: Visit) {
    let acute = match visit.kind {
        Kind::Problem | Kind::Emergency | Kind::Inpatient => true,
        Kind::Remote => chart.dice.percent(50),
        Kind::Checkup | Kind::FollowUp => false,
    };
    let mut prescribed = None;
    if acute && chart.dice.percent(75) {
        let hospital = matches!(visit.kind, Kind::Emergency | Kind::Inpatient);
        let fitting: Vec<_> = ACUTE.iter().filter(|what| what.emergency == hospital).collect();
        let what = *chart.dice.pick(&fitting);
        let reason = conditions::acute_condition(chart, &visit, what);
        prescribed = what.drug.map(|drug| (reason, drug));
        visit.reasons.push(reason);
    }
    let known = chart
        .profile
        .illnesses
        .iter()
        .filter(|illness| illness.since <= visit.start);
    let known: Vec<Reason> = known
        .map(|illness| Reason {
            condition: illness.id,
            icd: illness.what.icd,
            snomed: illness.what.snomed,
        })
        .collect();
    if !known.is_empty() && (visit.kind == Kind::FollowUp || chart.dice.percent(35)) {
        visit.reasons.push(*chart.dice.pick(&known));
    }
    encounters::write(chart, &visit);
    let in_person = visit.kind != Kind::Remote;
    if in_person && chart.dice.percent(72) {
        vitals::at_visit(chart, &visit);
    }
    if in_person && chart.dice.percent(26) {
        labs::at_visit(chart, &visit);
    }
    let done = if in_person {
        procedures::at_visit(chart, &visit)
    } else {
        Vec::new()
    };
    if let Some((reason, drug)) = prescribed {
        medications::at_visit(chart, &visit, &reason, drug);
    }
    if chart.dice.percent(45) {
        documents::at_visit(chart, &visit);
    }
    claims::at_visit(chart, &visit, &done);
    if chart.dice.percent(40) {
        let ids: Vec<_> = done.iter().map(|one| one.id).collect();
        provenance::write(chart, &visit, &ids);
    }
}
