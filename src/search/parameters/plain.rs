//! Finds the parameters whose values are in plain columns: dates and numbers that are elements of the resource itself
//! and occur at most once. `criteria::plain_columns` decides tests over these columns.

use crate::fhir::{TypeId, facts};
use crate::fhirpath::{Program, Selection};

/// The root elements that hold a parameter's values.
#[derive(Debug)]
pub(in crate::search) struct Plain {
    pub(in crate::search) places: Vec<RootElement>,
}

/// A root element with its column and its kind of value.
#[derive(Debug)]
pub(in crate::search) struct RootElement {
    pub(in crate::search) column: String,
    pub(in crate::search) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) enum Kind {
    /// A date, dateTime or instant.
    Moment,
    Period,
    /// A Quantity or Money.
    Quantity,
    /// Any other type, or an element that repeats. If it has no value in a batch, `criteria::plain_columns` ignores it.
    /// Otherwise the program must run.
    Other,
}

impl Plain {
    /// Returns the root elements of a program's values. Returns `None` if the program yields only some of their values,
    /// if a value comes from a nested element, or if none of the elements is a plain date or number.
    pub(in crate::search) fn of(type_id: TypeId, program: &Program) -> Option<Plain> {
        if program.selection() != Selection::All {
            return None;
        }
        let places = program.origins().map(|origin| {
            let column = origin.path.filter(|path| !path.is_empty() && !path.contains('.'))?;
            let once = facts().child(type_id, column).is_some_and(|child| !child.element.many);
            let kind = match facts().get(origin.item_type.fhir()?).name {
                "date" | "dateTime" | "instant" if once => Kind::Moment,
                "Period" if once => Kind::Period,
                "Quantity" | "Age" | "Count" | "Distance" | "Duration" | "Money" if once => Kind::Quantity,
                _ => Kind::Other,
            };
            let column = column.to_owned();
            Some(RootElement { column, kind })
        });
        let places = places.collect::<Option<Vec<_>>>()?;
        let any = places.iter().any(|place| place.kind != Kind::Other);
        any.then_some(Plain { places })
    }
}
