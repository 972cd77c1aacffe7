//! Selections: which properties of a text a reader wants, and in which order it expects them.

use rustc_hash::FxHashMap;

/// The index that stands for no property. Functions return it for an unknown name.
pub(super) const NONE: u16 = u16::MAX;

/// What the reader does with a property's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// Checks the value and drops it.
    Skip,
    /// Keeps a scalar or an array of scalars. For an object or a nested array, keeps one node without contents.
    Scalar,
    /// Keeps the whole value.
    Whole,
    /// For an object or an array of objects, keeps the properties that the [`Selection::object`] with this number
    /// wants.
    Object(u16),
}

/// The wanted properties of the objects in a text, from its root down.
///
/// Only one reader uses a selection at a time. The selection caches the order of properties, so that the names of the
/// next object need no lookup. It also caches the last skipped value of each property, because that value often
/// repeats.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub(super) objects: Vec<Object>,
}

#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) properties: Vec<Property>,
    by_name: FxHashMap<&'static str, u16>,
    /// The index of the property that came first in the previous object. A reader expects it first in the next object,
    /// too.
    pub(super) first: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Property {
    /// The name in quotes with its colon, as in a text without white space.
    quoted: Box<str>,
    pub(super) take: Take,
    /// The index of the property that followed this one in the previous object. A reader expects it after this one in
    /// the next object, too.
    pub(super) next: u16,
    pub(super) skipped: Skipped,
}

/// The last skipped array or object of a property. If the same bytes follow in a later text, at this depth or at a
/// lower one, they need no check.
#[derive(Clone, Debug, Default)]
pub(super) struct Skipped {
    bytes: Vec<u8>,
    depth: usize,
}

/// The maximum length in bytes of a cached value.
const REMEMBERED: usize = 1024;

impl Skipped {
    /// Returns the length of the cached value. `None` if `rest` does not begin with it, or if `depth` exceeds the depth
    /// at which the cached value was checked.
    #[inline(always)]
    pub(super) fn stands_at(&self, rest: &[u8], depth: usize) -> Option<usize> {
        (!self.bytes.is_empty() && rest.starts_with(&self.bytes) && depth <= self.depth).then_some(self.bytes.len())
    }

    /// Caches a checked value, unless it is longer than [`REMEMBERED`].
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
    /// Returns a selection without objects.
    pub fn new() -> Selection {
        Selection::default()
    }

    /// Adds an object with all of its known properties, wanted or not. Returns its number for [`Take::Object`]. The
    /// object that is added last is the root.
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

    /// Returns the index of the property with this name, and caches it as the successor of the property `before`. If
    /// `before` is [`NONE`], caches it as the first property. Returns [`NONE`] for an unknown name.
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
    /// Returns the length of the name with quotes and colon, if `rest` begins with them.
    #[inline(always)]
    pub(super) fn stands_at(&self, rest: &[u8]) -> Option<usize> {
        rest.starts_with(self.quoted.as_bytes()).then_some(self.quoted.len())
    }
}

/// Several selections, one for each type of object. The property `tag` of an object contains the name of its type.
#[derive(Clone, Debug)]
pub struct Choice {
    pub(super) tag: &'static str,
    pub(super) selections: Vec<(&'static str, Selection)>,
}

impl Choice {
    /// Returns a choice of these selections. An object is read with the selection whose string equals the object's tag
    /// property.
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
