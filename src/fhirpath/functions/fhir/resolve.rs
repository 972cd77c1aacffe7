//! `resolve()`: finds the target of a reference within the same row. `#id` refers to a contained resource, and `#` to
//! the container. A URL or a relative reference refers to an entry of the same Bundle.
//!
//! Other targets are not fetched. Only the type and id that the reference states are known of them. That is enough for
//! `is`, `as` and `ofType`. A step into such a target is an error of the row. If a reference names a contained resource
//! that does not exist, `resolve()` yields nothing.

use arrow::array::{Array, AsArray};
use rustc_hash::FxHashMap;

use crate::fhir::facts;
use crate::fhir::reference::Reference;
use crate::fhir::storage::Storage;
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::combine::{flat_map, pick};
use crate::fhirpath::evaluate::interpreter::{Output, step};
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::evaluate::lineage::{ColumnSlot, resources};
use crate::fhirpath::evaluate::opening::told_apart;
use crate::fhirpath::values::collection::{Body, Collection, Offsets};
use crate::fhirpath::values::columns::Values;
use crate::fhirpath::values::items::Items;

/// Whether items of a type are references.
pub(in crate::fhirpath) fn is_reference(item_type: ItemType) -> bool {
    item_type
        .fhir()
        .is_some_and(|type_id| Storage::of(facts().get(type_id)) == Storage::Reference)
}

/// Returns for each reference an item of the type [`System::Target`]. Only what the reference states is known of such a
/// target. Drops items that are not references.
pub(in crate::fhirpath::functions) fn targets(input: &Collection) -> Collection {
    flat_map(input, |items: &Items| {
        if is_reference(items.item_type()) {
            Collection::each(items.with_type(ItemType::System(System::Target)))
        } else {
            Collection::empty(items.len())
        }
    })
}

pub(in crate::fhirpath::functions) fn resolve(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let mut around = Around::default();
    let wanted: Vec<Wanted<'_>> = (0..call.input.len())
        .map(|item| {
            let (items, item) = call.input.item(item);
            around.wanted(items, item)
        })
        .collect();
    let targets = targets(&call.input);
    if around.containers.places.is_empty() && around.bundles.places.is_empty() {
        return Ok(Output::Items(targets));
    }
    let children = |of: &Collection, name: &str| step(of, name, &[], Some(false), call.frame.limit());
    let root = call.frame.root_type();
    let containers = resources(&around.containers.places, root);
    let contained = children(&containers, "contained")?;
    let ids = named(&contained);
    let entries = Entries::of(&resources(&around.bundles.places, root), &children)?;
    // `picks` has two numbers for each target that is found: the index of a collection in `collections` below, and the
    // index of the target in that collection.
    let targets_flat = flat_of(&call.input, &targets);
    let (mut offsets, mut picks) = (Vec::with_capacity(call.input.rows() + 1), Vec::new());
    offsets.push(0);
    for row in 0..call.input.rows() {
        for item in call.input.range(row) {
            let elsewhere = || targets_flat[item].map(|target| (3, target));
            let found = match &wanted[item] {
                Wanted::Nothing => None,
                Wanted::Elsewhere => elsewhere(),
                Wanted::Container(container) => Some((0, *container)),
                Wanted::Contained(container, id) => ids.get(&(*container, *id)).map(|item| (1, *item)),
                Wanted::Entry(bundle, own, text) => entries
                    .find(*bundle, own.as_ref(), text)
                    .map(|item| (2, item))
                    .or_else(elsewhere),
            };
            picks.extend(found);
        }
        offsets.push(picks.len() as i32);
    }
    let collections = [&containers, &contained, &entries.resources, &targets];
    Ok(Output::Items(pick(&collections, Offsets::list(offsets), &picks)))
}

/// Returns for each item of `input` the index of its target among the items of `targets`. `None` if the item is not a
/// reference.
fn flat_of(input: &Collection, targets: &Collection) -> Vec<Option<usize>> {
    let mut next = 0;
    let of = |item: usize| {
        is_reference(input.item(item).0.item_type()).then(|| {
            next += 1;
            next - 1
        })
    };
    let places: Vec<Option<usize>> = (0..input.len()).map(of).collect();
    debug_assert_eq!(next, targets.len());
    places
}

/// Where to look for the target of a reference.
enum Wanted<'a> {
    Nothing,
    Elsewhere,
    /// The reference is `#`. Its target is the container with this number.
    Container(usize),
    /// The reference is `#id`. Its target is the contained resource with this id in the container with this number.
    Contained(usize, &'a str),
    /// The target is an entry of the Bundle with this number. The other fields are the `fullUrl` of the entry that
    /// contains the reference, and the text of the reference.
    Entry(usize, Option<String>, &'a str),
}

/// The containers and Bundles of the items, in which `resolve` looks for the targets of references.
#[derive(Default)]
struct Around {
    containers: Numbered,
    bundles: Numbered,
}

/// Resources without duplicates, each with its number.
#[derive(Default)]
struct Numbered {
    places: Vec<Option<ColumnSlot>>,
    numbers: FxHashMap<(usize, usize), usize>,
}

impl Numbered {
    fn number(&mut self, place: ColumnSlot) -> usize {
        *self.numbers.entry(place.key()).or_insert_with(|| {
            self.places.push(Some(place));
            self.places.len() - 1
        })
    }
}

impl Around {
    fn wanted<'a>(&mut self, items: &'a Items, item: usize) -> Wanted<'a> {
        if !is_reference(items.item_type()) {
            return Wanted::Nothing;
        }
        let text = match items.values() {
            Values::Struct(array) => text_at(array, "reference", items.slot(item)),
            _ => None,
        };
        let Some(text) = text else { return Wanted::Elsewhere };
        if !text.starts_with('#') && !items.is_inside() {
            return Wanted::Elsewhere;
        }
        let Some(resource) = items.resource(item) else {
            return Wanted::Elsewhere;
        };
        let container = resource.container();
        match (text.strip_prefix('#'), container) {
            (Some(""), Some(container)) => Wanted::Container(self.containers.number(container)),
            (Some(id), container) => Wanted::Contained(self.containers.number(container.unwrap_or(resource)), id),
            (None, container) => match container.unwrap_or(resource).entry() {
                Some((entry, bundle)) => {
                    let own = match &entry.column.values {
                        Values::Struct(array) => text_at(array, "fullUrl", entry.slot).map(str::to_string),
                        _ => None,
                    };
                    Wanted::Entry(self.bundles.number(bundle), own, text)
                }
                None => Wanted::Elsewhere,
            },
        }
    }
}

fn text_at<'a>(array: &'a arrow::array::StructArray, name: &str, slot: usize) -> Option<&'a str> {
    let column = array.column_by_name(name)?.as_string_opt::<i32>()?;
    column.is_valid(slot).then(|| column.value(slot))
}

/// Returns a table from row and id to the index of a resource. If several resources of a row have the same id, the
/// table has the first one.
fn named(resources: &Collection) -> Named {
    let ids = by_item(resources, |items| {
        items.resource_ids().unwrap_or_else(|| vec![None; items.len()])
    });
    let mut named = Named::default();
    for row in 0..resources.rows() {
        for item in resources.range(row) {
            if let Some(id) = &ids[item] {
                named.of.entry((row, id.clone())).or_insert(item);
            }
        }
    }
    named
}

#[derive(Default)]
struct Named {
    of: FxHashMap<(usize, String), usize>,
}

impl Named {
    fn get(&self, (row, id): &(usize, &str)) -> Option<&usize> {
        self.of.get(&(*row, (*id).to_string()))
    }
}

/// Returns one value for each item, in the order of the collection. `of` computes the values for the items of one
/// column.
fn by_item<T: Clone>(collection: &Collection, of: impl Fn(&Items) -> Vec<T>) -> Vec<T> {
    match &collection.body {
        Body::One(items) => of(items),
        Body::Mixed(mixed) => {
            let parts: Vec<Vec<T>> = mixed.parts.iter().map(of).collect();
            let place = |(part, place): &(u32, u32)| parts[*part as usize][*place as usize].clone();
            mixed.places.iter().map(place).collect()
        }
    }
}

/// The entries of Bundles, by `fullUrl` and by type and id.
struct Entries {
    resources: Collection,
    urls: Named,
    /// The index of an entry by its `Type/id`. It is `usize::MAX` if several entries of the Bundle have the same type
    /// and id.
    names: Named,
}

impl Entries {
    fn of(
        bundles: &Collection,
        children: &impl Fn(&Collection, &str) -> Result<Collection, FhirPathError>,
    ) -> Result<Entries, FhirPathError> {
        let entries = children(bundles, "entry")?;
        let each = entries.flat();
        let (urls, resources) = (children(&each, "fullUrl")?, told_apart(&children(&each, "resource")?));
        let ids = by_item(&resources, |items| {
            items.resource_ids().unwrap_or_else(|| vec![None; items.len()])
        });
        let (mut by_url, mut by_name) = (Named::default(), Named::default());
        for bundle in 0..entries.rows() {
            for entry in entries.range(bundle) {
                for item in resources.range(entry) {
                    if let Some((items, url)) = urls.first(entry)
                        && let Some(url) = items.text(url)
                    {
                        by_url.of.entry((bundle, url.to_string())).or_insert(item);
                    }
                    if let Some(id) = &ids[item] {
                        let name = format!("{}/{id}", resources.item(item).0.item_type());
                        let known = by_name.of.entry((bundle, name)).or_insert(item);
                        if *known != item {
                            *known = usize::MAX;
                        }
                    }
                }
            }
        }
        Ok(Entries {
            resources,
            urls: by_url,
            names: by_name,
        })
    }

    /// Finds the entry to which a reference points. `own` is the `fullUrl` of the entry that contains the reference. A
    /// relative reference is resolved against the server in `own`. If `own` names no server, the entry is found by type
    /// and id.
    fn find(&self, bundle: usize, own: Option<&String>, text: &str) -> Option<usize> {
        let Reference::Relative(target) = Reference::parse(text) else {
            let plain = text.split_once("/_history/").map_or(text, |(plain, _)| plain);
            return self.urls.get(&(bundle, plain)).copied();
        };
        let name = format!("{}/{}", target.type_name(), target.id);
        let base = own.and_then(|own| match Reference::parse(own) {
            Reference::Absolute { base, .. } => Some(base.to_string()),
            _ => None,
        });
        match base {
            Some(base) => {
                let url = format!("{}/{name}", base.trim_end_matches('/'));
                self.urls.get(&(bundle, &url)).copied()
            }
            None => self
                .names
                .get(&(bundle, &name))
                .copied()
                .filter(|item| *item != usize::MAX),
        }
    }
}
