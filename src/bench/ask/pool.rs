//! The values that queries can use from the rows of a type in a lake: a sample of all rows, the number and a sample of
//! the rows with each code, and a sample of the rows of some people. A ViewDefinition reads the rows in one pass, in
//! the caller's scope.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch, StringArray};
use rustc_hash::FxHasher;

use super::super::error::BenchError;
use super::dice::{Dice, Reservoir};
use super::people::People;
use super::row::{Field, Row, token};
use super::table::{definition, rows, texts};
use crate::fhir::{TypeId, facts};
use crate::lake::scan::ScopedTable;
use crate::views::View;

/// The maximum number of rows in the sample of a type.
const ROWS: usize = 50_000;
/// The maximum number of rows in the sample of a code.
const ROWS_OF_CODE: usize = 16;
/// The maximum number of distinct codes that are counted and sampled. All further codes are ignored.
const CODES: usize = 50_000;
/// The maximum number of rows in the sample of a person.
const ROWS_OF_PERSON: usize = 64;

type Map<K, V> = HashMap<K, V, BuildHasherDefault<FxHasher>>;

/// The values that a benchmark's queries can use, taken from the rows of one type.
#[derive(Debug)]
pub(in crate::bench) struct Pool {
    /// The number of rows that the scope shows.
    pub(in crate::bench) rows: u64,
    /// A sample of the rows.
    pub(in crate::bench) sample: Vec<Arc<Row>>,
    /// The codes, sorted by their texts.
    pub(in crate::bench) codes: Vec<Code>,
    /// The rows of the chosen people, in the order of `People::chosen`. People without rows are left out.
    pub(in crate::bench) people: Vec<PersonRows>,
}

/// The rows with a code.
#[derive(Debug)]
pub(in crate::bench) struct Code {
    /// The code, as `system|code`.
    pub(in crate::bench) text: Box<str>,
    /// The number of rows with this code.
    pub(in crate::bench) rows: u64,
    /// A sample of the rows with this code.
    pub(in crate::bench) sample: Vec<Arc<Row>>,
}

/// The rows of a person.
#[derive(Debug)]
pub(in crate::bench) struct PersonRows {
    /// A sample of the person's rows. The number with each row says how many of the person's rows have the same code.
    pub(in crate::bench) sample: Vec<(Arc<Row>, u32)>,
}

/// The values of a row, each with its FHIRPath expressions. The first expression that compiles for the type is used.
const PATHS: [(&str, &[&str]); 6] = [
    (
        "patient",
        &[
            "subject.getReferenceKey(Patient)",
            "patient.getReferenceKey(Patient)",
            "beneficiary.getReferenceKey(Patient)",
        ],
    ),
    ("code", CODINGS),
    ("category", &["category.coding.first()"]),
    ("value", &["value.ofType(Quantity).value"]),
    ("date", DATES),
    ("id", &["getResourceKey()"]),
];
const CODINGS: &[&str] = &[
    "code.coding.first()",
    "medication.ofType(CodeableConcept).coding.first()",
    "vaccineCode.coding.first()",
    "type.coding.first()",
];
const DATES: &[&str] = &[
    "effective.ofType(dateTime)",
    "onset.ofType(dateTime)",
    "performed.ofType(dateTime)",
    "occurrence.ofType(dateTime)",
    "authoredOn",
    "billablePeriod.start",
    "period.start",
    "birthDate",
    "recordedDate",
    "recorded",
    "created",
    "date",
    "issued",
];

impl Pool {
    /// Reads a type's rows with all usable values.
    pub(in crate::bench) fn read(table: &ScopedTable, people: &People, seed: u64) -> Result<Pool, BenchError> {
        let name = facts().get(table.type_id()).name;
        let mut filling = Filling::new(Dice::new(seed, name, 0), people, name == "Patient");
        let columns = columns(table.type_id());
        rows(table, &columns, |batch| filling.add(batch))?;
        Ok(filling.finish())
    }
}

/// Returns the names and FHIRPath expressions of the columns that the type can have. A code has two columns, because
/// its system is a column of its own.
fn columns(type_id: TypeId) -> Vec<(String, String)> {
    let name = facts().get(type_id).name;
    let compiles = |path: &str| View::parse(definition(name, &[("x".to_owned(), path.to_owned())]).as_bytes()).is_ok();
    let mut columns = Vec::new();
    for (column, paths) in PATHS {
        let coded = matches!(column, "code" | "category");
        let path = paths.iter().find(|path| {
            if coded {
                compiles(&format!("{path}.system"))
            } else {
                compiles(path)
            }
        });
        let Some(path) = path else { continue };
        if coded {
            columns.push((format!("{column}_system"), format!("{path}.system")));
            columns.push((column.to_owned(), format!("{path}.code")));
        } else {
            columns.push((column.to_owned(), (*path).to_owned()));
        }
    }
    columns
}

/// A pool under construction.
struct Filling<'a> {
    dice: Dice,
    /// Whether the rows are Patients. Then the id of a row is also the id of its person.
    of_patients: bool,
    people: &'a People,
    rows: u64,
    sample: Reservoir<Arc<Row>>,
    codes: Map<Box<str>, Reservoir<Arc<Row>>>,
    of_people: Map<Box<str>, Person>,
}

struct Person {
    sample: Reservoir<Arc<Row>>,
    codes: Map<Box<str>, u32>,
}

impl<'a> Filling<'a> {
    fn new(dice: Dice, people: &'a People, of_patients: bool) -> Filling<'a> {
        Filling {
            dice,
            of_patients,
            people,
            rows: 0,
            sample: Reservoir::new(ROWS),
            codes: Map::default(),
            of_people: Map::default(),
        }
    }

    fn add(&mut self, batch: &RecordBatch) {
        let columns = Columns::new(batch, self.of_patients);
        let (mut code, mut spare) = (String::new(), String::new());
        for at in 0..batch.num_rows() {
            self.rows += 1;
            code.clear();
            columns.concept(&columns.code_system, &columns.code, at, &mut code);
            let mut made: Option<Arc<Row>> = None;
            let mut row = || {
                made.get_or_insert_with(|| Arc::new(columns.row(at, &code, &mut spare)))
                    .clone()
            };
            self.sample.offer(&mut self.dice, &mut row);
            let told_apart = self.codes.len() < CODES || self.codes.contains_key(code.as_str());
            if !code.is_empty() && told_apart {
                let (codes, dice) = (&mut self.codes, &mut self.dice);
                with_entry(
                    codes,
                    &code,
                    || Reservoir::new(ROWS_OF_CODE),
                    |rows| rows.offer(dice, &mut row),
                );
            }
            if let Some(patient) = columns.patient(at).filter(|patient| self.people.is_chosen(patient)) {
                let new = || Person {
                    sample: Reservoir::new(ROWS_OF_PERSON),
                    codes: Map::default(),
                };
                let (people, dice) = (&mut self.of_people, &mut self.dice);
                with_entry(people, patient, new, |person| {
                    person.sample.offer(dice, &mut row);
                    with_entry(&mut person.codes, &code, || 0, |many| *many += 1);
                });
            }
        }
    }

    fn finish(mut self) -> Pool {
        let mut codes: Vec<Code> = self
            .codes
            .into_iter()
            .map(|(text, rows)| Code {
                text,
                rows: rows.seen(),
                sample: rows.items().to_vec(),
            })
            .collect();
        codes.sort_by(|one, other| one.text.cmp(&other.text));
        let people = self.people.chosen().iter().filter_map(|patient| {
            let person = self.of_people.remove(patient)?;
            let counted = |row: &Arc<Row>| {
                let code = row.get(Field::Code).unwrap_or_default();
                (row.clone(), person.codes.get(code).copied().unwrap_or_default())
            };
            Some(PersonRows {
                sample: person.sample.items().iter().map(counted).collect(),
            })
        });
        Pool {
            rows: self.rows,
            people: people.collect(),
            sample: self.sample.items().to_vec(),
            codes,
        }
    }
}

/// Applies `act` to the value of a key. If the map lacks the key, `new` makes the value first. Only then the key is
/// copied.
fn with_entry<V>(map: &mut Map<Box<str>, V>, key: &str, new: impl FnOnce() -> V, act: impl FnOnce(&mut V)) {
    if let Some(value) = map.get_mut(key) {
        return act(value);
    }
    act(map.entry(key.into()).or_insert_with(new));
}

/// The columns of a batch, as texts. `None` for a column that the type does not have.
struct Columns {
    id: Option<StringArray>,
    patient: Option<StringArray>,
    code_system: Option<StringArray>,
    code: Option<StringArray>,
    category_system: Option<StringArray>,
    category: Option<StringArray>,
    value: Option<StringArray>,
    date: Option<StringArray>,
}

impl Columns {
    fn new(batch: &RecordBatch, of_patients: bool) -> Columns {
        let column = |name| texts(batch, name);
        Columns {
            id: column("id"),
            patient: column(if of_patients { "id" } else { "patient" }),
            code_system: column("code_system"),
            code: column("code"),
            category_system: column("category_system"),
            category: column("category"),
            value: column("value"),
            date: column("date"),
        }
    }

    fn patient(&self, at: usize) -> Option<&str> {
        cell(&self.patient, at)
    }

    /// Appends `system|code` of the row `at` to `out`. Appends nothing if the row has no code.
    fn concept(&self, system: &Option<StringArray>, code: &Option<StringArray>, at: usize, out: &mut String) {
        if let Some(code) = cell(code, at) {
            token(cell(system, at), code, out);
        }
    }

    fn row(&self, at: usize, code: &str, spare: &mut String) -> Row {
        let mut row = Row::default();
        for (field, column) in [
            (Field::Id, &self.id),
            (Field::Patient, &self.patient),
            (Field::Value, &self.value),
        ] {
            if let Some(text) = cell(column, at) {
                row.set(field, text);
            }
        }
        if !code.is_empty() {
            row.set(Field::Code, code);
        }
        spare.clear();
        self.concept(&self.category_system, &self.category, at, spare);
        if !spare.is_empty() {
            row.set(Field::Category, spare.as_str());
        }
        if let Some(date) = cell(&self.date, at) {
            row.set_date(date);
        }
        row
    }
}

fn cell(column: &Option<StringArray>, at: usize) -> Option<&str> {
    column
        .as_ref()
        .filter(|column| column.is_valid(at))
        .map(|column| column.value(at))
}
