//! `near` on Location: compares positions with a place and a distance.

use super::items::mark_items;
use super::number;
use crate::fhirpath::{Collection, Typed};
use crate::search::parameters::values::NearValue;

pub(super) fn mark(value: &NearValue, part: &Typed, rows: &mut [bool]) {
    let (latitudes, longitudes) = (part.items.child("latitude"), part.items.child("longitude"));
    mark_items(part, rows, |_, position| {
        match (degrees(&latitudes, position), degrees(&longitudes, position)) {
            (Some(latitude), Some(longitude)) => value.is_near(latitude, longitude),
            _ => false,
        }
    });
}

fn degrees(values: &Collection, position: usize) -> Option<f64> {
    let stored = number::only_number(values, position)?;
    stored
        .text
        .and_then(|text| text.parse().ok())
        .or_else(|| Some(stored.scaled? as f64 / 1e18))
}
