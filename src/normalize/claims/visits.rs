//! Groups the service lines of claims into visits and stays.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::out::Context;
use super::read::claim::{Claim, Kind, Line, Role};
use super::read::own::Own;
use super::read::party::Party;
use super::read::services::Service;
use super::read::text::{Name, Span, When};
use super::tables::bill_type::Setting;
use super::tables::place_of_service::{Class, INPATIENT_HOSPITAL};
use super::tables::revenue;
use crate::normalize::record::{Day, SourceId};

/// The index of a claim, and the index of one of its lines. `None` stands for the claim as a whole.
pub(super) type Part = (usize, Option<usize>);

/// What all parts of a visit have in common. Visits are sorted by this value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    /// The source's Encounter to which lines of the claim refer.
    Own(Name),
    /// A stay: the facility and the first day.
    Stay(String, Day),
    /// A period of home health: the facility and the first day.
    HomeHealth(String, Day),
    /// A period of hospice care: the facility and the first day.
    Hospice(String, Day),
    /// A day at a facility: the facility and the day.
    Facility(String, Day),
    /// A day of a provider at a place of service: the provider, the place and the day.
    Service(String, Name, Day),
}

/// A visit or stay.
#[derive(Debug)]
pub(super) struct Visit {
    /// The source of the visit's claims.
    pub(super) source: SourceId,
    /// The reference to the visit's patient.
    pub(super) patient: Name,
    /// What the visit's parts have in common.
    pub(super) sort: Sort,
    /// The visit's parts.
    pub(super) parts: Vec<Part>,
    /// The visit's class.
    pub(super) class: Class,
    /// The period from the first to the last day. If the visit goes on, the period has no end.
    pub(super) period: Span,
    /// Whether the patient was not discharged yet. Then `period` has no end.
    pub(super) goes_on: bool,
    /// The Encounter that describes the visit, if a source has sent one: that source, and the reference to the
    /// Encounter. The source may be another one than `source`.
    pub(super) own: Option<(SourceId, Name)>,
    /// The id of the generated Encounter. `None` if a source's Encounter describes the visit.
    pub(super) id: Option<String>,
}

impl Visit {
    /// Whether the visit is a stay.
    pub(super) fn is_stay(&self) -> bool {
        matches!(self.sort, Sort::Stay(..))
    }

    /// Whether the visit is a stay, or a period of home health or hospice care.
    pub(super) fn is_long(&self) -> bool {
        matches!(self.sort, Sort::Stay(..) | Sort::HomeHealth(..) | Sort::Hospice(..))
    }

    /// Returns the reference to the source's own Encounter. If there is none, returns the reference to the generated
    /// Encounter.
    pub(super) fn reference(&self) -> Option<String> {
        match (&self.own, &self.id) {
            (Some((_, own)), _) => Some(own.to_string()),
            (None, Some(id)) => Some(format!("Encounter/{id}")),
            (None, None) => None,
        }
    }
}

/// All visits of the claims.
#[derive(Debug, Default)]
pub(super) struct Visits {
    /// The visits.
    pub(super) list: Vec<Visit>,
    by_part: FxHashMap<Part, usize>,
}

impl Visits {
    /// Finds the visits of the claims, and the sources' Encounters that describe them.
    pub(super) fn find(claims: &[Claim], own: &Own, context: &Context<'_>) -> Visits {
        let mut groups = Groups {
            claims,
            context,
            by_key: BTreeMap::new(),
            stays: BTreeMap::new(),
        };
        groups.gather(own);
        let encounters = own.encounters(context.directory);
        let mut visits = Visits::default();
        for ((source, patient, sort), parts) in groups.by_key {
            let mut visit = Visit {
                source,
                patient,
                sort,
                parts,
                class: Class::Ambulatory,
                period: Span::default(),
                goes_on: false,
                own: None,
                id: None,
            };
            visit.parts.sort_unstable();
            visit.describe(claims);
            visit.own = match &visit.sort {
                Sort::Own(encounter) => Some((source, encounter.clone())),
                _ => {
                    let parties = visit.parties(claims, context);
                    let days = visit.days();
                    days.and_then(|days| encounters.find(source, &visit.patient, days, &parties))
                }
            };
            if visit.own.is_none() {
                visit.id = context.id(source, "Encounter", &visit.seed());
            }
            let place = visits.list.len();
            visits.by_part.extend(visit.parts.iter().map(|part| (*part, place)));
            visits.list.push(visit);
        }
        visits
    }

    /// Returns the index of the visit to which a part belongs.
    pub(super) fn of(&self, part: Part) -> Option<usize> {
        self.by_part.get(&part).copied()
    }

    /// Returns the indexes of a claim's visits, in the order of its lines.
    pub(super) fn of_claim(&self, place: usize, claim: &Claim) -> Vec<usize> {
        let lines = (0..claim.lines.len()).map(Some).chain([None]);
        let mut visits = Vec::new();
        for visit in lines.filter_map(|line| self.of((place, line))) {
            if !visits.contains(&visit) {
                visits.push(visit);
            }
        }
        visits
    }
}

type Key = (SourceId, Name, Sort);

/// The stays by source, patient and facility. A stay has its first day, its last day, and the indexes of its claims.
type Stays = BTreeMap<(SourceId, Name, String), Vec<(Day, Day, Vec<usize>)>>;

struct Groups<'g> {
    claims: &'g [Claim],
    context: &'g Context<'g>,
    by_key: BTreeMap<Key, Vec<Part>>,
    stays: Stays,
}

impl Groups<'_> {
    fn gather(&mut self, own: &Own) {
        let mut part_b = Vec::new();
        let mut days = Vec::new();
        let mut services = Vec::new();
        for (place, claim) in self.claims.iter().enumerate() {
            if claim.kind == Kind::Pharmacy || self.named(place, claim, own) || gives_none(claim) {
                continue;
            }
            match (claim.kind, claim.setting()) {
                (Kind::Institutional, Setting::Stay) => self.stay(place, claim),
                (Kind::Institutional, Setting::InpatientPartB) => part_b.push(place),
                (Kind::Institutional, setting @ (Setting::HomeHealth | Setting::Hospice)) => {
                    self.period(place, claim, setting);
                }
                (Kind::Institutional, Setting::Visit) => days.push(place),
                _ => services.push(place),
            }
        }
        self.merge_stays();
        for place in part_b {
            let claim = &self.claims[place];
            let facility = self.facility(claim);
            let span = stay_span(claim);
            let days = span.start.as_ref().zip(span.end.as_ref());
            let stay = days.and_then(|(start, end)| self.covering(claim, Some(&facility), start.day, end.day));
            match stay {
                Some(sort) => self.whole(place, sort),
                None => self.facility_days(place),
            }
        }
        for place in days {
            self.facility_days(place);
        }
        for place in services {
            self.services(place);
        }
    }

    /// Adds a claim whose lines refer to Encounters of the source. Lines without such a reference join the Encounter of
    /// the first line that has one. Returns `false`, and adds nothing, if no line has such a reference.
    fn named(&mut self, place: usize, claim: &Claim, own: &Own) -> bool {
        let known = |line: &Line| {
            let encounter = line.encounter.clone();
            encounter.filter(|encounter| own.has_encounter(claim.source, encounter))
        };
        let Some(first) = claim.lines.iter().find_map(known) else {
            return false;
        };
        for (at, line) in claim.lines.iter().enumerate() {
            let encounter = known(line).unwrap_or_else(|| first.clone());
            self.push(claim, Sort::Own(encounter), (place, Some(at)));
        }
        self.push(claim, Sort::Own(first), (place, None));
        true
    }

    fn push(&mut self, claim: &Claim, sort: Sort, part: Part) {
        let key = (claim.source, claim.patient.clone(), sort);
        self.by_key.entry(key).or_default().push(part);
    }

    /// Adds all parts of a claim to one visit.
    fn whole(&mut self, place: usize, sort: Sort) {
        let claim = &self.claims[place];
        for line in (0..claim.lines.len()).map(Some).chain([None]) {
            self.push(claim, sort.clone(), (place, line));
        }
    }

    fn facility(&self, claim: &Claim) -> String {
        let party = claim.place();
        party.map_or_else(String::new, |party| self.context.directory.key(claim.source, party))
    }

    fn stay(&mut self, place: usize, claim: &Claim) {
        let span = stay_span(claim);
        if let (Some(start), Some(end)) = (span.start, span.end) {
            let key = (claim.source, claim.patient.clone(), self.facility(claim));
            self.stays
                .entry(key)
                .or_default()
                .push((start.day, end.day, vec![place]));
        }
    }

    /// Merges periods into one stay if they overlap, or if one begins at most a day after the other ends. Adds all
    /// parts of the claims of each stay to one visit.
    fn merge_stays(&mut self) {
        for ((_, _, facility), periods) in &mut self.stays {
            periods.sort();
            let mut merged: Vec<(Day, Day, Vec<usize>)> = Vec::new();
            for (start, end, places) in periods.drain(..) {
                match merged.last_mut() {
                    Some(last) if start.0 <= last.1.0 + 1 => {
                        last.1 = last.1.max(end);
                        last.2.extend(places);
                    }
                    _ => merged.push((start, end, places)),
                }
            }
            *periods = merged;
            for (start, _, places) in periods {
                for place in places {
                    let claim = &self.claims[*place];
                    let key = (
                        claim.source,
                        claim.patient.clone(),
                        Sort::Stay(facility.clone(), *start),
                    );
                    let lines = (0..claim.lines.len()).map(Some).chain([None]);
                    self.by_key
                        .entry(key)
                        .or_default()
                        .extend(lines.map(|line| (*place, line)));
                }
            }
        }
    }

    /// Returns the stay of the claim's patient that covers the days. The stay must be at `facility`. If `facility` is
    /// `None`, it may be at any facility.
    fn covering(&self, claim: &Claim, facility: Option<&String>, from: Day, to: Day) -> Option<Sort> {
        let first = (
            claim.source,
            claim.patient.clone(),
            facility.cloned().unwrap_or_default(),
        );
        let near = self.stays.range(first..);
        let near = near.take_while(|((source, patient, _), _)| (*source, patient) == (claim.source, &claim.patient));
        for ((_, _, at), periods) in near {
            if facility.is_some_and(|facility| facility != at) {
                break;
            }
            if let Some((start, _, _)) = periods.iter().find(|(start, end, _)| *start <= from && to <= *end) {
                return Some(Sort::Stay(at.clone(), *start));
            }
        }
        None
    }

    fn period(&mut self, place: usize, claim: &Claim, setting: Setting) {
        let Some(start) = stay_span(claim).start else { return };
        let facility = self.facility(claim);
        self.whole(
            place,
            match setting {
                Setting::Hospice => Sort::Hospice(facility, start.day),
                _ => Sort::HomeHealth(facility, start.day),
            },
        );
    }

    fn facility_days(&mut self, place: usize) {
        let claim = &self.claims[place];
        let facility = self.facility(claim);
        for (line, day) in days(claim) {
            self.push(claim, Sort::Facility(facility.clone(), day), (place, line));
        }
    }

    fn services(&mut self, place: usize) {
        let claim = &self.claims[place];
        for (at, day) in days(claim) {
            let line = at.map(|at| &claim.lines[at]);
            let service = line.and_then(|line| line.place.clone()).unwrap_or_default();
            if *service == *INPATIENT_HOSPITAL {
                let facility = claim.facility.as_ref();
                let facility = facility.map(|party| self.context.directory.key(claim.source, party));
                let stay = facility.and_then(|facility| self.covering(claim, Some(&facility), day, day));
                if let Some(sort) = stay.or_else(|| self.covering(claim, None, day, day)) {
                    self.push(claim, sort, (place, at));
                    continue;
                }
            }
            let provider = claim.with_role(line, &[Role::Rendering]).or(claim.provider.as_ref());
            let provider = provider.map(|party| self.context.directory.key(claim.source, party));
            let sort = Sort::Service(provider.unwrap_or_default(), service, day);
            self.push(claim, sort, (place, at));
        }
    }
}

/// Whether no visit is made from a claim, because the claim has only supplies, equipment or laboratory tests.
fn gives_none(claim: &Claim) -> bool {
    let no_visit = |line: &Line| matches!(line.purpose(), Service::Supply | Service::Laboratory);
    claim.equipment || (!claim.lines.is_empty() && claim.lines.iter().all(no_visit))
}

/// Returns the lines of a claim with their days. A line without a day gets the claim's first day. A claim without lines
/// counts as one part with the claim's first day.
fn days(claim: &Claim) -> Vec<(Option<usize>, Day)> {
    let begins = claim.billable.day().or(claim.created.as_ref().map(|when| when.day));
    if claim.lines.is_empty() {
        return begins.map(|day| (None, day)).into_iter().collect();
    }
    let lines = claim.lines.iter().enumerate();
    let dated = lines.filter_map(|(at, line)| Some((Some(at), line.served.day().or(begins)?)));
    dated.collect()
}

/// Returns the period from admission to discharge, according to one claim. If the claim states no admission, the period
/// begins with the billable period or with the first line. If it states no discharge, the period ends with the billable
/// period or on its first day.
fn stay_span(claim: &Claim) -> Span {
    let line = claim.lines.iter().filter_map(|line| line.served.start.as_ref()).min();
    let admission = &claim.admission.start;
    let start = admission.as_ref().or(claim.billable.start.as_ref()).or(line).cloned();
    let after = |end: &&When| start.as_ref().is_none_or(|start| start.day <= end.day);
    let end = claim.admission.end.as_ref().filter(after);
    let end = end
        .or(claim.billable.end.as_ref().filter(after))
        .or(start.as_ref())
        .cloned();
    Span { start, end }
}

impl Visit {
    /// Returns a text that distinguishes the visit from other visits of the source. The id of the Encounter depends on
    /// this text.
    fn seed(&self) -> String {
        let patient = &self.patient;
        match &self.sort {
            Sort::Own(encounter) => format!("Encounter|{patient}|{encounter}"),
            Sort::Stay(facility, day) => format!("Encounter|{patient}|stay|{facility}|{}", day.0),
            Sort::HomeHealth(facility, day) => format!("Encounter|{patient}|home health|{facility}|{}", day.0),
            Sort::Hospice(facility, day) => format!("Encounter|{patient}|hospice|{facility}|{}", day.0),
            Sort::Facility(facility, day) => format!("Encounter|{patient}|facility|{facility}|{}", day.0),
            Sort::Service(provider, place, day) => {
                format!("Encounter|{patient}|service|{provider}|{place}|{}", day.0)
            }
        }
    }

    /// Returns the parts of the visit: for each, the claim, and the line. The line is `None` if the part is the claim
    /// as a whole.
    pub(super) fn lines<'c>(&'c self, claims: &'c [Claim]) -> impl Iterator<Item = (&'c Claim, Option<&'c Line>)> {
        self.parts.iter().map(|(place, line)| {
            let claim = &claims[*place];
            (claim, line.and_then(|line| claim.lines.get(line)))
        })
    }

    fn describe(&mut self, claims: &[Claim]) {
        let revenue = |is: fn(&str) -> bool| {
            let mut lines = self.lines(claims).filter_map(|(_, line)| line?.revenue.as_deref());
            lines.any(is)
        };
        self.class = match &self.sort {
            Sort::Stay(..) => Class::Inpatient,
            Sort::Hospice(..) if revenue(revenue::is_inpatient_hospice) => Class::Inpatient,
            Sort::HomeHealth(..) | Sort::Hospice(..) => Class::Home,
            Sort::Facility(..) if revenue(revenue::is_emergency) => Class::Emergency,
            Sort::Service(_, place, _) => Class::of_place(place),
            Sort::Facility(..) | Sort::Own(_) => Class::Ambulatory,
        };
        let long = self.is_long();
        let mut period = Span::default();
        let mut last: Option<(Day, &Claim)> = None;
        for (claim, line) in self.lines(claims) {
            // Skip claims of professionals: their services belong to a stay, but do not make it longer.
            if long && claim.kind != Kind::Institutional {
                continue;
            }
            let span = match line {
                _ if long => stay_span(claim),
                Some(line) if line.served.day().is_some() => line.served.clone(),
                _ if claim.billable.day().is_some() => claim.billable.clone(),
                _ => claim.created.clone().map(Span::of).unwrap_or_default(),
            };
            if let Some(end) = &span.end
                && last.is_none_or(|(day, kept)| (day, &kept.id) < (end.day, &claim.id))
            {
                last = Some((end.day, claim));
            }
            period.start = period.start.into_iter().chain(span.start).min();
            period.end = period.end.into_iter().chain(span.end).max();
        }
        self.goes_on = long && last.is_some_and(|(_, claim)| goes_on(claim));
        if self.goes_on {
            period.end = None;
        }
        self.period = period;
    }

    /// Returns the visit's first and last day.
    fn days(&self) -> Option<(Day, Day)> {
        let start = self.period.day()?;
        let end = self.period.end.as_ref().map_or(start, |end| end.day);
        match &self.sort {
            Sort::Facility(_, day) | Sort::Service(_, _, day) => Some((*day, *day)),
            _ => Some((start, end.max(start))),
        }
    }

    /// Returns the keys of the parties that may have taken part in the visit: the facility, the billing provider, and
    /// the rendering, operating, attending and primary members of the care team.
    fn parties(&self, claims: &[Claim], context: &Context<'_>) -> Vec<String> {
        let mut keys = Vec::new();
        let mut add = |claim: &Claim, party: &Party| {
            let key = context.directory.key(claim.source, party);
            if !keys.contains(&key) {
                keys.push(key);
            }
        };
        for (claim, line) in self.lines(claims) {
            for party in claim.facility.iter().chain(&claim.provider) {
                add(claim, party);
            }
            let there = |role| {
                matches!(
                    role,
                    Role::Rendering | Role::Operating | Role::Attending | Role::Primary
                )
            };
            for member in claim.team_of(line).filter(|member| there(member.role)) {
                add(claim, &member.party);
            }
        }
        keys
    }
}

/// Whether the patient was not discharged at the end of a claim. If the type of bill has a frequency, the frequency
/// must be interim, and the claim must have no discharge status or status 30 ("still patient"). If the type of bill has
/// no frequency, status 30 alone decides.
fn goes_on(claim: &Claim) -> bool {
    let discharge = claim.discharge.iter().flat_map(|concept| &concept.codes);
    let mut discharge = discharge.map(|code| &*code.code).peekable();
    let none = discharge.peek().is_none();
    let still = discharge.any(|code| code == "30");
    match claim.bill.interim() {
        Some(interim) => interim && (none || still),
        None => still,
    }
}
