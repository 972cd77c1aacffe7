//! Reads CMS's files and makes tables of them.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::PathBuf;

use super::columns::{Columns, FIELDS, field};
use super::error::PlansError;
use super::money::decimal;
use super::publication::{LOOKED_FOR, Layout, Publication, layout, recognise};
use super::states;
use super::table::{Builder, Table};
use crate::published::{self, CsvTable, Part, PublishedError, decode, name};

/// The table made from a publication of a year.
#[derive(Debug)]
pub struct LoadedTable {
    /// The calendar year of the plans.
    pub year: i32,
    /// The publication.
    pub publication: Publication,
    /// The names of CMS's files from which the table was made.
    pub sources: Vec<String>,
    pub(super) table: Table,
}

/// The tables made from the given files.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The tables in the order of year and publication.
    pub tables: Vec<LoadedTable>,
}

/// Reads files, folders and archives. A row without a year gets `year`. If `year` is `None`, the row gets the year in
/// the file's name, or else the year in the file's title. If `year` is given, a row with another year is an error.
pub fn load(paths: &[PathBuf], year: Option<i32>) -> Result<Loaded, PlansError> {
    let parts: Vec<Part<Layout>> = published::find(paths, recognise, LOOKED_FOR)?
        .into_iter()
        .flatten()
        .collect();
    let mut tables: BTreeMap<(i32, Publication), (Vec<String>, Builder)> = BTreeMap::new();
    for part in &parts {
        if let Layout::Read(publication) = part.layout {
            take(part, publication, year, &mut tables)?;
        }
    }
    if let Some(part) = parts.iter().find(|part| part.layout == Layout::Enrollment)
        && !parts.iter().any(|part| matches!(part.layout, Layout::Read(_)))
    {
        let name = part.name.clone();
        return Err(PlansError::Enrollment { name });
    }
    let mut loaded = Loaded::default();
    for ((year, publication), (sources, builder)) in tables {
        let table = builder.finish();
        if table.is_empty() {
            let name = sources.join(", ");
            return Err(PlansError::NoPlans { name });
        }
        loaded.tables.push(LoadedTable {
            year,
            publication,
            sources,
            table,
        });
    }
    if loaded.tables.is_empty() {
        let name = parts
            .iter()
            .map(|part| part.name.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        return Err(PlansError::NoPlans { name });
    }
    Ok(loaded)
}

type Tables = BTreeMap<(i32, Publication), (Vec<String>, Builder)>;

/// Adds the rows of a file to the tables of their years.
fn take(
    part: &Part<Layout>,
    publication: Publication,
    year: Option<i32>,
    tables: &mut Tables,
) -> Result<(), PlansError> {
    let given = year;
    let named = name::year(&part.name);
    part.read(|reader| {
        let year = given.or(named).or_else(|| year_of_title(reader));
        let is_header = |names: &[String]| layout(names) == Some(part.layout);
        let mut table = CsvTable::new(reader, &part.name, b',', is_header)?;
        let columns = Columns::new(&table, publication);
        while table.advance_beyond_notes()? {
            let Some(row) = Row::read(&table, &columns)? else {
                continue;
            };
            let year = match row.year.or(year) {
                None => {
                    let name = part.name.clone();
                    return Err(PlansError::NoYear { name });
                }
                Some(year) if given.is_some_and(|given| given != year) => {
                    let expected = format!("{}, as --year says,", given.unwrap_or_default());
                    return Err(table.fail(&expected).into());
                }
                Some(year) => year,
            };
            let (sources, builder) = tables.entry((year, publication)).or_default();
            if sources.last() != Some(&part.name) {
                if let Some(one) = sources.first().filter(|_| !publication.is_in_parts()) {
                    return Err(PlansError::Twice {
                        one: one.clone(),
                        other: part.name.clone(),
                        publication,
                        year,
                    });
                }
                sources.push(part.name.clone());
            }
            row.add(&table, &columns, builder, &part.name)?;
        }
        Ok(())
    })
}

/// A row about a Medicare Advantage plan or contract.
struct Row {
    contract: String,
    plan: String,
    segment: String,
    year: Option<i32>,
}

impl Row {
    /// Reads the current row. `None` if it has no contract, as in rows for counties without plans. Also `None` for a
    /// contract of another kind, and for a plan that is only for employers.
    fn read(table: &CsvTable<'_>, columns: &Columns) -> Result<Option<Row>, PublishedError> {
        let text = |column: Option<usize>| column.map_or_else(String::new, |column| table.field(column));
        let contract = text(columns.contract).to_ascii_uppercase();
        if contract.is_empty() {
            return Ok(None);
        }
        if contract.len() != 5 || !contract.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(table.fail("a contract of CMS, such as H1234,"));
        }
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !contract.starts_with(['H', 'R', 'E']) || !digits(&contract[1..]) || text(columns.employers) == "*" {
            return Ok(None);
        }
        let number = |column: Option<usize>, what: &str| match text(column) {
            number if number.is_empty() => Ok(number),
            number if number.len() <= 3 && digits(&number) => Ok(format!("{number:0>3}")),
            _ => Err(table.fail(what)),
        };
        let year = text(columns.year);
        let is_year = |year: &i32| (2000..2100).contains(year);
        let year = if year.is_empty() {
            None
        } else {
            Some(year.parse().ok().filter(is_year).ok_or_else(|| table.fail("a year"))?)
        };
        Ok(Some(Row {
            plan: number(columns.plan, "a plan of up to 3 digits")?,
            segment: number(columns.segment, "a segment of up to 3 digits")?,
            contract,
            year,
        }))
    }

    fn add(
        &self,
        table: &CsvTable<'_>,
        columns: &Columns,
        builder: &mut Builder,
        name: &str,
    ) -> Result<(), PlansError> {
        let full = |(what, limit): (&'static str, usize)| PlansError::TooLarge {
            name: name.to_owned(),
            limit,
            what,
        };
        let (row, is_new) = builder.row(&self.contract, &self.plan, &self.segment).map_err(full)?;
        if is_new {
            // All rows of a plan have the same facts, and only the county differs. So take the facts from the first
            // row.
            for number in 0..FIELDS.len() {
                let text = columns.field(table, number);
                let text = match number {
                    field::PREMIUM | field::PART_C | field::PART_D => decimal(&text)
                        .map_err(|()| table.fail(&format!("an amount of dollars in place of {text:?}")))?
                        .unwrap_or_default(),
                    _ => text,
                };
                builder.field(row, number, &text).map_err(full)?;
            }
        }
        if let (Some(state), Some(county)) = (columns.state, columns.county) {
            let (state, county) = (table.field(state), table.field(county));
            let all = county.eq_ignore_ascii_case("all counties");
            if !state.is_empty() && !county.is_empty() {
                let county = if all { "" } else { &county };
                builder.area(row, states::code(&state), county).map_err(full)?;
            }
        }
        Ok(())
    }
}

/// Finds the year in the title above the header: the first number of 4 digits from 2000 to 2099.
fn year_of_title(reader: &mut dyn BufRead) -> Option<i32> {
    let head = decode(reader.fill_buf().ok()?).to_uppercase();
    let title = &head[..head.find("CONTRACT ID")?];
    let mut numbers = title
        .split(|c: char| !c.is_ascii_digit())
        .filter(|number| number.len() == 4);
    numbers.find_map(|number| number.parse().ok().filter(|year| (2000..2100).contains(year)))
}
