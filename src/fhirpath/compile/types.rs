//! The types of items: FHIR's types, and FHIRPath's own System types of literals and computed values.

use std::fmt;

use crate::fhir::storage::Storage;
use crate::fhir::{Kind, Primitive, TypeId, facts};

/// The type of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemType {
    /// An element or resource of R4.
    Fhir(TypeId),
    /// A value of a type that FHIRPath defines.
    System(System),
}

/// The types that FHIRPath itself defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum System {
    /// `Boolean`.
    Boolean,
    /// `String`.
    String,
    /// `Integer`.
    Integer,
    /// `Long`, of FHIRPath 3.0 (ballot).
    Long,
    /// `Decimal`.
    Decimal,
    /// `Date`.
    Date,
    /// `DateTime`.
    DateTime,
    /// `Time`.
    Time,
    /// `Quantity`.
    Quantity,
    /// The result of `type()`: `namespace` and `name`.
    TypeInfo,
    /// The result of `resolve()` for a target that is not in the data. Only the target's type is known, because the
    /// reference states it.
    Target,
}

impl System {
    /// Returns the name of the type.
    pub fn name(self) -> &'static str {
        match self {
            System::Boolean => "Boolean",
            System::String => "String",
            System::Integer => "Integer",
            System::Long => "Long",
            System::Decimal => "Decimal",
            System::Date => "Date",
            System::DateTime => "DateTime",
            System::Time => "Time",
            System::Quantity => "Quantity",
            System::TypeInfo => "TypeInfo",
            System::Target => "Resource",
        }
    }

    pub(in crate::fhirpath) fn lookup(name: &str) -> Option<System> {
        const NAMED: [System; 9] = [
            System::Boolean,
            System::String,
            System::Integer,
            System::Long,
            System::Decimal,
            System::Date,
            System::DateTime,
            System::Time,
            System::Quantity,
        ];
        NAMED.into_iter().find(|system| system.name() == name)
    }
}

impl ItemType {
    /// Returns the FHIR type. `None` for a System type.
    pub fn fhir(self) -> Option<TypeId> {
        match self {
            ItemType::Fhir(type_id) => Some(type_id),
            ItemType::System(_) => None,
        }
    }

    /// Returns the type's name: `Patient`, `dateTime`, `String`. For a backbone element, returns its path.
    pub fn name(self) -> &'static str {
        match self {
            ItemType::Fhir(type_id) => facts().get(type_id).name,
            ItemType::System(system) => system.name(),
        }
    }

    /// Whether the type is the FHIR type of this name or a specialization of it.
    pub fn is_fhir(self, name: &str) -> bool {
        match (self, facts().lookup(name)) {
            (ItemType::Fhir(type_id), Some(ancestor)) => facts().is_a(type_id, ancestor),
            _ => false,
        }
    }

    /// Returns the System type to which operations convert values of this type: String for `code`, Quantity for
    /// `Age`. `None` if there is no such type.
    pub fn system(self) -> Option<System> {
        match self {
            ItemType::System(system) => Some(system),
            ItemType::Fhir(type_id) => {
                let def = facts().get(type_id);
                match def.kind {
                    Kind::Primitive(Primitive::Date) => Some(System::Date),
                    Kind::Primitive(Primitive::DateTime | Primitive::Instant) => Some(System::DateTime),
                    _ => match Storage::of(def) {
                        Storage::Boolean => Some(System::Boolean),
                        Storage::Integer => Some(System::Integer),
                        Storage::Decimal => Some(System::Decimal),
                        Storage::Text => Some(System::String),
                        Storage::Time => Some(System::Time),
                        Storage::Struct if self.is_fhir("Quantity") => Some(System::Quantity),
                        _ => None,
                    },
                }
            }
        }
    }

    /// Whether the type is a FHIR primitive or a System type other than Quantity, TypeInfo and Target.
    pub fn is_primitive(self) -> bool {
        match self {
            ItemType::Fhir(type_id) => matches!(facts().get(type_id).kind, Kind::Primitive(_)),
            ItemType::System(system) => !matches!(system, System::TypeInfo | System::Target | System::Quantity),
        }
    }

    /// Whether the type is an abstract resource type (Resource, DomainResource). Such items are whole resources, whose
    /// concrete types are unknown until their JSON is read.
    pub(in crate::fhirpath) fn is_any_resource(self) -> bool {
        self.fhir()
            .is_some_and(|type_id| facts().get(type_id).kind == Kind::Resource && facts().get(type_id).is_abstract)
    }
}

impl fmt::Display for ItemType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A type that `is`, `as` or `ofType` names. An unqualified name may mean a FHIR type, a System type or both
/// (`Quantity`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fhirpath) struct TypeTest {
    pub(in crate::fhirpath) fhir: Option<TypeId>,
    pub(in crate::fhirpath) system: Option<System>,
}

impl TypeTest {
    pub(in crate::fhirpath) fn named(namespace: Option<&str>, name: &str) -> Option<TypeTest> {
        let fhir = if namespace != Some("System") {
            facts().lookup(name)
        } else {
            None
        };
        let system = if namespace != Some("FHIR") {
            System::lookup(name)
        } else {
            None
        };
        // R4's composite parameters write `DateTime` for the FHIR type `dateTime`.
        let fhir = fhir.or_else(|| match (namespace, name) {
            (None, "DateTime") => facts().lookup("dateTime"),
            _ => None,
        });
        match namespace {
            // `System.Patient` is a valid name, but no item has this type. So the test is always false.
            Some("System") if facts().lookup(name).is_some() => Some(TypeTest { fhir, system }),
            None | Some("FHIR" | "System") if fhir.is_some() || system.is_some() => Some(TypeTest { fhir, system }),
            _ => None,
        }
    }

    /// Whether items of this type pass `as` and `ofType`. A primitive must have exactly this type: a `code` does not
    /// pass as `string`.
    pub(in crate::fhirpath) fn selects(&self, item_type: ItemType) -> bool {
        match item_type {
            ItemType::Fhir(_) if item_type.is_primitive() => self.fhir == item_type.fhir(),
            _ => self.accepts(item_type),
        }
    }

    /// Whether items of this type pass `is`. Unlike `selects`, it also accepts specializations of a primitive: a `code`
    /// is a `string`.
    pub(in crate::fhirpath) fn accepts(&self, item_type: ItemType) -> bool {
        match item_type {
            ItemType::Fhir(type_id) => self.fhir.is_some_and(|wanted| facts().is_a(type_id, wanted)),
            ItemType::System(system) => self.system == Some(system),
        }
    }

    /// Whether some items of this static type may pass `as` and `ofType`. The static type may be a general one, such as
    /// Resource, whose items have narrower types in the data.
    pub(in crate::fhirpath) fn may_select(&self, item_type: ItemType) -> bool {
        let narrower = match (item_type, self.fhir) {
            (ItemType::Fhir(_), Some(_)) if item_type.is_primitive() => false,
            (ItemType::Fhir(type_id), Some(wanted)) => facts().is_a(wanted, type_id),
            (ItemType::System(System::Target), Some(wanted)) => facts().get(wanted).kind == Kind::Resource,
            _ => false,
        };
        narrower || self.selects(item_type)
    }
}

/// Returns the concrete resource types that are `ancestor` or specialize it.
pub(super) fn concrete(ancestor: TypeId) -> impl Iterator<Item = TypeId> {
    facts()
        .resources()
        .filter(move |type_id| facts().is_a(*type_id, ancestor))
}
