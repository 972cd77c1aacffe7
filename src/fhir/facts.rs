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

/// The table of all types.
#[derive(Debug, Default)]
pub struct Facts {
    types: Vec<TypeDef>,
}

/// The R4 facts, built from the tables in `schemas/` at first use.
pub fn facts() -> &'static Facts {
    static FACTS: std::sync::OnceLock<Facts> = std::sync::OnceLock::new();
    FACTS.get_or_init(Facts::default)
}

impl Facts {
    /// The type of this name (`Patient`, `string`, `Observation.component`).
    pub fn lookup(&self, name: &str) -> Option<TypeId> {
        self.types.iter().position(|ty| ty.name == name).map(|at| TypeId(at as u16))
    }

    /// The definition of a type.
    pub fn get(&self, ty: TypeId) -> &TypeDef {
        &self.types[usize::from(ty.0)]
    }

    /// What the JSON property `name` means inside `ty` (`valueQuantity` is the element `value` as a Quantity); `None` for what
    /// R4 does not define there. Names that begin with `_` are the caller's to strip.
    pub fn child(&self, ty: TypeId, name: &str) -> Option<Child<'_>> {
        let element = self.element(ty, name)?;
        Some(Child { element, ty: element.types[0] })
    }

    /// The element whose FHIRPath name is `name` (`value` for `value[x]`).
    pub fn element(&self, ty: TypeId, name: &str) -> Option<&Element> {
        self.get(ty).elements.iter().find(|element| element.name == name)
    }

    /// Whether `ty` is `ancestor` or specializes it, directly or not (`Age` is a `Quantity`, `code` a `string`).
    pub fn is_a(&self, ty: TypeId, ancestor: TypeId) -> bool {
        ty == ancestor || self.get(ty).base.is_some_and(|base| self.is_a(base, ancestor))
    }

    /// Concrete resource types, sorted by name.
    pub fn resources(&self) -> impl Iterator<Item = TypeId> + '_ {
        (0..self.types.len() as u16).map(TypeId).filter(|ty| {
            let def = self.get(*ty);
            def.kind == Kind::Resource && !def.is_abstract
        })
    }
}
