//! The R4 type system: resources, data types and backbone elements with their elements in definition order.
//!
//! A backbone element is a type of its own, named by its path (`Observation.component`); an element with a content
//! reference has the type it refers to, so recursion (`Questionnaire.item.item`) is a type that contains itself.
//! This file does not know search parameters (`search_parameter`) nor how values lie in columns (`storage`).

/// Index of a type in [`Facts`]. Cheap to copy and compare; valid for the one process-wide table only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(u16);

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
    /// The type it specializes; `None` for `Element` and `Resource`.
    pub base: Option<TypeId>,
    /// `Resource`, `DomainResource`, `Element`, `BackboneElement`.
    pub is_abstract: bool,
    /// All elements, `id` and `extension` included; for primitives none but `id` and `extension`.
    pub elements: Vec<Element>,
}

/// One element of a type.
#[derive(Debug)]
pub struct Element {
    /// The name without `[x]`: `value`, `birthDate`.
    pub name: &'static str,
    /// The types it may have; more than one only for a choice element. `Resource` stands for any resource.
    pub types: Vec<TypeId>,
    /// Where `types` holds Reference or canonical: the resource types it may point to; empty means any.
    pub targets: Vec<TypeId>,
    /// `true` for `name[x]`, stored and serialized as `nameType`.
    pub choice: bool,
    /// Whether it may repeat.
    pub many: bool,
    /// Least number of repetitions.
    pub min: u8,
    /// Part of the summary form (`_summary=true`).
    pub summary: bool,
    /// A modifier element.
    pub modifier: bool,
    /// Place among its siblings in the definition, starting at 1.
    pub ordinal: u16,
}

/// What a JSON property name means inside a type.
#[derive(Clone, Copy, Debug)]
pub struct Child<'a> {
    /// The element.
    pub element: &'a Element,
    /// Its type here: for a choice the one the property name ends in.
    pub ty: TypeId,
}
