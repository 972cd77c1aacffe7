//! Shows a source's resources as tables: first by section, then the remaining ones by type.

use std::collections::BTreeSet;

use super::cells::label;
use super::other::elements;
use super::resource::Resource;
use super::sections::{OTHER, SECTIONS, Table};
use crate::pdf::{Column, Document, SAMPLE};

/// Writes the non-empty sections in order, then the remaining resources.
pub(super) fn structured(document: &mut Document, resources: &[Resource<'_>]) {
    let mut left: Vec<&Resource<'_>> = resources.iter().collect();
    for section in SECTIONS {
        if document.is_stopped() {
            return;
        }
        let mut headed = false;
        for table in section.tables {
            let (taken, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|resource| (table.takes)(resource));
            left = others;
            if taken.is_empty() {
                continue;
            }
            if !headed {
                document.heading(2, section.title);
                headed = true;
            }
            if section.tables.len() > 1 {
                document.heading(3, table.title);
            }
            rows(document, table, taken);
        }
    }
    others(document, &left);
}

fn rows(document: &mut Document, table: &Table, mut resources: Vec<&Resource<'_>>) {
    resources.sort_by_cached_key(|resource| std::cmp::Reverse(resource.when(table.dates)));
    let mut rows = resources.into_iter().flat_map(|resource| {
        let rows = (table.rows)(resource).into_iter();
        rows.map(move |row| filled(table, resource, row))
    });
    let first: Vec<Vec<String>> = rows.by_ref().take(SAMPLE).collect();
    let columns = table.columns.iter();
    let columns = columns.map(|(title, share)| Column::new(*title, *share)).collect();
    let columns = Column::with_whole_words(columns, &first);
    let mut written = document.table(table.title, &columns);
    for row in first.into_iter().chain(rows) {
        if written.is_stopped() {
            return;
        }
        written.row(&row);
    }
}

/// Completes a row. If all its cells are empty, the widest column shows all elements of the resource.
fn filled(table: &Table, resource: &Resource<'_>, mut row: Vec<String>) -> Vec<String> {
    if row.iter().all(String::is_empty) {
        row = vec![String::new(); table.columns.len()];
        row[table.widest()] = elements(resource);
    }
    row
}

/// Writes the resources that no section takes, one table for each type.
fn others(document: &mut Document, resources: &[&Resource<'_>]) {
    let types: BTreeSet<&str> = resources.iter().map(|resource| resource.type_name).collect();
    if !types.is_empty() {
        document.heading(2, OTHER);
    }
    for name in types {
        let title = label(name);
        document.heading(3, &title);
        let mut table = document.table(&title, &[Column::new(title.as_str(), 1.0)]);
        for resource in resources.iter().filter(|resource| resource.type_name == name) {
            if table.is_stopped() {
                return;
            }
            table.row(&[elements(resource)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: the elements of a resource whose cells were all empty were put into the first column, which is often
    /// narrow.
    #[test]
    fn the_widest_column_is_not_always_the_first() {
        let widest = |title: &str| {
            let mut tables = SECTIONS.iter().flat_map(|section| section.tables);
            let table = tables.find(|table| table.title == title).unwrap();
            table.columns[table.widest()].0
        };
        assert_eq!(widest("Laboratory results"), "What");
        assert_eq!(widest("Encounters"), "Visit");
        assert_eq!(widest("Flags and alerts"), "Flag");
    }
}
