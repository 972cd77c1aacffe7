//! The definition of one R4 type: its name, its kind and its elements.

/// The index of a type in `Facts`. It is cheap to copy and compare, and valid only for the one process-wide table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(u16);

impl TypeId {
    pub(in crate::fhir) fn new(index: usize) -> TypeId {
        TypeId(u16::try_from(index).expect("there are fewer than 65,536 types"))
    }

    /// Returns the type's index among all types, from 0 to `Facts::len` exclusive, for tables with a row for each type.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The kind of a type.
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

/// The primitive types of R4 (section 2.24.0.1), and `xhtml`.
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
    /// The name: `Patient`, `HumanName`, `dateTime`, or the path of a backbone element.
    pub name: &'static str,
    /// The kind of the type.
    pub kind: Kind,
    /// The type that this one specializes. `None` for `Element` and `Resource`.
    pub base: Option<TypeId>,
    /// Whether the type is abstract: `Resource`, `DomainResource`, `Element` and `BackboneElement` are.
    pub is_abstract: bool,
    /// All elements, including `id` and `extension`. A primitive has only these two, and `xhtml` only `id`.
    pub elements: Vec<Element>,
}

/// One element of a type.
#[derive(Clone, Debug)]
pub struct Element {
    /// The name without `[x]`: `value`, `birthDate`.
    pub name: &'static str,
    /// The possible types. Only a choice element has several. `Resource` stands for any resource.
    pub types: Vec<TypeId>,
    /// If `types` contains Reference or canonical: the resource types to which the element may refer. Empty means any
    /// type.
    pub targets: Vec<TypeId>,
    /// Whether the element is a choice (`name[x]`), which is stored and serialized as `nameType`.
    pub choice: bool,
    /// Whether the element may repeat.
    pub many: bool,
    /// The minimum number of repetitions.
    pub min: u8,
    /// Whether the element is part of the summary form (`_summary=true`).
    pub summary: bool,
    /// Whether the element is a modifier element: its value can change the meaning of the elements around it.
    pub modifier: bool,
    /// Whether the element is a `code` whose required value set has the code `unknown`.
    pub has_unknown: bool,
    /// The code system of an element of type `code`, if its required value set uses only one. The element's values do
    /// not name the system themselves.
    pub code_system: Option<&'static str>,
    /// The position among the elements of the type, starting at 1.
    pub ordinal: u16,
}
