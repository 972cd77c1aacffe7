//! What R4 says of one type: its name, its kind and its elements.

/// Index of a type in `Facts`. Cheap to copy and compare. Valid only for the one process-wide table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(u16);

impl TypeId {
    pub(in crate::fhir) fn new(index: usize) -> TypeId {
        TypeId(u16::try_from(index).expect("there are fewer than 65,536 types"))
    }

    /// Its place among all types, from 0 to `Facts::len` exclusive, for tables with a row per type.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What sort of type a [`TypeDef`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A primitive data type such as `dateTime`.
    Primitive(Primitive),
    /// A complex data type such as `HumanName`, `Extension` or `Element`.
    Complex,
    /// An element defined inside a resource or data type, such as `Observation.component` or `Timing.repeat`.
    Backbone,
    /// A resource type, `Resource` and `DomainResource` included.
    Resource,
}

/// The R4 primitive types (R4, section 2.24.0.1), and `xhtml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Primitive {
    Boolean,
    Integer,
    PositiveInt,
    UnsignedInt,
    Decimal,
    String,
    Code,
    Id,
    Markdown,
    Uri,
    Url,
    Canonical,
    Oid,
    Uuid,
    Base64Binary,
    Xhtml,
    Date,
    DateTime,
    Instant,
    Time,
}

/// A type: its name, its parent and its elements, inherited ones first, in definition order.
#[derive(Debug)]
pub struct TypeDef {
    /// `Patient`, `HumanName`, `dateTime`, or the path of a backbone element.
    pub name: &'static str,
    /// What sort of type this is.
    pub kind: Kind,
    /// The type it specializes. `None` for `Element` and `Resource`.
    pub base: Option<TypeId>,
    /// `Resource`, `DomainResource`, `Element`, `BackboneElement`.
    pub is_abstract: bool,
    /// All elements, including `id` and `extension`. A primitive has only these two.
    pub elements: Vec<Element>,
}

/// One element of a type.
#[derive(Clone, Debug)]
pub struct Element {
    /// The name without `[x]`: `value`, `birthDate`.
    pub name: &'static str,
    /// The possible types; several only for a choice element. `Resource` stands for any resource.
    pub types: Vec<TypeId>,
    /// If `types` contains Reference or canonical: the resource types it may point to. Empty means any.
    pub targets: Vec<TypeId>,
    /// `true` for `name[x]`, stored and serialized as `nameType`.
    pub choice: bool,
    /// Whether it may repeat.
    pub many: bool,
    /// The minimum number of repetitions.
    pub min: u8,
    /// Part of the summary form (`_summary=true`).
    pub summary: bool,
    /// A modifier element.
    pub modifier: bool,
    /// A `code` whose required value set has the code `unknown`.
    pub has_unknown: bool,
    /// The code system of an element of type `code`, if its required value set draws on only one. The element's values
    /// do not name the system themselves.
    pub code_system: Option<&'static str>,
    /// Place among its siblings in the definition, starting at 1.
    pub ordinal: u16,
}
