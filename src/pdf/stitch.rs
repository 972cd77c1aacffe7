//! Inserts pages of attached PDF files between the written pages.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use lopdf::{Dictionary, Document, Object, ObjectId, SaveOptions};

use super::{PdfError, Stop};

/// Entries that a page inherits from its parent nodes.
const INHERITED: &[&[u8]] = &[b"Resources", b"MediaBox", b"CropBox", b"Rotate"];
/// The actions that annotations may keep: following a link within a document (`GoTo`) or to an address (`URI`). All
/// other actions are removed, because some of them run scripts, start programs or send forms.
const HARMLESS: &[&[u8]] = &[b"GoTo", b"URI"];
/// Entries that are removed from annotations: actions that events trigger, media, scripts, and references to the
/// structure of the attached file.
const REMOVED: &[&[u8]] = &[
    b"AA",
    b"PA",
    b"RichMediaContent",
    b"RichMediaSettings",
    b"3DD",
    b"Movie",
    b"StructParent",
];

/// A file whose pages are inserted after some of the written pages.
pub(super) struct Insertion {
    /// The number of written pages before the inserted ones.
    pub(super) after: usize,
    pub(super) file: Document,
}

/// Writes the file with the inserted pages. Only the written pages are tagged, so the file no longer claims PDF/UA.
pub(super) fn stitch(
    written: Vec<u8>,
    insertions: Vec<Insertion>,
    stop: &Stop,
    mut out: &mut dyn Write,
) -> Result<(), PdfError> {
    let failed = |_| PdfError::Writer("the written pages cannot be read back");
    let mut main = Document::load_mem(&written).map_err(failed)?;
    drop(written);
    let root = main
        .catalog()
        .and_then(|catalog| catalog.get(b"Pages")?.as_reference())
        .map_err(failed)?;
    let own: Vec<ObjectId> = main.get_pages().into_values().collect();
    let mut order = Vec::with_capacity(own.len());
    let mut insertions = insertions.into_iter().peekable();
    for (place, page) in own.iter().enumerate() {
        while let Some(insertion) = insertions.next_if(|insertion| insertion.after <= place) {
            order.extend(take(&mut main, insertion.file));
        }
        order.push(*page);
        stop.check()?;
    }
    for insertion in insertions {
        order.extend(take(&mut main, insertion.file));
    }
    put_in_order(&mut main, root, &order);
    unclaim(&mut main);
    // Remove the catalogs, outlines, forms and metadata of the attached files, which no page needs.
    main.prune_objects();
    stop.check()?;
    let options = SaveOptions::builder()
        .use_object_streams(true)
        .use_xref_streams(true)
        .build();
    main.save_with_options(&mut out, options).map_err(PdfError::Output)
}

/// Moves all objects of a file into `main`. Returns the file's pages in order.
fn take(main: &mut Document, mut file: Document) -> Vec<ObjectId> {
    file.renumber_objects_with(main.max_id + 1);
    let pages: Vec<ObjectId> = file.get_pages().into_values().collect();
    let mut shared = BTreeMap::new();
    let inherited: BTreeMap<ObjectId, Dictionary> = pages
        .iter()
        .map(|page| (*page, inherited(&mut file, *page, &mut shared)))
        .collect();
    main.max_id = main.max_id.max(file.max_id);
    main.objects.append(&mut file.objects);
    let mut calm = BTreeSet::new();
    for (page, inherited) in inherited {
        let Ok(dictionary) = main.get_dictionary_mut(page) else {
            continue;
        };
        for (key, value) in inherited.iter() {
            dictionary.set(key.clone(), value.clone());
        }
        // Remove the references into the attached file's structure, and the actions that opening or closing the page
        // starts.
        dictionary.remove(b"StructParents");
        dictionary.remove(b"AA");
        calm_annotations(main, page, &mut calm);
    }
    pages
}

/// Returns the entries of `INHERITED` that the page does not have itself, but inherits from its parent nodes. A long
/// value becomes an object of its own, so that many pages share it. `shared` has these objects by the node and the key.
fn inherited(
    file: &mut Document,
    page: ObjectId,
    shared: &mut BTreeMap<(ObjectId, &'static [u8]), ObjectId>,
) -> Dictionary {
    let mut found = Dictionary::new();
    let Ok(own) = file.get_dictionary(page) else {
        return found;
    };
    let mut missing: Vec<&[u8]> = INHERITED.iter().copied().filter(|key| !own.has(key)).collect();
    let mut above = own.get(b"Parent").and_then(Object::as_reference).ok();
    // The loop is limited, because a damaged tree may have a cycle.
    for _ in 0..64 {
        let Some(node) = above else { break };
        missing.retain(|key| match value_of(file, node, key, shared) {
            Some(value) => {
                found.set(key.to_vec(), value);
                false
            }
            None => true,
        });
        let parent = file.get_dictionary(node).and_then(|node| node.get(b"Parent"));
        above = parent.and_then(Object::as_reference).ok();
    }
    found
}

/// Returns the value of a node's entry, or a reference to it if it is long.
fn value_of(
    file: &mut Document,
    node: ObjectId,
    key: &'static [u8],
    shared: &mut BTreeMap<(ObjectId, &'static [u8]), ObjectId>,
) -> Option<Object> {
    if let Some(object) = shared.get(&(node, key)) {
        return Some(Object::Reference(*object));
    }
    let value = file.get_dictionary(node).and_then(|node| node.get(key)).ok()?.clone();
    let is_long = match &value {
        Object::Array(values) => values.len() > 4 || values.iter().any(|value| value.as_float().is_err()),
        Object::Dictionary(_) | Object::Name(_) | Object::String(..) | Object::Stream(_) => true,
        _ => false,
    };
    if is_long {
        let object = file.add_object(value);
        shared.insert((node, key), object);
        return Some(Object::Reference(object));
    }
    Some(value)
}

/// Removes actions from a page's annotations, except links. The list of annotations, and each annotation, may be part
/// of the page or an object of its own. Pages may share these objects. `calm` has the objects that were already
/// processed.
fn calm_annotations(main: &mut Document, page: ObjectId, calm: &mut BTreeSet<ObjectId>) {
    let list = main.get_dictionary(page).and_then(|page| page.get(b"Annots"));
    let Ok((place, Object::Array(_))) = list.and_then(|list| main.dereference(list)) else {
        return;
    };
    if place.is_some_and(|place| !calm.insert(place)) {
        return;
    }
    // The list is taken out of `main` during the loop, because the loop also changes other objects of `main`.
    let Some(list) = list_of(main, page, place) else { return };
    let mut annotations = std::mem::take(list);
    for annotation in &mut annotations {
        match annotation {
            Object::Dictionary(annotation) => {
                if let Some(above) = calm_annotation(main, annotation) {
                    calm_object(main, above, calm);
                }
            }
            Object::Reference(place) => calm_object(main, *place, calm),
            // Other objects are not valid as annotations, so replace them by null.
            other => *other = Object::Null,
        }
    }
    if let Some(list) = list_of(main, page, place) {
        *list = annotations;
    }
}

/// Returns the list of a page's annotations. `place` is the object that is the list. `None` means that the list is part
/// of the page.
fn list_of(main: &mut Document, page: ObjectId, place: Option<ObjectId>) -> Option<&mut Vec<Object>> {
    let list = match place {
        Some(place) => main.get_object_mut(place),
        None => main.get_dictionary_mut(page).and_then(|page| page.get_mut(b"Annots")),
    };
    list.and_then(Object::as_array_mut).ok()
}

/// Removes actions from an annotation that is an object of its own. Does the same for its parents, because they are
/// form fields and may have actions, too.
fn calm_object(main: &mut Document, place: ObjectId, calm: &mut BTreeSet<ObjectId>) {
    let mut next = Some(place);
    while let Some(place) = next {
        let found = main.dereference(&Object::Reference(place)).map(|(place, _)| place);
        let Ok(Some(place)) = found else { return };
        let Ok(annotation) = main.get_dictionary_mut(place) else {
            return;
        };
        // In a damaged file, parents may form a loop. So stop at an object that was already processed.
        if !calm.insert(place) {
            return;
        }
        let mut annotation = std::mem::take(annotation);
        next = calm_annotation(main, &mut annotation);
        if let Ok(emptied) = main.get_dictionary_mut(place) {
            *emptied = annotation;
        }
    }
}

/// Removes actions from an annotation, except a link. Returns the annotation's parent.
fn calm_annotation(main: &mut Document, annotation: &mut Dictionary) -> Option<ObjectId> {
    for entry in REMOVED {
        annotation.remove(entry);
    }
    let action = annotation.get_deref(b"A", main).and_then(Object::as_dict);
    let kind = action.and_then(|action| action.get_deref(b"S", main));
    if !kind
        .and_then(Object::as_name)
        .is_ok_and(|kind| HARMLESS.contains(&kind))
    {
        annotation.remove(b"A");
    }
    // A link may name further actions, which the viewer would perform after it followed the link. Remove them.
    match annotation.get_mut(b"A") {
        Ok(Object::Dictionary(action)) => drop(action.remove(b"Next")),
        Ok(Object::Reference(place)) => {
            if let Ok(action) = main.get_dictionary_mut(*place) {
                action.remove(b"Next");
            }
        }
        _ => {}
    }
    annotation.get(b"Parent").and_then(Object::as_reference).ok()
}

/// Makes these pages, in order, the children of the page tree's root.
fn put_in_order(main: &mut Document, root: ObjectId, order: &[ObjectId]) {
    for page in order {
        if let Ok(dictionary) = main.get_dictionary_mut(*page) {
            dictionary.set("Parent", root);
        }
    }
    if let Ok(pages) = main.get_dictionary_mut(root) {
        pages.set("Kids", order.iter().copied().map(Object::Reference).collect::<Vec<_>>());
        pages.set("Count", order.len() as i64);
    }
}

/// Removes the claim of PDF/UA from the metadata.
fn unclaim(main: &mut Document) {
    let metadata = main
        .catalog()
        .and_then(|catalog| catalog.get(b"Metadata")?.as_reference());
    let Ok(stream) = metadata
        .and_then(|id| main.get_object_mut(id))
        .and_then(Object::as_stream_mut)
    else {
        return;
    };
    let Ok(text) = stream.get_plain_content() else { return };
    let text = String::from_utf8_lossy(&text);
    let start = text.find("<pdfuaid:part>");
    let end = text.find("</pdfuaid:part>").map(|at| at + "</pdfuaid:part>".len());
    if let (Some(start), Some(end)) = (start, end)
        && start < end
    {
        let without = format!("{}{}", &text[..start], &text[end..]);
        stream.set_plain_content(without.into_bytes());
    }
}
