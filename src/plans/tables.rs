//! Combines the facts of a year's tables about a plan.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::columns::{FIELDS, field};
use super::error::PlansError;
use super::facts::{Area, Contact, Plan, Premium};
use super::folder::{Folder, Stored, stored};
use super::publication::Publication;
use super::states;
use super::table::{Held, Table};
use crate::published::{PublishedError, Watched};

/// The tables beside a lake. It notices a load by another process within a second.
#[derive(Debug)]
pub struct PlanTables {
    watched: Watched<Vec<Arc<Stored>>, PublishedError>,
    /// Whether a table is read as soon as it is noticed. Otherwise it is read at its first use.
    eager: Arc<AtomicBool>,
}

impl PlanTables {
    /// The tables beside the lake in this folder. A lake without plans, or no lake, is no error.
    pub fn open(data: &Path) -> Result<PlanTables, PlansError> {
        let eager = Arc::new(AtomicBool::new(false));
        let is_eager = eager.clone();
        let folder = Folder::new(data).tables().clone();
        let watched = Watched::open(folder, move |folder, before: Option<&Vec<Arc<Stored>>>| {
            let tables = stored(folder, before.map_or(&[], Vec::as_slice))?;
            if is_eager.load(Ordering::Relaxed) {
                tables.iter().try_for_each(|table| table.read())?;
            }
            Ok(tables)
        })?;
        Ok(PlanTables { watched, eager })
    }

    /// Reads all tables now, and later ones when they are noticed. Without this a table is read when its year is first
    /// requested.
    pub fn warm(&self) -> Result<(), PlansError> {
        self.eager.store(true, Ordering::Relaxed);
        let tables = self.watched.held();
        Ok(tables.iter().try_for_each(|table| table.read())?)
    }

    /// The years that have a table, newest first.
    pub fn years(&self) -> Vec<i32> {
        let mut years: Vec<i32> = self.watched.get().iter().map(|stored| stored.year()).collect();
        years.sort_unstable_by_key(|year| std::cmp::Reverse(*year));
        years.dedup();
        years
    }

    /// The facts of a year's tables about a contract, plan and segment, as `H1234`, `001` and `000`. Without a segment,
    /// the facts that all segments of the plan share. Without a plan, those of the contract alone.
    pub fn find(&self, contract: &str, plan: Option<&str>, segment: Option<&str>, year: i32) -> Option<Plan> {
        let tables = self.watched.get();
        let of_year = tables.iter().filter(|stored| stored.year() == year);
        let mut tables: Vec<(Publication, Arc<Table>)> = of_year
            .filter_map(|stored| Some((stored.publication(), stored.table()?)))
            .collect();
        tables.sort_by_key(|(publication, _)| *publication);
        let mut gathered = Gathered::default();
        for (publication, table) in &tables {
            let mut rows: Vec<Held<'_>> = table
                .contract(contract)
                .filter(|row| fits(*row, plan, segment))
                .collect();
            if rows.iter().any(|row| !row.plan().is_empty()) {
                rows.retain(|row| !row.plan().is_empty());
            }
            // A plan may be offered only in a part of the contract's service area.
            let areas = *publication != Publication::ServiceArea || plan.is_none();
            gathered.take(&rows, areas);
        }
        gathered.finish()
    }
}

/// Whether a row describes the requested plan, or all plans of the contract.
fn fits(row: Held<'_>, plan: Option<&str>, segment: Option<&str>) -> bool {
    let of_plan = row.plan().is_empty() || Some(row.plan()) == plan;
    let of_segment = row.segment().is_empty() || segment.is_none_or(|segment| row.segment() == segment);
    of_plan && of_segment
}

/// The facts gathered so far. The most specific tables come first.
#[derive(Default)]
struct Gathered<'t> {
    found: bool,
    fields: [&'t str; FIELDS.len()],
    aliases: Vec<&'t str>,
    /// Counties by state. An empty list means the whole state.
    areas: BTreeMap<&'t str, Vec<&'t str>>,
}

impl<'t> Gathered<'t> {
    fn take(&mut self, rows: &[Held<'t>], areas: bool) {
        self.found |= !rows.is_empty();
        // Segments may differ, especially in their premium. A fact in which they differ is left out.
        let common = |number: usize| {
            let mut texts = rows.iter().map(|row| row.field(number));
            let first = texts.next().unwrap_or_default();
            if texts.all(|text| text == first) { first } else { "" }
        };
        for number in 0..FIELDS.len() {
            let text = common(number);
            let known = &mut self.fields[number];
            if known.is_empty() {
                *known = text;
            } else if number == field::NAME && !text.is_empty() && *known != text && !self.aliases.contains(&text) {
                self.aliases.push(text);
            }
        }
        if areas && self.areas.is_empty() {
            for (state, county) in rows.iter().flat_map(|row| row.areas()) {
                self.areas.entry(state).or_default().push(county);
            }
        }
    }

    fn finish(self) -> Option<Plan> {
        if !self.found {
            return None;
        }
        let text = |number: usize| Some(self.fields[number].to_owned()).filter(|text| !text.is_empty());
        let premium = Premium {
            total: text(field::PREMIUM),
            part_c: text(field::PART_C),
            part_d: text(field::PART_D),
        };
        let contact = Contact {
            name: text(field::CONTACT_NAME),
            title: text(field::CONTACT_TITLE),
            phone: text(field::PHONE),
            email: text(field::EMAIL),
            street: text(field::STREET),
            city: text(field::CITY),
            state: text(field::STATE),
            postal_code: text(field::POSTAL_CODE),
        };
        Some(Plan {
            name: text(field::NAME),
            aliases: self.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            organization: text(field::ORGANIZATION).or_else(|| text(field::LEGAL_NAME)),
            parent: text(field::PARENT),
            kind: text(field::KIND),
            areas: areas(self.areas),
            premium: Some(premium).filter(|premium| *premium != Premium::default()),
            contact: Some(contact).filter(|contact| *contact != Contact::default()),
        })
    }
}

/// Counties in order. All counties of a state become the state.
fn areas(by_state: BTreeMap<&str, Vec<&str>>) -> Vec<Area> {
    let mut areas = Vec::new();
    for (state, mut counties) in by_state {
        counties.sort_unstable();
        counties.dedup();
        let of = |county: Option<&str>| Area {
            state: state.to_owned(),
            county: county.map(str::to_owned),
        };
        if counties.contains(&"") || states::is_all(state, counties.len()) {
            areas.push(of(None));
        } else {
            areas.extend(counties.into_iter().map(|county| of(Some(county))));
        }
    }
    areas
}
