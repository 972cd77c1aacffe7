//! Searches over several types at once: `GET /fhir?_type=A,B` (R4 search, 3.1.1.2), or a Patient's whole compartment:
//! `GET /fhir/Patient/ID/*`.
//!
//! Decides which types are searched, and which parameters apply. Usually these are the parameters that all of the types
//! know. `parts` puts the matches of the types on one page.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use bytes::Bytes;

use super::super::SearchError;
use super::super::bundle::answer::{Answer, Occasion};
use super::super::bundle::subset::{elements, is_element, meant_element};
use super::super::criteria::compartment;
use super::super::engine::Engine;
use super::super::includes::include::each_once;
use super::super::joins::binding::Filed;
use super::super::parameters::query::{Query, is_of_page};
use super::super::parameters::raw::{Handling, RawParameter, written};
use super::super::parameters::repeated;
use super::super::parameters::resolver::{Resolver, resource_type};
use super::super::parameters::result::{invalid, invalid_name};
use super::explain::trace::Trace;
use super::parts::Part;
use crate::fhir::{TypeId, facts};
use crate::lake::Scope;
use crate::plan::Pause;

/// A search over several types.
#[derive(Clone, Debug)]
pub struct SystemRequest<'a> {
    /// The caller's scope.
    pub scope: &'a Arc<Scope>,
    /// The id of the Patient, if a compartment is searched.
    pub compartment: Option<&'a str>,
    /// The parameters as the client sent them, including `_type`.
    pub parameters: &'a [RawParameter],
    /// Whether unknown parameters are ignored or are an error.
    pub handling: Handling,
    /// The time of the request, in microseconds since 1970.
    pub now: i64,
    /// The address of the server's FHIR API, which ends with `/fhir/`.
    pub base: &'a str,
}

impl Engine {
    /// Runs a search over the types that `_type` names, or over all types without `_type`, and returns its page as a
    /// Bundle. If the search fails, and an erasure during the search may be the reason, runs it a second time.
    pub async fn search_system(&self, request: &SystemRequest<'_>) -> Result<Bytes, SearchError> {
        let erasures = self.lake().snapshot().erasures();
        match self.search_system_traced(request, Trace::default()).await {
            Err(error) if self.lost(&error, erasures) => self.search_system_traced(request, Trace::default()).await,
            done => done,
        }
    }

    /// Runs a search and records its steps in a trace.
    pub(in crate::search) async fn search_system_traced(
        &self,
        request: &SystemRequest<'_>,
        trace: Trace,
    ) -> Result<Bytes, SearchError> {
        let budget = self.budget(request.scope);
        let sent = repeated::each_once(request.parameters, request.handling)?;
        let sent: Vec<RawParameter> = sent.into_iter().cloned().collect();
        let (mut types, parameters) = types(&sent)?;
        let resolver = || self.resolver(request.now, request.base, Some(&budget));
        if types.is_empty() {
            types = facts().resources().collect();
            types.retain(|type_id| request.compartment.is_none() || compartment::holds(*type_id));
        }
        let path = request.compartment.map(|patient| format!("Patient/{patient}/*"));
        let path = path.unwrap_or_default();
        let types = with_narrative(&resolver(), types, &parameters);
        let parameters = common(&resolver, &types, &parameters, request.handling).await?;
        let named = sent.iter().filter(|parameter| parameter.name == "_type");
        let repeated: Vec<_> = named
            .chain(parameters.iter().filter(|parameter| !is_of_page(parameter)))
            .collect();
        let repeated: Vec<_> = repeated.iter().map(|raw| (written(raw), raw.value.clone())).collect();
        let mut course = None;
        let mut parts: Vec<Part> = Vec::with_capacity(types.len());
        // Contained resources are not in the table of their own type. So a search of contained resources includes a
        // type even if the table of this type has no files.
        let looks_inside = parameters
            .iter()
            .any(|parameter| parameter.name == "_contained" && parameter.value != "false");
        // Use one resolver for all types. It counts the tables that the conditions of all types read, and refuses a
        // search that reads too many.
        let resolver = resolver().among_others();
        let (mut understood, mut includes) = (HashSet::new(), Vec::new());
        let mut pause = Pause::default();
        let asked = types.clone();
        for type_id in types {
            pause.take().await;
            // Resolve the query even for types without rows. So neither errors nor the order of includes reveal what
            // records other people have.
            let mut query = Query::resolve(&resolver, type_id, &parameters, Handling::Lenient)?;
            if let Some(patient) = request.compartment {
                query
                    .criteria
                    .push(compartment::criterion(&resolver, type_id, patient)?);
                query.filed = Some(Filed::of(self.lake(), &request.scope.application, &[patient]));
            }
            understood.extend(query.understood.drain(..));
            includes.append(&mut query.includes);
            let other = parts.first().map(|first| first.table.other(type_id));
            if !looks_inside && other.as_ref().is_some_and(|table| !table.has_files()) {
                continue;
            }
            let table = match other {
                Some(table) => table,
                None => {
                    let course = course.insert(self.course(&query, &path, &repeated, request.scope)?);
                    let snapshot = self.snapshot(course.tag.as_ref())?;
                    trace.watched(self.table(&snapshot, type_id, request.scope, &budget))
                }
            };
            query.trace = trace.clone();
            parts.push(Part::new(query, table));
        }
        let (Some(mut lead), Some(course)) = (parts.first().map(|part| part.query.clone()), course) else {
            return Err(SearchError::Unanswered);
        };
        trace.lap("resolve", None);
        // With `_sort`, the matches of all types are merged from the first match on. So the page begins at an offset
        // and not at the position of a match.
        if lead.sort.is_empty() {
            course.place(&mut lead)?;
        } else {
            course.counted(&mut lead)?;
        }
        self.note(Some(&asked), &mut lead);
        // This flag makes the search of a part return an error if the row at the page's position has been erased.
        for part in &mut parts {
            part.query.erased_since = lead.erased_since;
        }
        course.check(&lead, &parts.iter().map(|part| &part.table).collect::<Vec<_>>())?;
        lead.understood = repeated_in_links(&sent, &understood);
        lead.includes = each_once(includes);
        let address = format!("{}{path}", request.base);
        let address = address.trim_end_matches('/');
        let occasion = Occasion {
            base: request.base,
            address,
            now: request.now,
            lake: self.lake(),
            signer: self.signer(),
        };
        let types: Vec<TypeId> = parts.iter().map(|part| part.query.type_id).collect();
        let answer = Answer::new(occasion, &course, &types, &lead, parts[0].table.snapshot());
        self.answer_parts(parts, answer).await
    }
}

/// Returns the parameters that links repeat: `_type`, and those that at least one of the types has understood.
fn repeated_in_links(parameters: &[RawParameter], understood: &HashSet<(String, String)>) -> Vec<(String, String)> {
    let pairs = parameters
        .iter()
        .map(|parameter| (written(parameter), parameter.value.clone()));
    pairs
        .filter(|pair| pair.0 == "_type" || understood.contains(pair))
        .collect()
}

/// Returns the types in `_type`, and the other parameters. If `_type` is repeated, returns the types that occur in all
/// of its values. Without `_type`, returns no types.
fn types(parameters: &[RawParameter]) -> Result<(Vec<TypeId>, Vec<RawParameter>), SearchError> {
    let mut types: Option<Vec<TypeId>> = None;
    for parameter in parameters.iter().filter(|parameter| parameter.name == "_type") {
        let named = parameter
            .value
            .split(',')
            .map(|name| resource_type(name).ok_or_else(|| invalid("_type", name, "a resource type of R4")));
        let mut named = named.collect::<Result<Vec<_>, _>>()?;
        if let Some(before) = types {
            named.retain(|type_id| before.contains(type_id));
            if named.is_empty() {
                return Err(invalid(
                    "_type",
                    &parameter.value,
                    "one of the types that _type names elsewhere",
                ));
            }
        }
        let mut once = Vec::with_capacity(named.len());
        for type_id in named {
            if !once.contains(&type_id) {
                once.push(type_id);
            }
        }
        types = Some(once);
    }
    let rest = parameters.iter().filter(|parameter| parameter.name != "_type");
    Ok((types.unwrap_or_default(), rest.cloned().collect()))
}

/// Returns the types that may have matches if the search has a `_text`. Bundles and similar types have no narrative, so
/// their searches would ignore `_text` as unknown and match every row. If none of the types has a narrative, returns
/// all of them.
fn with_narrative(resolver: &Resolver<'_>, types: Vec<TypeId>, parameters: &[RawParameter]) -> Vec<TypeId> {
    if parameters.iter().all(|parameter| parameter.name != "_text") {
        return types;
    }
    let narrated = types
        .iter()
        .copied()
        .filter(|type_id| resolver.programs.has_words(*type_id, "_text"));
    match narrated.collect::<Vec<_>>() {
        narrated if narrated.is_empty() => types,
        narrated => narrated,
    }
}

/// Returns the parameters that all of the types know. With strict handling, a parameter that a type does not know is an
/// error. Each parameter is checked separately.
async fn common<'r>(
    resolver: &(dyn Fn() -> Resolver<'r> + Sync),
    types: &[TypeId],
    parameters: &[RawParameter],
    handling: Handling,
) -> Result<Vec<RawParameter>, SearchError> {
    let mut common = Vec::with_capacity(parameters.len());
    let mut pause = Pause::default();
    'parameters: for parameter in parameters {
        // A type need not have all elements that `_elements` names. But each of the elements must belong to at least
        // one of the types.
        if parameter.name == "_elements" && parameter.modifier.is_none() {
            let of_none = |name: &&str| types.iter().all(|type_id| !is_element(*type_id, name));
            let named: BTreeSet<&str> = elements(&parameter.value).collect();
            if let Some(unknown) = named.into_iter().find(of_none) {
                let (expected, meant) = ("a top-level element of one of the types", meant_element(types, unknown));
                return Err(invalid_name("_elements", unknown, expected, meant));
            }
            common.push(parameter.clone());
            continue;
        }
        let (mut fits, mut refused) = (false, None);
        for type_id in types {
            pause.take().await;
            // Finding a name that the client may have meant takes long. With lenient handling nobody reads it, so the
            // query must not look for one.
            let alone = Query::resolve(&resolver(), *type_id, std::slice::from_ref(parameter), handling);
            let is_include = matches!(&*parameter.name, "_include" | "_revinclude");
            match alone {
                Ok(query) if query.understood.is_empty() && !is_of_page(parameter) => {
                    if !is_include {
                        continue 'parameters;
                    }
                }
                Ok(_) => fits = true,
                // The reference of a `_has` need not lead to all of the types. A type to which it does not lead has no
                // matches.
                Err(error @ SearchError::Value { .. }) if parameter.name == "_has" => refused = Some(error),
                // An include names a reference of one type, so it is no error that the other types do not know it.
                Err(SearchError::Unknown { .. }) if is_include => {}
                Err(SearchError::Unknown { .. }) if handling == Handling::Lenient && parameter.name != "_query" => {
                    continue 'parameters;
                }
                Err(error) => return Err(error),
            }
        }
        if let (Some(error), false) = (refused, fits) {
            return Err(error);
        }
        common.push(parameter.clone());
    }
    Ok(common)
}
