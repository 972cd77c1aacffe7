//! Combines collections row by row.

use super::super::values::collection::{Body, Collection, Offsets};
use super::super::values::items::Items;

/// Joins collections with the same rows. A row of the result has the items that the first collection has in this row,
/// then those of the second, and so on.
pub(in crate::fhirpath) fn side_by_side(collections: &[Collection]) -> Collection {
    let Some(first) = collections.first() else {
        return Collection::empty(0);
    };
    let rows = first.rows();
    let mut filled = collections.iter().filter(|collection| !collection.is_empty());
    match (filled.next(), filled.next()) {
        (None, _) => return Collection::empty(rows),
        (Some(only), None) => return only.clone(),
        _ => {}
    }
    let mut parts: Vec<Items> = Vec::new();
    let mut bases = Vec::with_capacity(collections.len());
    for collection in collections {
        bases.push(parts.len());
        match &collection.body {
            Body::One(items) => parts.push(items.clone()),
            Body::Mixed(mixed) => parts.extend(mixed.parts.iter().cloned()),
        }
    }
    let total = collections.iter().map(Collection::len).sum();
    let mut offsets = Vec::with_capacity(rows + 1);
    let mut places = Vec::with_capacity(total);
    offsets.push(0i32);
    for row in 0..rows {
        for (collection, base) in collections.iter().zip(&bases) {
            for item in collection.range(row) {
                places.push(match &collection.body {
                    Body::One(_) => (*base as u32, item as u32),
                    Body::Mixed(mixed) => {
                        let (part, place) = mixed.places[item];
                        (*base as u32 + part, place)
                    }
                });
            }
        }
        offsets.push(places.len() as i32);
    }
    Collection::mixed(Offsets::list(offsets), parts, places)
}

/// Replaces each item by its children, in order. `children` gets the items of one column and returns a collection with
/// one row for each of these items.
pub(in crate::fhirpath) fn flat_map(collection: &Collection, children: impl Fn(&Items) -> Collection) -> Collection {
    let mixed = match &collection.body {
        Body::One(items) => return children(items).within(&collection.offsets),
        Body::Mixed(mixed) => mixed,
    };
    let below: Vec<Collection> = mixed.parts.iter().map(children).collect();
    let mut parts: Vec<Items> = Vec::new();
    let mut bases = Vec::with_capacity(below.len());
    for collection in &below {
        bases.push(parts.len());
        match &collection.body {
            Body::One(items) => parts.push(items.clone()),
            Body::Mixed(mixed) => parts.extend(mixed.parts.iter().cloned()),
        }
    }
    let mut offsets = Vec::with_capacity(collection.rows() + 1);
    let mut places = Vec::new();
    offsets.push(0i32);
    for row in 0..collection.rows() {
        for (part, place) in &mixed.places[collection.range(row)] {
            let (below, base) = (&below[*part as usize], bases[*part as usize]);
            for item in below.range(*place as usize) {
                places.push(match &below.body {
                    Body::One(_) => (base as u32, item as u32),
                    Body::Mixed(mixed) => {
                        let (part, place) = mixed.places[item];
                        (base as u32 + part, place)
                    }
                });
            }
        }
        offsets.push(places.len() as i32);
    }
    Collection::mixed(Offsets::list(offsets), parts, places)
}

/// Returns the items that `picks` lists, in this order. A pick is the index of a collection and the index of an item in
/// this collection. `offsets` assigns the items to rows.
pub(in crate::fhirpath) fn pick(collections: &[&Collection], offsets: Offsets, picks: &[(usize, usize)]) -> Collection {
    let mut parts: Vec<Items> = Vec::new();
    let mut bases = Vec::with_capacity(collections.len());
    for collection in collections {
        bases.push(parts.len() as u32);
        parts.extend(collection.columns().iter().cloned());
    }
    let place = |(collection, item): &(usize, usize)| match &collections[*collection].body {
        Body::One(_) => (bases[*collection], *item as u32),
        Body::Mixed(mixed) => {
            let (part, place) = mixed.places[*item];
            (bases[*collection] + part, place)
        }
    };
    let places = picks.iter().map(place).collect();
    Collection::mixed(offsets, parts, places)
}

/// Returns the rows of the first collection, then the rows of the second.
pub(in crate::fhirpath) fn stack(first: &Collection, second: &Collection) -> Collection {
    let parts: Vec<Items> = first.columns().iter().chain(second.columns()).cloned().collect();
    let mut offsets = Vec::with_capacity(first.rows() + second.rows() + 1);
    let mut places = Vec::with_capacity(first.len() + second.len());
    offsets.push(0i32);
    for (collection, base) in [(first, 0), (second, first.columns().len())] {
        for row in 0..collection.rows() {
            for item in collection.range(row) {
                places.push(match &collection.body {
                    Body::One(_) => (base as u32, item as u32),
                    Body::Mixed(mixed) => {
                        let (part, place) = mixed.places[item];
                        (base as u32 + part, place)
                    }
                });
            }
            offsets.push(places.len() as i32);
        }
    }
    Collection::mixed(Offsets::list(offsets), parts, places)
}
