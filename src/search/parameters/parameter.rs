//! Search parameters compiled for a type. A compiled parameter has the FHIRPath program that yields a row's values. The
//! program reads only the columns that a comparison of these values needs. Each parameter is compiled once per type and
//! use, and all queries share it.

use std::sync::{Arc, RwLock};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::super::SearchError;
use super::super::criteria::canonicals;
use super::plain::Plain;
use crate::fhir::search_parameter::{SearchParameter, SearchParameters, SearchType, Usage};
use crate::fhir::storage::{ELEMENT, END, NUMBER, REFERENCE_ID, REFERENCE_TYPE, START, Storage};
use crate::fhir::{Kind, TypeId, facts};
use crate::fhirpath::{CompileOptions, FhirPathError, Program, Selection, compile};

/// A search parameter compiled for one resource type.
#[derive(Debug)]
pub(in crate::search) struct Compiled {
    /// The resource type of the rows.
    pub(in crate::search) type_id: TypeId,
    /// The definition of the parameter.
    pub(in crate::search) parameter: Arc<SearchParameter>,
    /// Which columns of the values the program reads.
    pub(in crate::search) reading: Reading,
    /// The program that yields a row's values.
    pub(in crate::search) program: Program,
    /// The code system to which R4 binds the values, if they are all `code` elements with the same one.
    pub(in crate::search) code_system: Option<&'static str>,
    /// The plain columns of the values. `None` if the values are not in plain columns.
    pub(in crate::search) plain: Option<Plain>,
    /// The components of a composite. Their programs are evaluated on the items of `program`.
    pub(in crate::search) components: Vec<Compiled>,
}

impl Compiled {
    /// Returns the only type to which a reference may point. Returns `None` if R4 allows several types, or if the
    /// parameter is not a reference.
    pub(in crate::search) fn sole_target(&self) -> Option<TypeId> {
        if self.parameter.search_type != SearchType::Reference {
            return None;
        }
        if let Selection::PointingTo(type_id) = self.program.selection() {
            return Some(type_id);
        }
        let mut targets = self.program.origins().map(|origin| {
            let (mut within, mut sole) = (self.type_id, None);
            for name in origin.path?.split('.') {
                let child = facts().child(within, name.strip_suffix(ELEMENT).unwrap_or(name))?;
                within = child.type_id;
                sole = match child.element.targets.as_slice() {
                    [only] => Some(*only),
                    _ => None,
                };
            }
            sole.filter(|_| facts().get(within).name == "Reference")
        });
        let first = targets.next()??;
        let is_resource = facts().get(first).name != "Resource";
        (is_resource && targets.all(|target| target == Some(first))).then_some(first)
    }

    /// Whether some values of the parameter are canonicals or URIs, which may have a version.
    pub(in crate::search) fn yields_canonicals(&self) -> bool {
        let mut types = self.program.origins().map(|origin| origin.item_type.name());
        types.any(|type_name| matches!(type_name, "canonical" | "uri"))
    }

    /// Whether some values of the parameter are References.
    pub(in crate::search) fn yields_references(&self) -> bool {
        self.program
            .origins()
            .any(|origin| origin.item_type.name() == "Reference")
    }

    /// Whether the parameter yields canonicals, and resources of `type_id` have a URL. Does not check whether `type_id`
    /// is a target type of the parameter.
    pub(in crate::search) fn follows_urls(&self, type_id: TypeId) -> bool {
        self.yields_canonicals() && canonicals::have_urls(type_id)
    }

    /// Whether the parameter's canonicals may lead to resources of `type_id` by URL. `type_id` must also be a target
    /// type of the parameter.
    pub(in crate::search) fn leads_by_url(&self, type_id: TypeId) -> bool {
        self.names(type_id) && self.follows_urls(type_id)
    }

    /// Whether any value of the parameter may lead to resources of `type_id`, by reference or by URL.
    pub(in crate::search) fn leads_to(&self, type_id: TypeId) -> bool {
        self.names(type_id) && self.yields_references() || self.leads_by_url(type_id)
    }

    /// Whether there is a resource type to which the parameter's values may lead.
    pub(in crate::search) fn leads_anywhere(&self) -> bool {
        self.yields_references() || facts().resources().any(|type_id| self.leads_by_url(type_id))
    }

    fn names(&self, type_id: TypeId) -> bool {
        let targets = &self.parameter.targets;
        targets.is_empty() || targets.contains(&type_id)
    }

    /// Whether all values of the parameter have one of these types.
    pub(in crate::search) fn yields_only(&self, names: &[&str]) -> bool {
        let mut origins = self.program.origins().peekable();
        origins.peek().is_some() && origins.all(|origin| names.contains(&origin.item_type.name()))
    }

    /// Wraps an error of the parameter's program.
    pub(in crate::search) fn failed(&self, source: FhirPathError) -> SearchError {
        SearchError::Expression {
            parameter: self.parameter.code.to_string(),
            source,
        }
    }
}

/// What a caller needs of a parameter's values. It decides which columns the program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in crate::search) enum Reading {
    /// All columns that may be needed to compare or sort the values.
    Values,
    /// The types and ids of relative references.
    Targets,
    /// The identifiers of references.
    Identifier,
    /// The numbers of quantities and their comparators, without their units.
    Numbers,
    /// The human-readable texts of codes, identifiers and references.
    Labels,
    /// The types and values of identifiers.
    TypedIdentifier,
}

/// A parameter that yields references with their texts, and the type that their targets must have. The type is `None`
/// if the parameter's expression has no condition `resolve() is Type`.
pub(in crate::search) type InnerReferences = (Arc<Compiled>, Option<TypeId>);

type Compilations = FxHashMap<(TypeId, Reading, String), Arc<Compiled>>;

/// The search parameters of an engine with their compiled programs.
#[derive(Debug)]
pub(in crate::search) struct Programs {
    parameters: Arc<SearchParameters>,
    compiled: RwLock<Compilations>,
}

impl Programs {
    /// Creates the programs of these parameters. Each program is compiled at its first use.
    pub(in crate::search) fn new(parameters: Arc<SearchParameters>) -> Programs {
        Programs {
            parameters,
            compiled: RwLock::default(),
        }
    }

    /// Returns the parameters that searches of `type_id` accept.
    pub(in crate::search) fn supported(&self, type_id: TypeId) -> impl Iterator<Item = &Arc<SearchParameter>> {
        let supported = |parameter: &&Arc<SearchParameter>| is_supported(parameter) || is_of_words(parameter);
        self.parameters.of(type_id).filter(supported)
    }

    /// Whether `code` is `_text` or `_content`, and searches of `type_id` accept it as a search for words.
    pub(in crate::search) fn has_words(&self, type_id: TypeId, code: &str) -> bool {
        self.parameters
            .get(type_id, code)
            .is_some_and(|parameter| is_of_words(parameter))
    }

    /// Returns the parameter `code` of `type_id`. Returns `None` if the type has no such parameter, or if searches do
    /// not support it.
    pub(in crate::search) fn parameter(&self, type_id: TypeId, code: &str) -> Option<&Arc<SearchParameter>> {
        self.parameters
            .get(type_id, code)
            .filter(|parameter| is_supported(parameter))
    }

    /// Returns the parameter `code` of `type_id`, compiled for this use of its values. Returns `None` as
    /// [`Programs::parameter`] does.
    pub(in crate::search) fn get(
        &self,
        type_id: TypeId,
        code: &str,
        reading: Reading,
    ) -> Result<Option<Arc<Compiled>>, SearchError> {
        let key = (type_id, reading, code.to_owned());
        let known = self
            .compiled
            .read()
            .ok()
            .and_then(|compiled| compiled.get(&key).cloned());
        if known.is_some() {
            return Ok(known);
        }
        let Some(parameter) = self.parameter(type_id, code) else {
            return Ok(None);
        };
        let compiled = Arc::new(self.compile(type_id, parameter, reading)?);
        if let Ok(mut cache) = self.compiled.write() {
            cache.insert(key, compiled.clone());
        }
        Ok(Some(compiled))
    }

    /// Compiles the parameter `code` of `type_id` without caching it, for callers that visit each parameter once.
    /// Returns `None` if it does not compile.
    pub(in crate::search) fn unkept(&self, type_id: TypeId, code: &str) -> Option<Compiled> {
        let parameter = self.parameter(type_id, code)?;
        self.compile(type_id, parameter, Reading::Values).ok()
    }

    /// Compiles a parameter so that it yields its references with their texts. Their targets can then be found among
    /// contained resources. If the expression has the form `where(resolve() is Type)`, compiles it without this
    /// condition, and also returns the type. The reason is that FHIRPath knows the type of a target only for relative
    /// references. Returns `None` if no single path leads to the references.
    pub(in crate::search) fn inner_references(
        &self,
        compiled: &Compiled,
    ) -> Result<Option<InnerReferences>, SearchError> {
        let Selection::PointingTo(only) = compiled.program.selection() else {
            let references = self.get(compiled.type_id, &compiled.parameter.code, Reading::Values)?;
            return Ok(references.map(|references| (references, None)));
        };
        let mut origins = compiled.program.origins();
        let (Some(Some(path)), None) = (origins.next().map(|origin| origin.path), origins.next()) else {
            return Ok(None);
        };
        let expression = format!("{}.{path}", facts().get(compiled.type_id).name);
        // A path through a choice of types does not compile as an expression. Then the result is `None`.
        let references = compile_for(
            compiled.type_id,
            &compiled.parameter,
            &expression,
            Reading::Values,
            None,
        );
        Ok(references.ok().map(|references| (Arc::new(references), Some(only))))
    }

    /// Returns the component of a composite with the index `at`, compiled for this use of its values.
    pub(in crate::search) fn component(
        &self,
        composite: &Compiled,
        at: usize,
        reading: Reading,
    ) -> Result<Arc<Compiled>, SearchError> {
        let definition = &composite.components[at].parameter;
        let expression = &composite.parameter.components[at].expression;
        let on = Some(&composite.program);
        compile_for(composite.type_id, definition, expression, reading, on).map(Arc::new)
    }

    fn compile(
        &self,
        type_id: TypeId,
        parameter: &Arc<SearchParameter>,
        reading: Reading,
    ) -> Result<Compiled, SearchError> {
        let expression = parameter.expression.as_deref().unwrap_or("{}");
        let mut compiled = compile_for(type_id, parameter, expression, reading, None)?;
        for component in &parameter.components {
            // When search parameters are loaded, composites with unknown components are refused. So the definition
            // exists.
            let Some(definition) = self.parameters.by_url(&component.definition) else {
                continue;
            };
            let on = Some(&compiled.program);
            let component = compile_for(type_id, definition, &component.expression, Reading::Values, on)?;
            compiled.components.push(component);
        }
        Ok(compiled)
    }
}

fn is_supported(parameter: &SearchParameter) -> bool {
    parameter.expression.is_some() && (parameter.search_type != SearchType::Special || parameter.usage == Usage::Nearby)
}

/// Whether a parameter searches for words. These parameters have no expression; `criteria::words` compares their
/// values.
fn is_of_words(parameter: &SearchParameter) -> bool {
    matches!(&*parameter.code, "_text" | "_content") && parameter.expression.is_none()
}

/// Compiles a parameter's expression for rows of `type_id`. With `on`, compiles it for the items of the program `on`.
fn compile_for(
    type_id: TypeId,
    parameter: &Arc<SearchParameter>,
    expression: &str,
    reading: Reading,
    on: Option<&Program>,
) -> Result<Compiled, SearchError> {
    let search_type = parameter.search_type;
    let extra = move |type_id: TypeId| Some(leaves_below(search_type, reading, type_id));
    let options = CompileOptions {
        lenient: true,
        search: true,
        // With `Reading::Targets`, the caller needs only relative references. So `resolve()` does not look into
        // contained resources.
        references_alone: reading == Reading::Targets,
        extra: Some(&extra),
        context: on,
        duplicates: true,
        ..CompileOptions::default()
    };
    let program = compile(expression, type_id, &options).map_err(|source| SearchError::Expression {
        parameter: parameter.code.to_string(),
        source,
    })?;
    Ok(Compiled {
        type_id,
        parameter: parameter.clone(),
        reading,
        code_system: code_system(type_id, &program),
        plain: Plain::of(type_id, &program),
        program,
        components: Vec::new(),
    })
}

/// Returns the code system to which R4 binds all values of a program. Returns `None` if the values are bound to several
/// systems, or if a value is bound to none.
fn code_system(type_id: TypeId, program: &Program) -> Option<&'static str> {
    let mut systems = program.origins().map(|origin| {
        let mut within = type_id;
        let mut system = None;
        for name in origin.path?.split('.') {
            let child = facts().child(within, name)?;
            (within, system) = (child.type_id, child.element.code_system);
        }
        system
    });
    let first = systems.next()??;
    systems.all(|system| system == Some(first)).then_some(first)
}

/// The leaves of SampledData from which the bounds of its values are computed.
const SAMPLES: [&str; 9] = [
    "data",
    "origin.value",
    "origin.value__number",
    "factor",
    "factor__number",
    "lowerLimit",
    "lowerLimit__number",
    "upperLimit",
    "upperLimit__number",
];

/// Returns the columns below an item of type `type_id` that a comparison reads. `search` is the type of the parameter.
fn leaves_below(search: SearchType, reading: Reading, type_id: TypeId) -> Vec<&'static str> {
    let def = facts().get(type_id);
    if let Kind::Primitive(_) = def.kind {
        return match Storage::of(def) {
            Storage::DateTime | Storage::Time if search == SearchType::Date => vec![START, END],
            Storage::Decimal => vec!["", NUMBER],
            _ => vec![""],
        };
    }
    match (def.name, reading) {
        ("CodeableConcept", Reading::Labels) => return vec!["text", "coding.display"],
        ("Coding", Reading::Labels) => return vec!["display"],
        ("Identifier", Reading::Labels) => return vec!["type.text"],
        ("Identifier", Reading::TypedIdentifier) => return vec!["type.coding.system", "type.coding.code", "value"],
        _ => {}
    }
    if search == SearchType::Special {
        return vec!["latitude", "latitude__number", "longitude", "longitude__number"];
    }
    match def.name {
        "CodeableConcept" if search == SearchType::String => vec!["text", "coding.display"],
        "CodeableConcept" => vec!["coding.system", "coding.code"],
        "Coding" => vec!["system", "code"],
        "Identifier" | "ContactPoint" => vec!["system", "value"],
        "HumanName" => vec!["text", "family", "given", "prefix", "suffix"],
        "Address" => vec!["text", "line", "city", "district", "state", "postalCode", "country"],
        "Period" => vec!["start__start", "end__end"],
        "Timing" => vec![
            "event__start",
            "event__end",
            "repeat.boundsPeriod.start__start",
            "repeat.boundsPeriod.end__end",
        ],
        "Reference" => match reading {
            Reading::Values => vec!["reference", REFERENCE_TYPE, REFERENCE_ID],
            Reading::Targets => vec![REFERENCE_TYPE, REFERENCE_ID],
            Reading::Identifier => vec!["identifier.system", "identifier.value"],
            Reading::Labels => vec!["display"],
            Reading::TypedIdentifier | Reading::Numbers => Vec::new(),
        },
        "Range" if reading == Reading::Numbers => {
            vec!["low.value", "low.value__number", "high.value", "high.value__number"]
        }
        "Range" => vec![
            "low.value",
            "low.value__number",
            "low.system",
            "low.code",
            "low.unit",
            "high.value",
            "high.value__number",
            "high.system",
            "high.code",
            "high.unit",
        ],
        "SampledData" if reading == Reading::Numbers => SAMPLES.to_vec(),
        "SampledData" => [&SAMPLES[..], &["origin.system", "origin.code", "origin.unit"]].concat(),
        "Money" if reading == Reading::Numbers => vec!["value", "value__number"],
        "Money" => vec!["value", "value__number", "currency"],
        _ if facts()
            .lookup("Quantity")
            .is_some_and(|quantity| facts().is_a(type_id, quantity)) =>
        {
            if reading == Reading::Numbers {
                return vec!["value", "value__number", "comparator"];
            }
            vec!["value", "value__number", "comparator", "system", "code", "unit"]
        }
        _ => Vec::new(),
    }
}
