//! Shows a source's resources as tables: by section, and the rest at the end.

use std::collections::BTreeSet;

use super::cells::label;
use super::other::elements;
use super::resource::Resource;
use super::sections::{OTHER, SECTIONS, Table};
use crate::pdf::{Column, Document};

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
    let columns: Vec<Column> = table
        .columns
        .iter()
        .map(|(title, share)| Column::new(*title, *share))
        .collect();
    let mut written = document.table(table.title, &columns);
    for resource in resources {
        if written.is_stopped() {
            return;
        }
        for row in (table.rows)(resource) {
            if row.iter().any(|cell| !cell.is_empty()) {
                written.row(&row);
            } else {
                // No column has a value, so the widest column gets the resource's whole content.
                let mut row = vec![String::new(); table.columns.len()];
                row[table.widest()] = elements(resource);
                written.row(&row);
            }
        }
    }
}

/// Writes the resources without a section, by type.
fn others(document: &mut Document, resources: &[&Resource<'_>]) {
    let types: BTreeSet<&str> = resources.iter().map(|resource| resource.type_name).collect();
    if !types.is_empty() {
        document.heading(2, OTHER);
    }
    for name in types {
        document.heading(3, &label(name));
        let mut table = document.table(name, &[Column::new(name, 1.0)]);
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

    /// The content of a resource without cells stood in the first column, which is often narrow.
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
