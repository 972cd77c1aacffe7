//! Collects the columns that an expression reads. The compiler adds them while it resolves the expression.

use std::sync::Arc;

use super::super::functions::Need;
use super::node::{Shape, Source};
use super::options::ExtraLeaves;
use super::types::ItemType;
use crate::fhir::storage::{self, ELEMENT, EVERYTHING, LeafSet, REFERENCE_ID, REFERENCE_TYPE, Storage};
use crate::fhir::{Kind, facts};

/// The columns that have been collected so far.
#[derive(Debug, Default)]
pub(in crate::fhirpath) struct Leaves {
    set: LeafSet,
}

/// Returns the path of the column of a child. `source` is the parent, and `column` is the child's name below it. If the
/// parent is a primitive `x`, the child is below the column `_x`. `None` for the children of computed items, which have
/// no column.
pub(in crate::fhirpath) fn below(source: &Source, column: &str) -> Option<Arc<str>> {
    let path = source.path.as_deref()?;
    if source.item_type.is_primitive() {
        return Some(format!("{}.{column}", element_column(path)).into());
    }
    Some(match path {
        "" => storage::root_column(column).into(),
        _ => format!("{path}.{column}").into(),
    })
}

impl Leaves {
    pub(in crate::fhirpath) fn into_set(self) -> LeafSet {
        self.set
    }

    /// Adds the columns that a function with this `need` reads of items of this shape.
    pub(in crate::fhirpath) fn need(&mut self, shape: &Shape, need: Need) {
        for source in &shape.sources {
            self.read(source, need);
        }
    }

    fn read(&mut self, source: &Source, need: Need) {
        let Some(path) = source.path.as_deref() else { return };
        if source.inside {
            if need != Need::Nothing {
                self.set.insert(path.to_string());
            }
            return;
        }
        if path.is_empty() {
            match need {
                Need::Key => self.set.insert("id".to_string()),
                Need::Whole => self.set.insert(EVERYTHING.to_string()),
                _ => false,
            };
            return;
        }
        if need == Need::Nothing {
            return;
        }
        let ItemType::Fhir(type_id) = source.item_type else {
            return;
        };
        let def = facts().get(type_id);
        if let Kind::Primitive(_) = def.kind {
            let element = element_column(path);
            if need == Need::Content {
                self.set.insert(format!("{element}.{EVERYTHING}"));
            }
            self.set.insert(path.to_string());
            self.set.insert(element);
            return;
        }
        let storage = Storage::of(def);
        match need {
            Need::Whole | Need::Content => self.add(path, &[EVERYTHING]),
            Need::Value if source.item_type.is_fhir("Quantity") => self.add(path, &["value", "unit", "system", "code"]),
            Need::Value => self.add(path, &[EVERYTHING]),
            Need::Codes if source.item_type.is_fhir("CodeableConcept") => {
                self.add(path, &["coding.system", "coding.code"])
            }
            Need::Codes if ["Coding", "Quantity"].iter().any(|name| source.item_type.is_fhir(name)) => {
                self.add(path, &["system", "code"]);
            }
            Need::Reference if storage == Storage::Reference => {
                self.add(path, &[REFERENCE_TYPE, REFERENCE_ID, "reference", "type"]);
            }
            _ => self.add(path, &[""]),
        }
    }

    fn add(&mut self, path: &str, columns: &[&str]) {
        for column in columns {
            self.set.insert(if column.is_empty() {
                path.to_string()
            } else {
                format!("{path}.{column}")
            });
        }
    }

    /// Adds the column with this path.
    pub(in crate::fhirpath) fn require(&mut self, path: &str) {
        self.set.insert(path.to_string());
    }

    /// Adds the columns that the caller reads of the result's items: the columns that `extra` lists for the item's
    /// type, or the default that `CompileOptions::extra` describes.
    pub(in crate::fhirpath) fn output(&mut self, shape: &Shape, extra: Option<ExtraLeaves<'_>>) {
        for source in &shape.sources {
            let (Some(path), ItemType::Fhir(type_id)) = (source.path.as_deref(), source.item_type) else {
                continue;
            };
            if source.inside {
                self.set.insert(path.to_string());
                continue;
            }
            match extra.and_then(|extra| extra(type_id)) {
                None => self.read(source, Need::Presence),
                Some(columns) if source.item_type.is_primitive() => {
                    let plain = path.strip_suffix(ELEMENT).unwrap_or(path);
                    for suffix in columns {
                        self.set.insert(if suffix.is_empty() {
                            path.to_string()
                        } else {
                            format!("{plain}{suffix}")
                        });
                    }
                }
                Some(columns) if path.is_empty() => {
                    self.set.extend(columns.iter().map(|column| (*column).to_string()));
                }
                Some(columns) => self.add(path, &columns),
            }
        }
    }
}

/// Returns the path of the column `_x` beside the column of a primitive `x`. It has the primitive's id and extensions.
fn element_column(path: &str) -> String {
    match path.rsplit_once('.') {
        Some((parent, name)) => format!("{parent}._{name}"),
        None => format!("_{}", path.strip_suffix(ELEMENT).unwrap_or(path)),
    }
}
