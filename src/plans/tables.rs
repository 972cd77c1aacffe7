//! Combines what the tables of a year have about a plan.

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

/// The tables of plans beside a lake. Checks at most once a second whether another process has loaded new tables.
#[derive(Debug)]
pub struct PlanTables {
    watched: Watched<Vec<Arc<Stored>>, PublishedError>,
    /// Whether new tables are read as soon as a check finds them. If not, a table is read when it is first used.
    eager: Arc<AtomicBool>,
}

impl PlanTables {
    /// Opens the tables beside the lake in this folder. There are none if the lake has no plans, or if there is no
    /// lake.
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

    /// Reads all tables now. From now on, new tables are read as soon as they are found. Without this call, a table
    /// is read when its year is first requested.
    pub fn warm(&self) -> Result<(), PlansError> {
        self.eager.store(true, Ordering::Relaxed);
        let tables = self.watched.held();
        Ok(tables.iter().try_for_each(|table| table.read())?)
    }

    /// Returns the years that have a table, newest first.
    pub fn years(&self) -> Vec<i32> {
        let mut years: Vec<i32> = self.watched.get().iter().map(|stored| stored.year()).collect();
        years.sort_unstable_by_key(|year| std::cmp::Reverse(*year));
        years.dedup();
        years
    }

    /// Returns the facts about a contract, plan and segment, such as `H1234`, `001` and `000`, from all tables of a
    /// year. If `segment` is `None`: the facts that all segments of the plan have in common. If `plan` is `None`: the
    /// facts of the contract alone. Returns `None` if no table has such a row.
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
            // A plan may be offered only in a part of the contract's service area, so do not take these areas for a
            // plan.
            let areas = *publication != Publication::ServiceArea || plan.is_none();
            gathered.take(&rows, areas);
        }
        gathered.finish()
    }
}

/// Whether a row is about the requested plan and segment, or about the whole contract.
fn fits(row: Held<'_>, plan: Option<&str>, segment: Option<&str>) -> bool {
    let of_plan = row.plan().is_empty() || Some(row.plan()) == plan;
    let of_segment = row.segment().is_empty() || segment.is_none_or(|segment| row.segment() == segment);
    of_plan && of_segment
}

/// The facts that were collected so far. If several tables have a fact, the first of these tables wins. So `find` takes
/// the tables in the order of `Publication`, in which those with the most specific facts come first.
#[derive(Default)]
struct Gathered<'t> {
    found: bool,
    fields: [&'t str; FIELDS.len()],
    aliases: Vec<&'t str>,
    /// The counties by state. An empty name of a county stands for the whole state.
    areas: BTreeMap<&'t str, Vec<&'t str>>,
}

impl<'t> Gathered<'t> {
    fn take(&mut self, rows: &[Held<'t>], areas: bool) {
        self.found |= !rows.is_empty();
        // Segments of a plan may differ, especially in the premium. Leave out a fact if it is not the same in all rows.
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

/// Returns the areas in order. A state with all its counties becomes one area.
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
