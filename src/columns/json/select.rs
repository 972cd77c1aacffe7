//! The wanted properties of a text, and their expected order.

use rustc_hash::FxHashMap;

/// No property.
pub(super) const NONE: u16 = u16::MAX;

/// What the reader does with a property's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// Checks the value and drops it.
    Skip,
    /// Keeps a scalar or an array of scalars. Of an object, it keeps only the presence and the position.
    Scalar,
    /// Keeps the whole value.
    Whole,
    /// Keeps the properties of this [`Selection::object`], for an object or for the objects of an array.
    Object(u16),
}

/// The wanted properties of the objects in a text, from its root down.
///
/// Only one reader uses a selection at a time. The selection caches the order of properties, so that the names of the
/// next object need no lookup. It also caches the last skipped value, because that often repeats.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub(super) objects: Vec<Object>,
}

#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) properties: Vec<Property>,
    by_name: FxHashMap<&'static str, u16>,
    /// The first property of the previous object.
    pub(super) first: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Property {
    /// The name in quotes with its colon, as in texts without white space.
    quoted: Box<str>,
    pub(super) take: Take,
    /// The property that followed this one the last time.
    pub(super) next: u16,
    pub(super) skipped: Skipped,
}

/// The last skipped array or object. If the same bytes follow again, they need no check.
#[derive(Clone, Debug, Default)]
pub(super) struct Skipped {
    bytes: Vec<u8>,
    depth: usize,
}

/// The maximum length of a skipped value in the cache.
const REMEMBERED: usize = 1024;

impl Skipped {
    /// The length of the cached value, if `rest` begins with it and it is valid inside `depth` others.
    #[inline(always)]
    pub(super) fn stands_at(&self, rest: &[u8], depth: usize) -> Option<usize> {
        (!self.bytes.is_empty() && rest.starts_with(&self.bytes) && depth <= self.depth).then_some(self.bytes.len())
    }

    /// Caches a checked value.
    #[inline(always)]
    pub(super) fn remember(&mut self, value: &[u8], depth: usize) {
        if value.len() <= REMEMBERED {
            self.bytes.clear();
            self.bytes.extend_from_slice(value);
            self.depth = depth;
        }
    }
}

impl Selection {
    /// A selection of nothing.
    pub fn new() -> Selection {
        Selection::default()
    }

    /// Adds an object with all of its known properties. Returns its number for [`Take::Object`]. The root is added
    /// last.
    pub fn object(&mut self, properties: impl IntoIterator<Item = (&'static str, Take)>) -> u16 {
        let mut object = Object {
            properties: Vec::new(),
            by_name: FxHashMap::default(),
            first: NONE,
        };
        for (name, take) in properties {
            object.add(name, take);
        }
        self.objects.push(object);
        self.root()
    }

    pub(super) fn root(&self) -> u16 {
        self.objects.len().saturating_sub(1) as u16
    }
}

impl Object {
    fn add(&mut self, name: &'static str, take: Take) {
        let place = self.properties.len() as u16;
        if self.by_name.insert(name, place).is_none() {
            self.properties.push(Property {
                quoted: format!("\"{name}\":").into(),
                take,
                next: NONE,
                skipped: Skipped::default(),
            });
        }
    }

    /// The property with this name. Caches it as the successor of `before`. [`NONE`] for an unknown name.
    #[cold]
    pub(super) fn find(&mut self, name: &str, before: u16) -> u16 {
        let Some(place) = self.by_name.get(name) else {
            return NONE;
        };
        match self.properties.get_mut(usize::from(before)) {
            Some(before) => before.next = *place,
            None => self.first = *place,
        }
        *place
    }
}

impl Property {
    /// The length of the name with quotes and colon, if the text continues with it.
    #[inline(always)]
    pub(super) fn stands_at(&self, rest: &[u8]) -> Option<usize> {
        rest.starts_with(self.quoted.as_bytes()).then_some(self.quoted.len())
    }
}

/// Selections by the type of an object: the string in its property `tag`.
#[derive(Clone, Debug)]
pub struct Choice {
    pub(super) tag: &'static str,
    pub(super) selections: Vec<(&'static str, Selection)>,
}

impl Choice {
    /// Selections, each with its tag.
    pub fn new(tag: &'static str, selections: impl IntoIterator<Item = (&'static str, Selection)>) -> Choice {
        let mut selections: Vec<_> = selections.into_iter().collect();
        for (_, selection) in &mut selections {
            if selection.objects.is_empty() {
                selection.object([]);
            }
            if let Some(root) = selection.objects.last_mut() {
                root.add(tag, Take::Skip);
            }
        }
        Choice { tag, selections }
    }

    pub(super) fn find(&self, tag: &str) -> Option<usize> {
        self.selections.iter().position(|(of, _)| *of == tag)
    }
}
