//! Walks over a record, and calls rules at the elements that they may change.
//!
//! For each type of R4, a table has the properties that are, or contain, a code, a reference or a required element. All
//! other properties are skipped. Extensions are visited in resources, backbone elements, other extensions, and data
//! types that the walk enters, but not in primitives. Extensions that normalization writes are not visited.

use std::sync::OnceLock;

use super::marks;
use crate::columns::json::Value;
use crate::fhir::name_table::NameTable;
use crate::fhir::{Element, Kind, TypeId, facts};

/// What a rule does at the elements of a record.
pub(super) trait Visit<'t> {
    /// Handles a CodeableConcept.
    fn concept(&mut self, _: Value<'t>) {}

    /// Handles a list of Codings outside a CodeableConcept.
    fn codings(&mut self, _: Value<'t>) {}

    /// Handles a Coding outside a list.
    fn coding(&mut self, _: Value<'t>) {}

    /// Handles a Quantity.
    fn quantity(&mut self, _: Value<'t>) {}

    /// Handles a Reference. The list has the types that its target may have. The list is empty if the target may have
    /// any type.
    fn reference(&mut self, _: Value<'t>, _: &'static [TypeId]) {}

    /// Handles an object that lacks required elements of its type. The number has one bit for each required element
    /// that the object has. The bits are in the order of [`required`].
    fn lacks(&mut self, _: Value<'t>, _: TypeId, _: u64) {}
}

/// Walks over a resource.
pub(super) fn resource<'t>(root: Value<'t>, type_id: TypeId, visit: &mut impl Visit<'t>) {
    Walk { visit }.object(root, type_id);
}

/// Walks over a value of this type.
pub(super) fn value<'t>(value: Value<'t>, type_id: TypeId, visit: &mut impl Visit<'t>) {
    let step = Shapes::get().step_to(type_id);
    Walk { visit }.step(value, step, &[]);
}

/// Returns the required elements of a type, in the order of the bits of [`Visit::lacks`].
pub(super) fn required(type_id: TypeId) -> &'static [&'static Element] {
    &Shapes::get().shapes[type_id.index()].required
}

/// Returns the type that a resource states, if it is a concrete resource type of R4.
pub(super) fn resource_type(resource: Value<'_>) -> Option<TypeId> {
    let type_id = facts().lookup(&resource.get_str("resourceType")?)?;
    let def = facts().get(type_id);
    (def.kind == Kind::Resource && !def.is_abstract).then_some(type_id)
}

/// Whether a property has content. `null`, `""`, `[]` and `{}` have none.
pub(super) fn is_present(value: Value<'_>) -> bool {
    value.raw().len() > 2 && !value.is_null() && (value.is_string() || !is_hollow(value)) || value.number().is_some()
}

fn is_hollow(value: Value<'_>) -> bool {
    (value.is_array() && value.items().next().is_none()) || (value.is_object() && value.entries().next().is_none())
}

/// What the walk does with the value of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Skip,
    Concept,
    Coding,
    Quantity,
    Reference,
    Extension,
    /// An object of this type, which may contain elements for rules.
    Within(TypeId),
    /// A resource, which states its own type.
    Resource,
}

#[derive(Clone, Copy, Debug)]
struct Property {
    step: Step,
    targets: &'static [TypeId],
    /// The bit of a required element, or 0 for any other element.
    bit: u64,
}

#[derive(Debug, Default)]
struct Shape {
    properties: NameTable<Property>,
    required: Vec<&'static Element>,
    /// The bits of all required elements.
    all: u64,
}

#[derive(Debug)]
struct Shapes {
    shapes: Vec<Shape>,
    steps: Vec<Step>,
}

impl Shapes {
    fn get() -> &'static Shapes {
        static SHAPES: OnceLock<Shapes> = OnceLock::new();
        SHAPES.get_or_init(Shapes::compile)
    }

    fn step_to(&self, type_id: TypeId) -> Step {
        self.steps[type_id.index()]
    }

    fn compile() -> Shapes {
        let facts = facts();
        let mut steps: Vec<Step> = facts.types().map(own_step).collect();
        // The walk must enter a type if one of its elements matters to rules. Repeat this until nothing changes,
        // because types contain each other.
        loop {
            let mut changed = false;
            for type_id in facts.types().filter(|type_id| !is_primitive(*type_id)) {
                if steps[type_id.index()] == Step::Skip && leads_somewhere(type_id, &steps) {
                    steps[type_id.index()] = Step::Within(type_id);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let shapes = facts.types().map(|type_id| Shape::compile(type_id, &steps)).collect();
        Shapes { shapes, steps }
    }
}

fn is_primitive(type_id: TypeId) -> bool {
    matches!(facts().get(type_id).kind, Kind::Primitive(_))
}

/// Returns the step for a type, regardless of its elements. A type that rules need only because of its elements gets
/// `Skip` here. `Shapes::compile` changes it to `Within`.
fn own_step(type_id: TypeId) -> Step {
    let facts = facts();
    let is_a = |name: &str| facts.lookup(name).is_some_and(|ancestor| facts.is_a(type_id, ancestor));
    if is_a("CodeableConcept") {
        Step::Concept
    } else if is_a("Coding") {
        Step::Coding
    } else if is_a("Quantity") {
        Step::Quantity
    } else if is_a("Reference") {
        Step::Reference
    } else if is_a("Extension") {
        Step::Extension
    } else if facts.get(type_id).kind == Kind::Resource {
        Step::Resource
    } else {
        Step::Skip
    }
}

fn leads_somewhere(type_id: TypeId, steps: &[Step]) -> bool {
    let mut elements = facts().get(type_id).elements.iter();
    elements.any(|element| {
        element.min > 0
            || element
                .types
                .iter()
                .any(|type_id| !matches!(steps[type_id.index()], Step::Skip | Step::Extension))
    })
}

impl Shape {
    fn compile(type_id: TypeId, steps: &[Step]) -> Shape {
        let facts = facts();
        let def = facts.get(type_id);
        let mut shape = Shape::default();
        let mut properties: Vec<(&'static str, Property)> = Vec::new();
        // The required `url` of an Extension does not count, because a placeholder would give the extension no meaning.
        let is_required = |element: &Element| element.min > 0 && def.name != "Extension";
        for element in &def.elements {
            let bit = if is_required(element) {
                shape.required.push(element);
                1 << (shape.required.len() - 1)
            } else {
                0
            };
            shape.all |= bit;
            for type_id in &element.types {
                // Skip tags, because no rule changes them.
                let is_tag = def.name == "Meta" && element.name == "tag";
                let step = if is_tag { Step::Skip } else { steps[type_id.index()] };
                if step == Step::Skip && bit == 0 {
                    continue;
                }
                let property = Property {
                    step,
                    targets: &element.targets,
                    bit,
                };
                let name = if element.choice {
                    choice_name(element.name, facts.get(*type_id).name).leak()
                } else {
                    element.name
                };
                properties.push((name, property));
                if bit != 0 && is_primitive(*type_id) {
                    let property = Property {
                        step: Step::Skip,
                        ..property
                    };
                    properties.push((format!("_{name}").leak(), property));
                }
            }
        }
        shape.properties = properties.into_iter().collect();
        shape
    }
}

/// Returns the JSON name of a choice element with a value of this type.
pub(super) fn choice_name(element: &str, type_name: &str) -> String {
    let (head, tail) = type_name.split_at(1);
    format!("{element}{}{tail}", head.to_ascii_uppercase())
}

struct Walk<'v, V> {
    visit: &'v mut V,
}

impl<'t, V: Visit<'t>> Walk<'_, V> {
    fn object(&mut self, object: Value<'t>, type_id: TypeId) {
        let shape = &Shapes::get().shapes[type_id.index()];
        let mut seen = 0;
        for (key, value) in object.entries() {
            let property = if key.is_escaped() {
                shape.properties.get(key.name().as_ref())
            } else {
                shape.properties.get(key.raw())
            };
            let Some(property) = property else { continue };
            if property.bit != 0 && is_present(value) {
                seen |= property.bit;
            }
            if property.step == Step::Skip {
                continue;
            }
            if !value.is_array() {
                self.step(value, property.step, property.targets);
            } else if property.step == Step::Coding {
                self.visit.codings(value);
            } else {
                for item in value.items() {
                    self.step(item, property.step, property.targets);
                }
            }
        }
        if seen != shape.all {
            self.visit.lacks(object, type_id, seen);
        }
    }

    fn step(&mut self, value: Value<'t>, step: Step, targets: &'static [TypeId]) {
        if !value.is_object() {
            return;
        }
        match step {
            Step::Skip => {}
            Step::Concept => self.visit.concept(value),
            Step::Coding => self.visit.coding(value),
            Step::Quantity => self.visit.quantity(value),
            Step::Reference => {
                self.visit.reference(value, targets);
                if let Some(identifier) = value.get("identifier").filter(Value::is_object) {
                    self.step(identifier, Shapes::get().step_to(types().identifier), &[]);
                }
            }
            Step::Extension => {
                if !marks::is_named_as_ours(value) {
                    self.object(value, types().extension);
                }
            }
            Step::Within(type_id) => self.object(value, type_id),
            Step::Resource => {
                if let Some(type_id) = resource_type(value) {
                    self.object(value, type_id);
                }
            }
        }
    }
}

/// The types that the walk looks up by name.
struct Types {
    identifier: TypeId,
    extension: TypeId,
}

fn types() -> &'static Types {
    static TYPES: OnceLock<Types> = OnceLock::new();
    TYPES.get_or_init(|| {
        let type_named = |name: &str| facts().lookup(name).expect("R4 has this type");
        Types {
            identifier: type_named("Identifier"),
            extension: type_named("Extension"),
        }
    })
}
